"""Files that are checked together: the embedded engine loads one of them, and types into it what the others have.

Files of one kind and size have nearly the same formulas; to load them takes an engine four times as long as to compute them.
"""

from collections.abc import Sequence
from concurrent.futures import Executor, Future
from functools import partial
from math import isfinite
from typing import Any

from blueprint.checking.files import Checked
from blueprint.page.engine import Cells, Others, alike_apart
from blueprint.page.grid import Address
from blueprint.page.read import Opened

MOST_TOGETHER = 16
"""Files that one process computes at most; the others may be computed beside it."""
MOST_REWRITTEN = 200
"""Formulas of a sheet in which such files may differ; on One page 35 hang on how small the numbers are."""


def compute_together(files: Sequence[Checked], pool: Executor) -> None:
    """Has the embedded engine compute the formulas of files while other work goes on; `Checked.computed` waits for it."""
    left = [*files]
    while left:
        first, alike, places = left[0], list[Checked](), set[Address]()
        for file in left:
            if len(alike) < MOST_TOGETHER and (found := differing(first, file)) is not None:
                alike.append(file)
                places |= found
        alike = alike or [first]  # which alone may have what none can share
        others = Others([*places], [[stands(file, at) for at in places] for file in alike[1:]])
        made = pool.submit(alike_apart, first.path, others)
        for number, file in enumerate(alike):
            file.computing = partial(_values, made, number)
        left = [file for file in left if file not in alike]


def _values(made: Future[list[Cells]], number: int) -> Cells:
    """Waits for the values of one of several files; raises RuntimeError where the engine has none."""
    return made.result()[number]


def differing(first: Opened, other: Opened) -> set[Address] | None:
    """Returns the cells in which another file has another formula, or something else typed.

    None if it has other names or sheets, or more than a few other formulas; also where one of them has a formula for several
    cells at once, or where an error or a date is typed.
    """
    if first.sheets != other.sheets or first.names != other.names or first.cells.keys() != other.cells.keys():
        return None
    found: set[Address] = set()
    for title, here in first.cells.items():
        there = other.cells[title]
        typed = {
            at
            for at in here.values.keys() | there.values.keys()
            if not _same(here.values.get(at), there.values.get(at))
        }
        formulas, written = here.formulas, there.formulas
        rewritten = {at for at in formulas.keys() | written.keys() if formulas.get(at) != written.get(at)}
        found.update(Address(title, *at) for at in rewritten | (typed - formulas.keys()))
        if len(rewritten) > MOST_REWRITTEN or not (here.ordinary and there.ordinary):
            return None
    return found if all(_plain(stands(file, at)) for file in (first, other) for at in found) else None


def stands(file: Opened, at: Address) -> Any:
    """Returns what stands in a cell: its value, or a list of its formula, without the sign =."""
    written = file.written.get(at.sheet, {}).get((at.row, at.column))
    return file.value(*at) if written is None else [written]


def _same(value: object, other: object) -> bool:
    """Says whether two cells hold the same; TRUE is not the number 1."""
    return value == other and type(value) is type(other)


def _plain(value: object) -> bool:
    """Says whether in a cell stands a number, a word, a formula or nothing."""
    if isinstance(value, int | float):
        return isfinite(value)
    return value is None or isinstance(value, list) or (isinstance(value, str) and not value.startswith("#"))
