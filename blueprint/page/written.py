"""Formulas as a file has them: how one reads in another cell, and what it reads."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from openpyxl.formula.tokenizer import Token, Tokenizer
from openpyxl.formula.translate import Translator
from openpyxl.utils.cell import range_boundaries

from blueprint.page import grid

_NAMED = re.compile(r"(?:'(?:[^']|'')+'|[^'!,]+)![$A-Z0-9:]+")


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
    pieces: list[Token] = []
    with suppress(Exception):  # as above
        pieces = Tokenizer(formula).items
    for reference in (str(each.value) for each in pieces if (each.type, each.subtype) == (Token.OPERAND, Token.RANGE)):
        area = _area(reference, sheet) or _area(named(reference) or "", sheet)
        if area is not None:
            yield area


def _area(reference: str, sheet: str) -> Area | None:
    """Takes a reference such as `'Last week'!$D$36:$D$43` apart; None for a name, or for another file's cell."""
    title, _, cells = reference.rpartition("!")
    try:
        left, top, right, bottom = map(int, range_boundaries(cells))
    except (ValueError, TypeError):
        return None
    return Area(grid.unquoted(title) or sheet, left, top, right, bottom)


def named_areas(text: str) -> Iterator[Area]:
    """Yields what a defined name stands for: `Weeks!$P$5:$W$5,Weeks!$AB$5` are two; cells that were deleted are none."""
    for reference in _NAMED.findall(text):
        area = _area(reference, "")
        if area is not None:
            yield area


Cell = tuple[int, int]
"""Row and column, counted from 1."""
Written = dict[str, dict[Cell, str]]
"""By sheet and cell the text of a formula, without its sign =."""
