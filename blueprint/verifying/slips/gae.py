"""Slips in advantages and returns; where people made one and told of it, that is named."""

from collections.abc import Callable

import torch
from torch import Tensor

from blueprint.verifying.slips.own import Own, across_by
from blueprint.verifying.slips.slip import TensorSlip, beside, read
from blueprint.verifying.slips.whitening import WHITENING, white
from blueprint.witness.tensors import masked_sums

Read = Callable[[Own], Tensor]


def _summed(own: Own, deltas: Tensor, decay: float | None = None) -> Tensor:
    """A_t = δ_t + decay·A_{t+1}, γλ if none is given; slots that are passed over add nothing."""
    slots, over = own.texts.slots, own["gae.over"]
    fading = own.number("gamma") * own.number("gae_lambda") if decay is None else decay
    return masked_sums(slots * (1 - over) * deltas, torch.where(over > 0, 1.0, fading), slots)


def _ahead(own: Own) -> Tensor:
    """V_{t+1}."""
    return own.rows["gae.ahead"][..., 1:]


def _delta(own: Own) -> Tensor:
    return own["rewards"] + own.number("gamma") * _ahead(own) - own["values.kept"]


def _of(deltas: Read) -> Read:
    """A of other δ."""
    return lambda own: _summed(own, deltas(own))


def _fading(decay: Callable[[Own], float]) -> Read:
    """A with something else for γλ."""
    return lambda own: _summed(own, _delta(own), decay(own))


def _rewarded(rewards: Read) -> Read:
    """A of other rewards."""
    return _of(lambda own: rewards(own) + own.number("gamma") * _ahead(own) - own["values.kept"])


def _valued(values: Read) -> Read:
    """A of other values, 0 where none are kept."""

    def deltas(own: Own) -> Tensor:
        kept = own["kept"] * values(own)
        return own["rewards"] + own.number("gamma") * across_by(kept, -1) - kept

    return _of(deltas)


def _on_pads(own: Own) -> Tensor:
    """δ with V of the pads as they are."""
    values = own.file("values_old")
    return own["rewards"] + own.number("gamma") * across_by(values, -1) - values


def _one_behind(own: Own) -> Tensor:
    """δ with V of the slot behind the last word, and nothing further."""
    ahead = across_by(own.file("values_old"), -1)
    return own["response"] * (own["rewards"] + own.number("gamma") * ahead - own["values.kept"])


def _pads_summed(own: Own) -> Tensor:
    """A that runs through the pads, whose δ have V subtracted that follows no word."""
    fading = own.number("gamma") * own.number("gae_lambda")
    deltas = own["rewards"] + own.number("gamma") * _ahead(own) - own.file("values_old")
    return masked_sums(own.texts.slots * deltas, torch.full_like(deltas, fading), own.texts.slots)


def _last_twice(own: Own) -> Tensor:
    """δ with V of the last slot behind it."""
    ahead = _ahead(own).clone()
    ahead[..., -1] = own["values.kept"][..., -1]
    return own["rewards"] + own.number("gamma") * ahead - own["values.kept"]


def _last_left_out(own: Own) -> Tensor:
    """δ with 0 for V_{t+1} in the last slot but one, too."""
    ahead = _ahead(own).clone()
    ahead[..., -2:] = 0.0
    return own["rewards"] + own.number("gamma") * ahead - own["values.kept"]


def _begun_with_last(own: Own) -> Tensor:
    """δ with γλ·V of the last slot added there, be it a pad."""
    deltas = _delta(own)
    deltas[..., -1] += own.number("gamma") * own.number("gae_lambda") * own.file("values_old")[..., -1]
    return deltas


def _forward(own: Own) -> Tensor:
    deltas, fading = _delta(own).flip(-1), own.number("gamma") * own.number("gae_lambda")
    return masked_sums(deltas, torch.full_like(deltas, fading), own.texts.slots.flip(-1)).flip(-1)


def _not_turned(own: Own) -> Tensor:
    return own["advantages"].flip(-1)


