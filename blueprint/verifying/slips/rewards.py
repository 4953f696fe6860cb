"""Slips in the rewards, r = −β·kl + score; where people made one and told of it, that is named."""

from functools import partial

import torch
from torch import Tensor

from blueprint.verifying.slips.slip import Own, Read, TensorSlip, beside, read


def _paying(kl: Read, over: str = "kl.support") -> Read:
    """The reward with another KL, or over other words."""
    return lambda own: own["score.placed"] - own.rows["kl_coef.reward"][:, None, None] * own[over] * kl(own)


def _between(one: Read, other: Read) -> Read:
    """The reward with the KL between two policies, log π of one minus log π of the other."""
    return _paying(lambda own: one(own) - other(own))


def _scored(score: Read) -> Read:
    """The reward with another score."""
    return lambda own: own["reward.penalty"] + score(own)


def _score(own: Own) -> Tensor:
    return own["score.placed"].sum(dim=-1, keepdim=True)


def _placed(by: int, own: Own) -> Tensor:
    """The score so many columns away from its place, at the edge in the last column there is."""
    slots, place = own.texts.slots, own["score.place"]
    column = torch.arange(slots.shape[-1], device=slots.device)
    at = ((place * column).sum(dim=-1, keepdim=True) + by).clamp(min=0)
    within = torch.minimum(at, slots.sum(dim=-1, keepdim=True) - 1)
    return (column == within) * _score(own) * (place.sum(dim=-1, keepdim=True) > 0)


def _limited(limit: float, own: Own) -> Tensor:
    return (own["reward.penalty"] + own["score.placed"]).clamp(-limit, limit)


REWARDS: tuple[TensorSlip, ...] = (
    # huggingface/trl #3750 and #5338, microsoft/DeepSpeedExamples #672: on which word the score belongs is argued about
    TensorSlip("the score one column early", _scored(partial(_placed, -1))),
    TensorSlip("the score one column late", _scored(partial(_placed, 1))),
    TensorSlip("the KL with the wrong sign", lambda own: own["score.placed"] - own["reward.penalty"]),
    TensorSlip("the KL paid twice", lambda own: own["score.placed"] + 2 * own["reward.penalty"]),
    # natolambert/rlhf-book #216: the KL of pads leaks into what comes before
    TensorSlip(
        "the KL of the pads paid, too",
        lambda own: _between(read("logprobs_old"), read("logprobs_ref"))(own.having({"kl.support": own.texts.slots})),
    ),
    # wyf3/llm_related #37: the score lands one past the mask, and is masked out
    TensorSlip("the score left out", lambda own: own["reward.penalty"]),
    # microsoft/DeepSpeedExamples #751 takes it to be paid on every word
    TensorSlip("the score paid on every token", _scored(lambda own: own["response"] * _score(own))),
    TensorSlip(
        "the score in place of the KL of its position",
        lambda own: torch.where(own["score.place"] > 0, own["score.placed"], own["reward.penalty"]),
    ),
    TensorSlip(
        "the score on the first token",
        _scored(lambda own: own["response"] * (own["response"].cumsum(dim=-1) == 1) * _score(own)),
    ),
    *(
        TensorSlip(f"rewards clipped to ±{limit:g}, not the score alone", partial(_limited, limit))
        for limit in (0.2, 0.5, 1, 2, 3, 5, 10)
    ),
    TensorSlip("negative scores cut to 0", _scored(lambda own: own["score.placed"].clamp(min=0))),
    TensorSlip("positive scores cut to 0", _scored(lambda own: own["score.placed"].clamp(max=0))),
    TensorSlip("the score paid twice", _scored(lambda own: 2 * own["score.placed"])),
    TensorSlip("the score with the wrong sign", _scored(lambda own: -own["score.placed"])),
    TensorSlip(
        "the KL of the whole response paid in the position of the score",
        _paying(lambda own: (own["kl.support"] * own["kl.used"]).sum(dim=-1, keepdim=True), "score.place"),
    ),
    TensorSlip(
        "the KL divided by the number of tokens",
        lambda own: (
            own["score.placed"] + own["reward.penalty"] / own["response"].sum(dim=-1, keepdim=True).clamp(min=1)
        ),
    ),
    TensorSlip("the squared log-ratio for the KL, without its 1/2", _paying(lambda own: own["kl.k1"].square())),
    TensorSlip("the KL of the new policy, not the old one", _between(read("logprobs_new"), read("logprobs_ref"))),
    TensorSlip("negative KL cut to 0", _paying(lambda own: own["kl.used"].clamp(min=0))),
    TensorSlip("positive KL cut to 0", _paying(lambda own: own["kl.used"].clamp(max=0))),
    TensorSlip(
        "the KL between old and new policy, not to the reference", _between(read("logprobs_old"), read("logprobs_new"))
    ),
    *(TensorSlip(said, _between(read("logprobs_old"), moved)) for said, moved in beside("logprobs_ref")),
    *(TensorSlip(said, _between(moved, read("logprobs_ref"))) for said, moved in beside("logprobs_old")),
)
