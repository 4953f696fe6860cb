"""Slips in the value loss: in the clip, the target, and the mask."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from blueprint.verifying.slips.own import Own, Read, beside
from blueprint.verifying.slips.slip import Words, WordsSlip, altered, counted, masks
from blueprint.witness import Named, losses, with_end


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


def _square(made: Callable[[Named], Tensor]) -> Callable[[Own], Words]:
    """f times something else than the larger square."""
    return lambda own: _times_factor(own, made(value_rows(own)))


def _held(own: Own, clipped: Tensor) -> Words:
    """f·max((V − R)², (V_c − R)²) with another V_c."""
    off, off_clipped = own.texts.values - own["returns"], clipped - own["returns"]
    return _times_factor(own, torch.maximum(off.square(), off_clipped.square()))


def _larger_error(own: Own) -> Words:
    larger = torch.maximum(own.texts.values, value_rows(own)["value.clipped"])
    return _times_factor(own, (larger - own["returns"]).square())


def _ends(low: str, high: str, own: Own) -> Words:
    """The value loss with the ranges of these names below and above the old value."""
    old = own["values.kept"]
    return _held(own, losses.between(own.texts.values, old - own.number(low), old + own.number(high)))


def _about(middle: Read, own: Own) -> Words:
    """The value loss whose clip is about something else than the old values."""
    limit = own.number("value_clip_range")
    return _held(own, losses.between(own.texts.values, middle(own) - limit, middle(own) + limit))


def _change(own: Own) -> Words:
    limit = own.number("value_clip_range")
    return _held(own, (own.texts.values - own["values.kept"]).clamp(-limit, limit))


def _of_old_values(square: str, other: str, own: Own) -> Words:
    """f·max of two squares, one of which has V_old for its target in place of R."""
    old = value_rows(own.having({"returns": own["values.kept"]}))
    return _times_factor(own, torch.maximum(old[square], value_rows(own)[other]))


def _old_values(own: Own) -> Tensor:
    return own["values.kept"]


VALUE: tuple[WordsSlip, ...] = (
    WordsSlip("min for max: the smaller square, not the larger",
         _square(lambda rows: torch.minimum(rows["value.square"], rows["value.square_clipped"]))),
    WordsSlip("the square without the clip", _square(lambda rows: rows["value.square"])),
    WordsSlip("the clipped square alone", _square(lambda rows: rows["value.square_clipped"])),
    # implementation-matters/code-for-paper #1
    WordsSlip("the square of the larger error, not the larger square", _larger_error),
    WordsSlip("the policy's clip range for the upper end of the values'",
         partial(_ends, "value_clip_range", "loss.clip_range_high")),
    WordsSlip("the policy's clip range for the lower end of the values'", partial(_ends, "clip_range", "value_clip_range")),
    WordsSlip("the absolute error, not the square", _square(lambda rows: rows["value.error"].abs())),
    # ray-project/ray #19291 asks what the clip of values is about
    WordsSlip("the clip of values around the returns", partial(_about, lambda own: own["returns"])),
    WordsSlip("the clipped change of the value, without the old value", _change),
    WordsSlip("the old values' error, not the new ones'", altered(value, {"values": _old_values})),
    WordsSlip("values_old and values_new swapped",
         altered(value, {"values": _old_values, "values.kept": lambda own: with_end(own.texts.values)})),
    *(WordsSlip(said, partial(_about, moved)) for said, moved in beside("values_old")),
    *(WordsSlip(said, altered(value, {"values": moved})) for said, moved in beside("values_new")),
    *(WordsSlip(said, altered(value, {"returns": moved})) for said, moved in beside("returns")),
    WordsSlip("the advantages for the returns", altered(value, {"returns": lambda own: own["advantages_used"]})),
    WordsSlip("the raw advantages for the returns", altered(value, {"returns": lambda own: own["advantages"]})),
    WordsSlip("the old values for the returns", altered(value, {"returns": _old_values})),
    WordsSlip("the old values for the returns in the free square alone",
         partial(_of_old_values, "value.square", "value.square_clipped")),
    WordsSlip("the old values for the returns in the clipped square alone",
         partial(_of_old_values, "value.square_clipped", "value.square")),
    WordsSlip("the rewards for the returns", altered(value, {"returns": lambda own: own["rewards"]})),
    WordsSlip("whitened advantages plus V for the returns",
         altered(value, {"returns": lambda own: own["advantages_used"] + own["values.kept"]})),
    *masks(value, "the value loss"),
)  # fmt: skip