GAE: tuple[TensorSlip, ...] = (
    TensorSlip(
        "V_t for V_{t+1} in δ", _of(lambda own: own["rewards"] + (own.number("gamma") - 1) * own["values.kept"])
    ),
    TensorSlip("γ missing in δ", _of(lambda own: own["rewards"] + _ahead(own) - own["values.kept"])),
    TensorSlip(
        "λ for γ in δ: the two exchanged",
        _of(lambda own: own["rewards"] + own.number("gae_lambda") * _ahead(own) - own["values.kept"]),
    ),
    TensorSlip("γ missing in γλ", _fading(lambda own: own.number("gae_lambda"))),
    TensorSlip("γ twice in γλ", _fading(lambda own: own.number("gamma") ** 2 * own.number("gae_lambda"))),
    TensorSlip(
        "γ times V_t, too, in δ",
        _of(lambda own: own["rewards"] + own.number("gamma") * (_ahead(own) - own["values.kept"])),
    ),
    TensorSlip("V_{t+1} missing in δ", _of(lambda own: own["rewards"] - own["values.kept"])),
    TensorSlip("V_t missing in δ", _of(lambda own: own["rewards"] + own.number("gamma") * _ahead(own))),
    # verl-project/verl #50 and alibaba/ROLL #447: values that are not masked before the loop
    TensorSlip("V of the pads not set to 0", _of(_on_pads)),
    TensorSlip("V of the slot behind the last word follows it", _of(_one_behind)),
    TensorSlip("δ of the pads in the sum", _pads_summed),
    # tensorflow/agents #953: the last V is passed for the one behind it
    TensorSlip("the last V for the one behind it", _of(_last_twice)),
    # openai/spinningup #50: each slot holds the reward of the one before
    *(
        TensorSlip(said, _rewarded(made))
        for said, made in (
            ("the rewards of the slot before", lambda own: across_by(own["rewards"], 1)),
            ("the rewards of the slot before", lambda own: across_by(own["rewards"], 1, around=True)),
            ("the rewards of the slot before", lambda own: own["response"] * across_by(own["rewards"], 1, around=True)),
            ("the rewards of the slot behind", lambda own: across_by(own["rewards"], -1)),
        )
    ),
    TensorSlip("the last V left out: the loop ends one step early", _of(_last_left_out)),
    TensorSlip("the sum begins with the last V, not 0", _of(_begun_with_last)),
    # natolambert/rlhf-book #216: rewards taken for returns
    TensorSlip("A = r − V, nothing of what comes later", lambda own: own["rewards"] - own["values.kept"]),
    TensorSlip("the scores alone, without the KL", _rewarded(lambda own: own["score.placed"])),
    TensorSlip("the loop over t in the wrong direction", _forward),
    TensorSlip("the columns in reverse: what the loop collected from the end was not turned round", _not_turned),
)
"""Of A before it is whitened; the returns are that plus V."""

VALUES: tuple[TensorSlip, ...] = (
    *(TensorSlip(said, moved) for said, moved in beside("values_old")),
    TensorSlip(
        "values_old of the slot before (shifted by one column to the right)", read("values_old", 1, around=True)
    ),
    TensorSlip(
        "values_old of the slot behind (shifted by one column to the left)", read("values_old", -1, around=True)
    ),
    TensorSlip("the new values, not the old ones", read("values_new")),
)
"""Other values for V, wherever it is read."""


def _beyond(advantages: Read, values: Read | None = None) -> Read:
    """The returns that are some advantages plus V."""
    return lambda own: advantages(own) + (own["kept"] * values(own) if values else own["values.kept"])


ADVANTAGES: tuple[TensorSlip, ...] = (
    *GAE,
    *(TensorSlip(each.said, _valued(each.made)) for each in VALUES),
    TensorSlip("the returns in place of advantages", lambda own: own["advantages"] + own["values.kept"]),
    TensorSlip("the opposite sign", lambda own: -own["advantages"]),
    *WHITENING,
)

RETURNS: tuple[TensorSlip, ...] = (
    TensorSlip("returns made after whitening: the whitened advantages plus V", _beyond(white)),
    TensorSlip("the new values added, not the old ones", _beyond(lambda own: own["advantages"], read("values_new"))),
    # vwxyzjn/cleanrl #337: advantages that were still zero
    TensorSlip("V alone, the advantages still 0", lambda own: own["values.kept"]),
    TensorSlip("the advantages alone, V not added", lambda own: own["advantages"]),
    TensorSlip("the whitened advantages alone, V not added", white),
    TensorSlip("the rewards added, not V", lambda own: own["advantages"] + own["rewards"]),
    TensorSlip("the sum of rewards, without γ, λ and V", lambda own: _summed(own, own["rewards"], 1.0)),
    *(TensorSlip(each.said, _beyond(each.made)) for each in GAE),
    *(TensorSlip(each.said, _beyond(_valued(each.made))) for each in VALUES),
    *(TensorSlip(each.said, _beyond(_valued(each.made), each.made)) for each in VALUES),
)
