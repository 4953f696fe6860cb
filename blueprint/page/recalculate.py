"""Recalculates a delivered workbook from its formulas alone.

The engines know nothing of the definitions: they read the file as a stranger's spreadsheet program would. Every formula
cell carries a cached value of ours, and an engine that kept it would only compare us with ourselves. ironcalc computes
every formula anew; LibreOffice does so only when its profile orders it (`soffice.PROFILE`).
"""

import math
import os
import sys
import zipfile
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from blueprint.page import digits, parse_cell
from blueprint.page.lean import lean

Value: TypeAlias = float | str | bool | None
Cells: TypeAlias = dict[tuple[str, str], Value]
"""Values by sheet name and address: `cells["Weeks", "K12"]`; an engine's error is its text, such as `#N/A`."""

TOLERANCE = 1e-9


class EngineMissing(RuntimeError):
    """Reports that a spreadsheet engine is not installed, and how to get it."""


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


def with_ironcalc(path: Path) -> Cells:
    """Returns the value of every formula cell of `path`, as ironcalc computes it.

    Raises EngineMissing without ironcalc, and RuntimeError if `path` is no readable workbook.
    """
    try:
        import ironcalc
    except ImportError as error:
        raise EngineMissing("The engine ironcalc is not installed; get it with `pip install ironcalc`.") from error
    with reading(path), TemporaryDirectory() as folder, _silently():
        model = ironcalc.load_from_xlsx(str(lean(path, Path(folder) / "lean.xlsx")))
        model.evaluate()
    sheets = [sheet["name"] for sheet in model.get_worksheets_properties()]
    letters = cache(ironcalc.column_name_from_number)
    formulas = (place for place in model.get_all_cells() if model.get_cell_formula(*place) is not None)
    return {(sheets[s], f"{letters(column)}{row}"): model.get_cell_value(s, row, column) for s, row, column in formulas}


@contextmanager
def _silently() -> Iterator[None]:
    """Keeps what the engine prints, a line for each formula that was saved without a value, from standard output.

    It writes past Python, to the file that the system knows as output, where the JSON of a command goes too.
    """
    sys.stdout.flush()
    with open(os.devnull, "wb") as nowhere:
        output = os.dup(1)
        try:
            os.dup2(nowhere.fileno(), 1)
            yield
        finally:
            os.dup2(output, 1)
            os.close(output)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns whatever a reader says about a file that is no sound workbook into one sentence."""
    if not path.exists():
        near = get_close_matches(path.name, [other.name for other in path.parent.glob("*.xlsx")], 1)
        raise RuntimeError(f"There is no file {path}{f'; did you mean {near[0]}?' if near else '.'}")
    if path.is_dir():
        raise RuntimeError(f"{path} is a folder; name the .xlsx file in it.")
    if not zipfile.is_zipfile(path):
        raise RuntimeError(f"{path} is no .xlsx workbook, or only part of one; save or build it again.")
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as fault:  # a panic in ironcalc's Rust is no Exception
        raise RuntimeError(f"{path} cannot be read as a workbook ({' '.join(str(fault).split())}).") from fault


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
