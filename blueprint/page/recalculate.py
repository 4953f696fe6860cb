"""Holds what an engine makes of a workbook's formulas against the values that we computed.

Every formula cell carries a cached value of ours, and an engine that kept it would only compare us with ourselves. ironcalc
computes every formula anew; LibreOffice does so only when its profile orders it (`soffice.PROFILE`).
"""

import math
from collections.abc import Container
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from blueprint.page import digits, parse_cell
from blueprint.page.engine import Cells, Value, with_ironcalc

TOLERANCE = 1e-9


class Absent(Enum):
    """Stands for the value of a cell that only one side has."""

    CELL = "nothing"


@dataclass(frozen=True)
class Failure:
    """Names one cell in which the engine and our value disagree."""

    sheet: str
    cell: str
    ours: Value | Absent
    theirs: Value | Absent

    def __str__(self) -> str:
        """Says the disagreement in one line."""
        ours, theirs = (x.value if isinstance(x, Absent) else repr(x) for x in (self.ours, self.theirs))
        return f"{self.sheet}!{self.cell}: we computed {ours}, the engine {theirs}"


@dataclass(frozen=True)
class Proof:
    """Counts the formula cells that an engine confirms; `worst` is the largest |a − b| / max(1, |b|) of two numbers."""

    total: int
    agreeing: int
    worst: float
    failures: list[Failure]


def prove(path: Path, expected: Cells, waiting: Container[tuple[str, str]] = ()) -> Proof:
    """Compares the values we computed with ironcalc's, for every formula cell of the file but those that wait for blanks.

    Raises EngineMissing without ironcalc, and RuntimeError if `path` is no readable workbook.
    """
    theirs = with_ironcalc(path)
    return compare(expected, {cell: value for cell, value in theirs.items() if cell not in waiting})


def compare(ours: Cells, theirs: Cells) -> Proof:
    """Compares two sets of cells; a cell that one side lacks is a failure, and so is an error that the other side has not."""
    keys = theirs | ours
    pairs = [(key, ours.get(key, Absent.CELL), theirs.get(key, Absent.CELL)) for key in keys]
    unlike = [(key, a, b) for key, a, b in pairs if type(a) is not type(b) or a != b]
    failures = [Failure(*key, a, b) for key, a, b in unlike if not _agree(a, b)]
    worst = max((_difference(a, b) for _, a, b in unlike), default=0.0)
    return Proof(len(keys), len(keys) - len(failures), worst, failures)


def _agree(ours: Value | Absent, theirs: Value | Absent) -> bool:
    """Tells whether two values are the same: numbers to TOLERANCE, texts exactly but for the rounding in prints.

    An error is the same as any other: engines call them differently, `#NUM!` is `Err:502` in one.
    """
    if parse_cell.is_error(ours) or parse_cell.is_error(theirs):
        return parse_cell.is_error(ours) and parse_cell.is_error(theirs)
    match ours, theirs:
        case (bool(), _) | (_, bool()):
            return ours is theirs
        case (float() | int(), float() | int()):
            return _difference(ours, theirs) <= TOLERANCE
        case (digits.Print(), str()):
            return digits.same_print(ours, theirs)
        case (str() | None, str() | None):
            return (ours or "") == (theirs or "")
    return False


def _difference(ours: Value | Absent, theirs: Value | Absent) -> float:
    """Returns |a − b| / max(1, |b|) of two numbers, infinity if one of them is not finite, 0 for anything else."""
    if not (isinstance(ours, float | int) and isinstance(theirs, float | int)):
        return 0.0
    return abs(ours - theirs) / max(1.0, abs(theirs)) if math.isfinite(ours) and math.isfinite(theirs) else math.inf
