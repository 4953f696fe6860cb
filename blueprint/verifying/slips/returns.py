"""Slips in the rewards, r = −β·kl + score, in advantages, in how they are whitened, and in returns; where people made one and told
of it, that is named.
"""

from functools import partial

import torch
from torch import Tensor

from blueprint.verifying.formulas import masked_sums
from blueprint.verifying.slips.slip import MASKS, Own, Read, TensorSlip, across_by, beside, read


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


def _fading(own: Own) -> float:
    return own.number("gamma") * own.number("gae_lambda")


def _summed(own: Own, deltas: Tensor, decay: float | None = None) -> Tensor:
    """A_t = δ_t + decay·A_{t+1}, γλ if none is given; slots that are passed over add nothing."""
    slots, over = own.texts.slots, own["gae.over"]
    fading = _fading(own) if decay is None else decay
    return masked_sums(slots * (1 - over) * deltas, torch.where(over > 0, 1.0, fading), slots)


def _ahead(own: Own) -> Tensor:
    """V_{t+1}."""
    return own.rows["gae.ahead"][..., 1:].clone()


def _delta(own: Own, ahead: Tensor | None = None, values: Tensor | None = None) -> Tensor:
    """δ_t = r_t + γ·V_{t+1} − V_t."""
    ahead = _ahead(own) if ahead is None else ahead
    return own["rewards"] + own.number("gamma") * ahead - (own["values.kept"] if values is None else values)


def _rewarded(rewards: Read) -> Read:
    """A of other rewards."""
    return lambda own: _summed(own, _delta(own.having({"rewards": rewards(own)})))


def _valued(values: Read, own: Own, on_pads: bool = False) -> Tensor:
    """A of other values, 0 where none are kept, or as they are."""
    found = values(own) if on_pads else own["kept"] * values(own)
    return _summed(own, _delta(own, across_by(found, -1), found))


def _pads_summed(own: Own) -> Tensor:
    """A that runs through the pads, whose δ have V subtracted that follows no word."""
    deltas = _delta(own, values=own.file("values_old"))
    return masked_sums(own.texts.slots * deltas, torch.full_like(deltas, _fading(own)), own.texts.slots)


def _ahead_at_end(own: Own, columns: int, ahead_there: Tensor | float) -> Tensor:
    """A with something else for V_{t+1} in the last columns."""
    ahead = _ahead(own)
    ahead[..., -columns:] = ahead_there
    return _summed(own, _delta(own, ahead))


def _begun_with_last(own: Own) -> Tensor:
    """A with γλ·V of the last slot added there, be it a pad."""
    deltas = _delta(own)
    deltas[..., -1] += _fading(own) * own.file("values_old")[..., -1]
    return _summed(own, deltas)


def _forward(own: Own) -> Tensor:
    deltas = _delta(own).flip(-1)
    return masked_sums(deltas, torch.full_like(deltas, _fading(own)), own.texts.slots.flip(-1)).flip(-1)


GAE: tuple[TensorSlip, ...] = (
    TensorSlip("V_t for V_{t+1} in δ", lambda own: _summed(own, _delta(own, own["values.kept"]))),
    TensorSlip("γ missing in δ", lambda own: _summed(own, own["rewards"] + _ahead(own) - own["values.kept"])),
    TensorSlip("λ for γ in δ: the two exchanged",
         lambda own: _summed(own, own["rewards"] + own.number("gae_lambda") * _ahead(own) - own["values.kept"])),
    TensorSlip("γ missing in γλ", lambda own: _summed(own, _delta(own), own.number("gae_lambda"))),
    TensorSlip("γ twice in γλ", lambda own: _summed(own, _delta(own), own.number("gamma") * _fading(own))),
    TensorSlip("γ times V_t, too, in δ", lambda own: _summed(own, _delta(own, values=own.number("gamma") * own["values.kept"]))),
    TensorSlip("V_{t+1} missing in δ", lambda own: _summed(own, own["rewards"] - own["values.kept"])),
    TensorSlip("V_t missing in δ", lambda own: _summed(own, own["rewards"] + own.number("gamma") * _ahead(own))),
    # verl-project/verl #50 and alibaba/ROLL #447: values that are not masked before the loop
    TensorSlip("V of the pads not set to 0", partial(_valued, read("values_old"), on_pads=True)),
    TensorSlip("V of the position behind the last token follows it",
         lambda own: _summed(own, own["response"] * _delta(own, across_by(own.file("values_old"), -1)))),
    TensorSlip("δ of the pads in the sum", _pads_summed),
    # tensorflow/agents #953: the last V is passed for the one behind it
    TensorSlip("the last V for the one behind it", lambda own: _ahead_at_end(own, 1, own["values.kept"][..., -1:])),
    # openai/spinningup #50: each slot holds the reward of the one before
    TensorSlip("the rewards of the position before", _rewarded(lambda own: across_by(own["rewards"], 1))),
    TensorSlip("the rewards of the position before", _rewarded(lambda own: across_by(own["rewards"], 1, around=True))),
    TensorSlip("the rewards of the position before",
         _rewarded(lambda own: own["response"] * across_by(own["rewards"], 1, around=True))),
    TensorSlip("the rewards of the position behind", _rewarded(lambda own: across_by(own["rewards"], -1))),
    TensorSlip("the last V left out: the loop ends one step early", lambda own: _ahead_at_end(own, 2, 0.0)),
    TensorSlip("the sum begins with the last V, not 0", _begun_with_last),
    # natolambert/rlhf-book #216: rewards taken for returns
    TensorSlip("A = r − V, nothing of what comes later", lambda own: own["rewards"] - own["values.kept"]),
    TensorSlip("the scores alone, without the KL", _rewarded(lambda own: own["score.placed"])),
    TensorSlip("the loop over t in the wrong direction", _forward),
    TensorSlip("the columns in reverse: what the loop collected from the end was not turned round",
         lambda own: own["advantages"].flip(-1)),
)  # fmt: skip
"""Of A before it is whitened; the returns are that plus V."""


