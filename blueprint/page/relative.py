"""Formulas of somebody else's file, which may be anything: how one would read in another cell, and what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from openpyxl.formula.tokenizer import Token, Tokenizer
from openpyxl.formula.translate import Translator
from openpyxl.utils.cell import range_boundaries


class Area(NamedTuple):
    """A rectangle of cells: its sheet, and its first and last column and row, counted from 1."""

    sheet: str
    left: int
    top: int
    right: int
    bottom: int


def as_seen_from(formula: str, origin: str, cell: str) -> str:
    """Returns the formula of the cell `origin` as it would read in `cell`, as if it were copied there.

    Equal formulas of a row read the same. What cannot be taken apart, such as `="abc`, reads as it stands.
    """
    if origin == cell:
        return formula
    try:
        return str(Translator(formula, origin=origin).translate_formula(cell))
    except Exception:  # openpyxl says of a broken formula whatever its parts happen to raise
        return formula


def read_by(formula: str, sheet: str, named: Callable[[str], str | None]) -> Iterator[Area]:
    """Yields what a formula on a sheet reads, cell by cell and range by range; nothing of one that cannot be taken apart.

    named: what a defined name stands for, `Inputs!$D$8`; None for a name that there is not.
    """
    for reference in _references(formula):
        area = _area(reference, sheet) or _area(named(reference) or "", sheet)
        if area is not None:
            yield area


def _references(formula: str) -> list[str]:
    try:
        pieces = Tokenizer(formula).items
    except Exception:  # as above
        return []
    return [str(each.value) for each in pieces if each.type == Token.OPERAND and each.subtype == Token.RANGE]


def _area(reference: str, sheet: str) -> Area | None:
    """Takes a reference such as `'Last week'!$D$36:$D$43` apart; None for a name, or for another file's cell."""
    title, _, cells = reference.rpartition("!")
    title = title[1:-1].replace("''", "'") if title.startswith("'") else title
    try:
        left, top, right, bottom = map(int, range_boundaries(cells))
    except (ValueError, TypeError):
        return None
    return Area(title or sheet, left, top, right, bottom)
