"""The checker: files in, verdicts out; all files go through the witness in one call.

Every computed block of a file should be compared with a row of the witness, and every row of the witness with a block of
the file, so that nothing is passed over in silence. A row that somebody renamed on the Contents sheet breaks both.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from math import nan
from typing import TYPE_CHECKING, NamedTuple

from blueprint.checking.causes import Roots, cause_of, likely, likely_answer
from blueprint.checking.checked_file import Checked
from blueprint.checking.deviations import (
    CHECKS,
    TOLERANCES,
    WHITENED,
    Answer,
    Deviation,
    answers,
    carried,
    comparable,
    compare,
    held_against,
    left_open,
    right_errors,
    undecided,
    widened,
    with_repeats,
)
from blueprint.checking.recomputed import OfPage, Recomputed, of_page, recomputed, values_of
from blueprint.checking.verdicts import First, Verdict
from blueprint.language import Array, Axis
from blueprint.page.grid import Along
from blueprint.page.read import Spot
from blueprint.witness.device import Record, chosen_device, chosen_dtype, ieee_products

CARRIED = "; it is right for what stands in the cells that it reads: the mistake lies before it"

if TYPE_CHECKING:
    from pandas import DataFrame


class Outcome(NamedTuple):
    """A verdict for every file, and how the witness computed."""

    verdicts: tuple[Verdict, ...]
    record: Record

    def __repr__(self) -> str:
        """Says for each file in a line or two what it comes to."""
        return "\n".join(map(repr, self.verdicts))

    @property
    def agrees(self) -> bool:
        """Whether every file agrees."""
        return all(verdict.agrees for verdict in self.verdicts)

    @property
    def frame(self) -> "DataFrame":
        """A table with a row for each quantity of each file: cells compared, cells that differ, the largest difference."""
        import pandas as pd

        rows = [
            (str(verdict.file.path), line.name, line.cells, len(line.differing), line.largest, line.agrees)
            for verdict in self.verdicts
            for line in verdict.lines
        ]
        return pd.DataFrame(rows, columns=["file", "quantity", "cells", "differing", "largest", "agrees"])


def check(files: Sequence[Checked], device: str = "auto", dtype: str = "float64", reveal: bool = False) -> Outcome:
    """Holds files against the witness. Raises WitnessError for a device, a format or a file that it cannot take.

    reveal: of a blank that is filled in wrong, the verdict says the right number, too.
    """
    place = chosen_device(device, chosen_dtype(dtype))
    with ieee_products():
        found = recomputed(files, str(place), dtype)
        pages = [of_page(file, each, dtype, str(place)) for file, each in zip(files, found, strict=True)]
    verdicts = (judge(*each, dtype, reveal) for each in zip(files, found, pages, strict=True))
    return Outcome(tuple(verdicts), Record(str(place), dtype, version("torch")))


def judge(file: Checked, recomputed: Recomputed, page: OfPage, dtype: str, reveal: bool = False) -> Verdict:
    """Compares a file with what its equations make of its inputs, and these with the paper's page; names the first deviation."""
    witness, tied = recomputed.rows, [tie for tie in recomputed.ties if tie.of in file.places]
    ties = tuple(f"{_what(file, tie.of, tie.at)} falls within 1e-9 of an edge" for tie in tied)
    found = answers(file, witness)
    file, meant = held_against(file, with_repeats(file, witness))
    wider = widened(witness, {name: file.followers(name) for name in WHITENED if name in file.places})
    # the sheet's own checks measure rounding, of which float32 has more
    rows, missed = comparable(file, meant, CHECKS if dtype != "float64" else None)
    far, right = carried(file, witness, TOLERANCES[dtype]), right_errors(file, rows)
    lines = compare(file.arrays, rows, TOLERANCES[dtype], wider, file.odd, far, right)
    open_ = undecided(file, lines)
    lines = [replace(line, differing=()) if left_open(line, open_) else line for line in lines]
    firsts = _firsts(file, rows, lines, found, reveal)
    told = tuple(_told(line, file, reveal) for line in lines)
    return Verdict(file, told, missed, tuple(firsts), ties, found, values_of(file), page)


def _told(line: Deviation, file: Checked, reveal: bool) -> Deviation:
    """Returns how a quantity compares without its open cells, and not how far away it is where that would tell an answer."""
    opened = len(file.blanks.open.get(line.name, ()))
    hidden = not (line.agrees or reveal) and line.name in file.blanks.touched
    return replace(line, cells=line.cells - opened, open=opened, largest=nan if hidden else line.largest)


def _firsts(
    file: Checked, witness: Mapping[str, Array], lines: list[Deviation], blanks: Collection[Answer], reveal: bool
) -> list[First]:
    """Lists the deviations that follow from no other one, in the order of derivation; of blanks each that is wrong."""
    deviating = {line.name: line for line in lines if not line.agrees}
    roots = Roots(file, deviating.values())
    explained: set[str] = set()
    found: dict[Spot, First] = {}
    for spot in (spot for blank in blanks for spot in blank.wrong if spot.name in deviating):
        explained |= file.followers(spot.name) | {spot.name}
        first = _first(file, witness, spot, _follows(file, witness, spot.name, deviating))
        why = likely_answer(file, spot, float(witness[spot.name][spot.at]))
        carried = CARRIED if any(spot in blank.carried for blank in blanks) else ""
        found[spot] = replace(first, why=first.why + carried, hidden=not reveal, likely=why)
    for name, line in deviating.items():
        if name not in explained:
            root = roots.of(line)
            explained |= file.followers(root.name) | {name, root.name}
            first = _first(file, witness, root, _follows(file, witness, root.name, deviating))
            found[root] = replace(first, likely=likely(file, deviating[root.name], witness[root.name]))
    return list(found.values())


def _follows(file: Checked, witness: Mapping[str, Array], name: str, deviating: Collection[str]) -> tuple[str, ...]:
    """Lists the deviating quantities that read one that deviates, in the order of derivation."""
    followers = file.followers(name) - {name}
    return tuple(each for each in witness if each in followers and each in deviating)


def _first(file: Checked, witness: Mapping[str, Array], root: Spot, follows: tuple[str, ...]) -> First:
    what = _what(file, root.name, root.at)
    theirs = witness[root.name][root.at]
    meant = theirs if isinstance(theirs, str) else float(theirs)
    return First(root.name, file.cell(*root), what, file.says(*root), meant, *cause_of(file, root), follows)


def _what(file: Checked, name: str, index: tuple[int, ...]) -> str:
    """Names a cell by its quantity and the members of its axes."""
    shape, known = file.places[name].shape, file.compared.axes.get(name, ())
    axes = known if len(known) == len(shape) else [Axis(along.letter, along.letter, 1) for along in shape]
    at = ", ".join(_member(*each) for each in zip(axes, shape, index, strict=True))
    return f"{name} of {at}" if at else name


def _member(axis: Axis, along: Along, index: int) -> str:
    """Names a member of an axis as the sheet does: by its number, edges by name."""
    member = index - along.start
    if not 0 <= member < along.size:
        return f"the {'start' if member < 0 else 'end'} of {axis.plural}"
    return f"{axis.meaning} {member + axis.start}"
