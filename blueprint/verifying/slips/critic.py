"""Slips in the value loss: in the clip, the target, and the mask."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from blueprint.verifying.slips.own import Own
from blueprint.verifying.slips.slip import Words, WordsSlip, beside, counted, masks
from blueprint.witness import losses
from blueprint.witness.tensors import Named, with_end

Read = Callable[[Own], Tensor]


def value(own: Own, texts: Named | None = None, rows: Named | None = None) -> Words:
    """Returns the words of the value loss, with inputs or rows instead of the file's own."""
    found = value_rows(own, texts, rows)
    return Words(found["value.word_loss"], found["value.counted"])


def value_rows(own: Own, texts: Named | None = None, rows: Named | None = None) -> Named:
    """Returns the squares and what they are made of, with inputs or rows instead of the file's own."""
    found = own.rows | losses.counted_rows(own.rows, own.options) | (rows or {})
    return found | losses.value_rows(replace(own.texts, **(texts or {})), found, own.options)


def _square(made: Callable[[Named], Tensor]) -> Callable[[Own], Words]:
    """f times something else than the larger square."""
    return lambda own: Words(own.number("value.factor") * made(value_rows(own)), counted(own, "value.counted"))


def _held(made: Read) -> Callable[[Own], Words]:
    """f·max((V − R)², (V_c − R)²) with another V_c."""

    def words(own: Own) -> Words:
        off, off_clipped = own.texts.values - own["returns"], made(own) - own["returns"]
        return Words(
            own.number("value.factor") * torch.maximum(off.square(), off_clipped.square()),
            counted(own, "value.counted"),
        )

    return words


def _larger_error(own: Own) -> Words:
    rows = value_rows(own)
    larger = torch.maximum(own.texts.values, rows["value.clipped"]) - own["returns"]
    return Words(own.number("value.factor") * larger.square(), rows["value.counted"])


def _ends(low: str, high: str) -> Callable[[Own], Words]:
    """The value loss with the ranges of these names below and above the old value."""

    def clipped(own: Own) -> Tensor:
        old = own["values.kept"]
        return torch.minimum(torch.maximum(own.texts.values, old - own.number(low)), old + own.number(high))

    return _held(clipped)


def _about(middle: Read) -> Callable[[Own], Words]:
    """The value loss whose clip is about something else than the old values."""

    def clipped(own: Own) -> Tensor:
        limit = own.number("value_clip_range")
        return torch.minimum(torch.maximum(own.texts.values, middle(own) - limit), middle(own) + limit)

    return _held(clipped)


def _change(own: Own) -> Tensor:
    limit = own.number("value_clip_range")
    return (own.texts.values - own["values.kept"]).clamp(-limit, limit)


def _of_values(made: Read) -> Callable[[Own], Words]:
    return lambda own: value(own, {"values": made(own)})


def _of_returns(made: Read) -> Callable[[Own], Words]:
    return lambda own: value(own, rows={"returns": made(own)})


def _of_old_values(square: str, other: str) -> Callable[[Own], Words]:
    """f·max of two squares, one of which has V_old for its target in place of R."""

    def words(own: Own) -> Words:
        rows = value_rows(own)
        old = value_rows(own, rows={"returns": own["values.kept"]})
        return Words(own.number("value.factor") * torch.maximum(old[square], rows[other]), rows["value.counted"])

    return words


def _exchanged(own: Own) -> Words:
    return value(own, {"values": own["values.kept"]}, {"values.kept": with_end(own.texts.values)})


VALUE: tuple[WordsSlip, ...] = (
    WordsSlip("min for max: the smaller square, not the larger",
         _square(lambda rows: torch.minimum(rows["value.square"], rows["value.square_clipped"]))),
    WordsSlip("the square without the clip", _square(lambda rows: rows["value.square"])),
    WordsSlip("the clipped square alone", _square(lambda rows: rows["value.square_clipped"])),
    # implementation-matters/code-for-paper #1
    WordsSlip("the square of the larger error, not the larger square", _larger_error),
    WordsSlip("the policy's clip range for the upper end of the values'", _ends("value_clip_range", "loss.clip_range_high")),
    WordsSlip("the policy's clip range for the lower end of the values'", _ends("clip_range", "value_clip_range")),
    WordsSlip("the absolute error, not the square", _square(lambda rows: rows["value.error"].abs())),
    # ray-project/ray #19291 asks what the clip of values is about
    WordsSlip("the clip of values around the returns", _about(lambda own: own["returns"])),
    WordsSlip("the clipped change of the value, without the old value", _held(_change)),
    WordsSlip("the old values' error, not the new ones'", _of_values(lambda own: own["values.kept"])),
    WordsSlip("values_old and values_new swapped", _exchanged),
    *(WordsSlip(said, _about(moved)) for said, moved in beside("values_old")),
    *(WordsSlip(said, _of_values(moved)) for said, moved in beside("values_new")),
    *(WordsSlip(said, _of_returns(moved)) for said, moved in beside("returns")),
    WordsSlip("the advantages for the returns", _of_returns(lambda own: own["advantages_used"])),
    WordsSlip("the raw advantages for the returns", _of_returns(lambda own: own["advantages"])),
    WordsSlip("the old values for the returns", _of_returns(lambda own: own["values.kept"])),
    WordsSlip("the old values for the returns in the free square alone", _of_old_values("value.square", "value.square_clipped")),
    WordsSlip("the old values for the returns in the clipped square alone", _of_old_values("value.square_clipped", "value.square")),
    WordsSlip("the rewards for the returns", _of_returns(lambda own: own["rewards"])),
    WordsSlip("whitened advantages plus V for the returns", _of_returns(lambda own: own["advantages_used"] + own["values.kept"])),
    *masks(value, "the value loss"),
)  # fmt: skip
