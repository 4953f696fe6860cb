"""Coverage: what should be compared, and what cannot be, so that nothing is passed over in silence.

Every computed block of a file should be compared with a row of the witness, and every row of the witness with a block of
the file. A row that somebody renamed on the Contents sheet breaks both.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy.typing as npt

from blueprint.checking.files import Checked
from blueprint.page.names import defined_name
from blueprint.quoting import unquoted
from blueprint.reopening.fresh import of_witness

Array = npt.NDArray[Any]


class Missed(NamedTuple):
    """A quantity that should be compared and was not, and why."""

    name: str
    why: str


def comparable(
    file: Checked, witness: Mapping[str, Array], without: str | None = None
) -> tuple[dict[str, Array], list[Missed]]:
    """Returns the rows of the witness that can be compared with a file's blocks, and what cannot be.

    without: how the names of quantities begin that are not compared this time.
    """
    rows = {name: row for name, row in witness.items() if without is None or not name.startswith(without)}
    missed = list(_missed(file, rows, without))
    names = {each.name for each in missed}
    return {name: row for name, row in rows.items() if name in file.places and name not in names}, missed


def _missed(file: Checked, rows: Mapping[str, Array], without: str | None) -> Iterator[Missed]:
    for name, row in rows.items():
        if name not in file.places and not (name in file.former.new and file.compared.why):
            yield Missed(name, "the Contents sheet has no such name: it was changed, or its line is another's")
        elif name in file.places and (why := _unlike(file, name, row)):
            yield Missed(name, why)
    for name, found in file.places.items():
        if found.called != defined_name(name):
            yield Missed(name, f"its range is called {unquoted(found.called)}, as that of another name would be")
        elif found.kind != "typed" and name not in rows and _asked(file, name, without):
            yield Missed(name, f"{file.range(name)}: torch computes nothing of this name")


def _asked(file: Checked, name: str, without: str | None) -> bool:
    """Tells whether the witness should know a block: its own numbers in the file, and their distances, it does not."""
    return (without is None or not name.startswith(without)) and not of_witness(name, file.places)


def _unlike(file: Checked, name: str, row: Array) -> str:
    """Says in what a block is another kind of thing than the witness's row; "" if in nothing."""
    ours = file.arrays[name]
    if ours.shape != row.shape:
        return f"the Contents sheet says that it lies as {ours.shape}, expected {row.shape}"
    if file.places[name].words != (row.dtype == object):
        return f"the Contents sheet says that it holds {'words' if file.places[name].words else 'numbers'}"
    return ""