def _moment(own: Own, name: str) -> float:
    return own.whole[f"advantage.{name}"]


def _centred(own: Own) -> Tensor:
    return own["advantages"] - _moment(own, "mean")


def _white(own: Own) -> Tensor:
    """Returns (A − μ)/σ with the moments of the whole file."""
    return _centred(own) / _moment(own, "divisor")


def _white_by_response(ddof: int, own: Own) -> Tensor:
    """(A − μ)/σ with the moments of each response, σ² = Σ(A − μ)²/(n − ddof)."""
    counted = own["response"]
    words = counted.sum(dim=-1, keepdim=True).clamp(min=1)
    centred = counted * (own["advantages"] - (counted * own["advantages"]).sum(dim=-1, keepdim=True) / words)
    variance = centred.square().sum(dim=-1, keepdim=True) / (words - ddof).clamp(min=1)
    return centred / (variance + own.number("whiten_eps")).sqrt()


def _apart(own: Own) -> float:
    """How far the mean over the words is from their sum divided by all B·T slots."""
    return _moment(own, "mean") * (1 - _moment(own, "count") / own.work.batch.mask.size)


def _about_mean_of_slots(about_it: bool, own: Own) -> Tensor:
    """(A − μ)/σ, μ the sum over the words divided by all B·T slots; `about_it`: σ² is Σ(A − μ)²/N over the words with that μ."""
    more = _moment(own, "bessel") * _apart(own) ** 2 if about_it else 0.0
    return (_centred(own) + _apart(own)) / float((_moment(own, "divisor") ** 2 + more) ** 0.5)


WHITENING: tuple[TensorSlip, ...] = (
    TensorSlip("whitening without subtracting the mean", lambda own: own["advantages"] / _moment(own, "divisor"), False),
    TensorSlip("whitening without dividing by the deviation", _centred, False),
    TensorSlip("whitening by the variance, not its root", lambda own: _centred(own) / _moment(own, "variance"), False),
    *(TensorSlip("whitening each response by itself", partial(_white_by_response, ddof), False) for ddof in (0, 1)),
    *(TensorSlip("whitening with the mean over all B·T positions, the deviation over the tokens",
                 partial(_about_mean_of_slots, about_it), False) for about_it in (False, True)),
    *(TensorSlip(f"whitening over {said}", lambda own: own["advantages"], over=mask) for said, mask in MASKS),
)  # fmt: skip

VALUES = (*beside("values_old"), ("the new values, not the old ones", read("values_new")))
"""Other values for V, wherever it is read."""


def _beyond(advantages: Read, values: Read | None = None) -> Read:
    """The returns that are some advantages plus V."""
    return lambda own: advantages(own) + (own["kept"] * values(own) if values else own["values.kept"])


ADVANTAGES: tuple[TensorSlip, ...] = (
    *GAE,
    *(TensorSlip(said, partial(_valued, values)) for said, values in VALUES),
    TensorSlip("the returns in place of advantages", lambda own: own["advantages"] + own["values.kept"]),
    TensorSlip("the opposite sign", lambda own: -own["advantages"]),
    *WHITENING,
)

RETURNS: tuple[TensorSlip, ...] = (
    TensorSlip("returns made after whitening: the whitened advantages plus V", _beyond(_white)),
    TensorSlip("the new values added, not the old ones", _beyond(lambda own: own["advantages"], read("values_new"))),
    # vwxyzjn/cleanrl #337: advantages that were still zero
    TensorSlip("V alone, the advantages still 0", lambda own: own["values.kept"]),
    TensorSlip("the advantages alone, V not added", lambda own: own["advantages"]),
    TensorSlip("the whitened advantages alone, V not added", _white),
    TensorSlip("the rewards added, not V", lambda own: own["advantages"] + own["rewards"]),
    TensorSlip("the sum of rewards, without γ, λ and V", lambda own: _summed(own, own["rewards"], 1.0)),
    *(TensorSlip(each.said, _beyond(each.made)) for each in GAE),
    *(TensorSlip(said, _beyond(partial(_valued, values))) for said, values in VALUES),
    *(TensorSlip(said, _beyond(partial(_valued, values), values)) for said, values in VALUES),
)
