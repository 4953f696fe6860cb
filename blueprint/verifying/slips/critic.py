"""Slips in the value loss: in the clip, the target, and the mask."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from blueprint.verifying.formulas import Named, losses, with_end
from blueprint.verifying.slips.slip import Number, Own, Read, Slip, Words, altered, beside, counted, masks


def value(own: Own) -> Words:
    """Returns the words of the value loss."""
    found = value_rows(own)
    return Words(found["value.word_loss"], found["value.counted"])


def value_rows(own: Own) -> Named:
    """Returns the squares and what they are made of."""
    found = own.rows | losses.counted_rows(own.rows, own.options) | own.altered
    return found | losses.value_rows(own.texts.values, found, own.options)


def _times_factor(own: Own, squares: Tensor) -> Words:
    return Words(own.number("value.factor") * squares, counted(own, "value.counted"))


def _square(made: Callable[[Named], Tensor]) -> Number:
    """f times something else than the larger square."""
    return lambda own: _times_factor(own, made(value_rows(own)))


def _held(own: Own, clipped: Tensor) -> Words:
    """f·max((V − R)², (V_c − R)²) with another V_c."""
    off, off_clipped = own.texts.values - own["returns"], clipped - own["returns"]
    return _times_factor(own, torch.maximum(off.square(), off_clipped.square()))


def _about(middle: Read, own: Own, low: str = "value_clip_range", high: str = "value_clip_range") -> Words:
    """The value loss whose clip is about something else than the old values, or has other ranges below and above it."""
    return _held(own, losses.between(own.texts.values, middle(own) - own.number(low), middle(own) + own.number(high)))


def _change(own: Own) -> Words:
    limit = own.number("value_clip_range")
    return _held(own, (own.texts.values - own["values.kept"]).clamp(-limit, limit))


def _of_old_values(square: str, other: str, own: Own) -> Words:
    """f·max of two squares, one of which has V_old for its target in place of R."""
    old = value_rows(own.having({"returns": own["values.kept"]}))
    return _times_factor(own, torch.maximum(old[square], value_rows(own)[other]))


def _old_values(own: Own) -> Tensor:
    return own["values.kept"]


VALUE: tuple[Slip, ...] = (
    Slip("min for max: the smaller square, not the larger",
         _square(lambda rows: torch.minimum(rows["value.square"], rows["value.square_clipped"]))),
    Slip("the square without the clip", _square(lambda rows: rows["value.square"])),
    Slip("the clipped square alone", _square(lambda rows: rows["value.square_clipped"])),
    # implementation-matters/code-for-paper #1
    Slip("the square of the larger error, not the larger square", lambda own: _times_factor(
        own, (torch.maximum(own.texts.values, value_rows(own)["value.clipped"]) - own["returns"]).square())),
    Slip("the policy's clip range for the upper end of the values'",
         partial(_about, _old_values, high="loss.clip_range_high")),
    Slip("the policy's clip range for the lower end of the values'", partial(_about, _old_values, low="clip_range")),
    Slip("the absolute error, not the square", _square(lambda rows: rows["value.error"].abs())),
    # ray-project/ray #19291 asks what the clip of values is about
    Slip("the clip of values around the returns", partial(_about, lambda own: own["returns"])),
    Slip("the clipped change of the value, without the old value", _change),
    Slip("the old values' error, not the new ones'", altered(value, {"values": _old_values})),
    Slip("values_old and values_new swapped",
         altered(value, {"values": _old_values, "values.kept": lambda own: with_end(own.texts.values)})),
    *(Slip(said, partial(_about, moved)) for said, moved in beside("values_old")),
    *(Slip(said, altered(value, {"values": moved})) for said, moved in beside("values_new")),
    *(Slip(said, altered(value, {"returns": moved})) for said, moved in beside("returns")),
    Slip("the advantages for the returns", altered(value, {"returns": lambda own: own["advantages_used"]})),
    Slip("the raw advantages for the returns", altered(value, {"returns": lambda own: own["advantages"]})),
    Slip("the old values for the returns", altered(value, {"returns": _old_values})),
    Slip("the old values for the returns in the free square alone",
         partial(_of_old_values, "value.square", "value.square_clipped")),
    Slip("the old values for the returns in the clipped square alone",
         partial(_of_old_values, "value.square_clipped", "value.square")),
    Slip("the rewards for the returns", altered(value, {"returns": lambda own: own["rewards"]})),
    Slip("whitened advantages plus V for the returns",
         altered(value, {"returns": lambda own: own["advantages_used"] + own["values.kept"]})),
    *masks(value, "the value loss"),
)  # fmt: skip
