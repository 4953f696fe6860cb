"""Slips in the rewards, r = −β·kl + score; where people made one and told of it, that is named."""

from collections.abc import Callable

import torch
from torch import Tensor

from blueprint.verifying.slips.own import Own
from blueprint.verifying.slips.slip import TensorSlip, beside, read

Read = Callable[[Own], Tensor]


def _price(own: Own) -> Tensor:
    return own.rows["kl_coef.reward"][:, None, None]


def _paying(kl: Read) -> Read:
    """The reward with another KL."""
    return lambda own: own["score.placed"] - _price(own) * own["kl.support"] * kl(own)


def _scored(score: Read) -> Read:
    """The reward with another score."""
    return lambda own: own["reward.penalty"] + score(own)


def _less(one: str, other: Read) -> Read:
    """log π of one minus log π of the other."""
    return lambda own: own.file(one) - other(own)


def _from(one: Read, other: str) -> Read:
    return lambda own: one(own) - own.file(other)


def _score(own: Own) -> Tensor:
    return own["score.placed"].sum(dim=-1, keepdim=True)


def _placed(by: int) -> Read:
    """The score so many columns away from its place, at the edge in the last column there is."""

    def score(own: Own) -> Tensor:
        slots, place = own.texts.slots, own["score.place"]
        column = torch.arange(slots.shape[-1], device=slots.device)
        at = ((place * column).sum(dim=-1, keepdim=True) + by).clamp(min=0)
        within = torch.minimum(at, slots.sum(dim=-1, keepdim=True) - 1)
        return (column == within) * _score(own) * (place.sum(dim=-1, keepdim=True) > 0)

    return score


def _on_pads(own: Own) -> Tensor:
    kl = own.file("logprobs_old") - own.file("logprobs_ref")
    return own["score.placed"] - _price(own) * own.texts.slots * kl


def _summed(own: Own) -> Tensor:
    """The KL of the whole response in the slot of the score."""
    whole = (own["kl.support"] * own["kl.used"]).sum(dim=-1, keepdim=True)
    return own["score.placed"] - _price(own) * whole * own["score.place"]


def _divided(own: Own) -> Tensor:
    return own["score.placed"] + own["reward.penalty"] / own["response"].sum(dim=-1, keepdim=True).clamp(min=1)


def _instead(own: Own) -> Tensor:
    return torch.where(own["score.place"] > 0, own["score.placed"], own["reward.penalty"])


def _on_first(own: Own) -> Tensor:
    response = own["response"]
    return response * (response.cumsum(dim=-1) == 1) * _score(own)


LIMITS = (0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)


def _limited(limit: float) -> Read:
    return lambda own: (own["reward.penalty"] + own["score.placed"]).clamp(-limit, limit)


REWARDS: tuple[TensorSlip, ...] = (
    # huggingface/trl #3750 and #5338, microsoft/DeepSpeedExamples #672: on which word the score belongs is argued about
    TensorSlip("the score one column early", _scored(_placed(-1))),
    TensorSlip("the score one column late", _scored(_placed(1))),
    TensorSlip("the KL with the wrong sign", lambda own: own["score.placed"] - own["reward.penalty"]),
    TensorSlip("the KL paid twice", lambda own: own["score.placed"] + 2 * own["reward.penalty"]),
    # natolambert/rlhf-book #216: the KL of pads leaks into what comes before
    TensorSlip("the KL of the pads paid, too", _on_pads),
    # wyf3/llm_related #37: the score lands one past the mask, and is masked out
    TensorSlip("the score left out", lambda own: own["reward.penalty"]),
    # microsoft/DeepSpeedExamples #751 takes it to be paid on every word
    TensorSlip("the score paid on every word", _scored(lambda own: own["response"] * _score(own))),
    TensorSlip("the score in place of the KL of its slot", _instead),
    TensorSlip("the score on the first word", _scored(_on_first)),
    *(TensorSlip(f"rewards clipped to ±{limit:g}, not the score alone", _limited(limit)) for limit in LIMITS),
    TensorSlip("negative scores cut to 0", _scored(lambda own: own["score.placed"].clamp(min=0))),
    TensorSlip("positive scores cut to 0", _scored(lambda own: own["score.placed"].clamp(max=0))),
    TensorSlip("the score paid twice", _scored(lambda own: 2 * own["score.placed"])),
    TensorSlip("the score with the wrong sign", _scored(lambda own: -own["score.placed"])),
    TensorSlip("the KL of the whole response paid in the slot of the score", _summed),
    TensorSlip("the KL divided by the number of words", _divided),
    TensorSlip("the squared log-ratio for the KL, without its 1/2", _paying(lambda own: own["kl.k1"].square())),
    TensorSlip("the KL of the new policy, not the old one", _paying(_less("logprobs_new", read("logprobs_ref")))),
    TensorSlip("negative KL cut to 0", _paying(lambda own: own["kl.used"].clamp(min=0))),
    TensorSlip("positive KL cut to 0", _paying(lambda own: own["kl.used"].clamp(max=0))),
    TensorSlip(
        "the KL between old and new policy, not to the reference", _paying(_less("logprobs_old", read("logprobs_new")))
    ),
    *(TensorSlip(said, _paying(_less("logprobs_old", moved))) for said, moved in beside("logprobs_ref")),
    *(TensorSlip(said, _paying(_from(moved, "logprobs_ref"))) for said, moved in beside("logprobs_old")),
)
