"""The checker: files in, verdicts out; all files go through the witness in one call.

Every computed block of a file should be compared with a row of the witness, and every row of the witness with a block of
the file, so that nothing is passed over in silence. A row that somebody renamed on the Contents sheet breaks both.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from blueprint.checking.causes import Roots, Spot, cause_of
from blueprint.checking.deviations import (
    CHECKS,
    TOLERANCES,
    WHITENED,
    Deviation,
    carried,
    compare,
    left_open,
    undecided,
    widened,
)
from blueprint.checking.files import Checked
from blueprint.checking.likely import likely
from blueprint.checking.verdicts import First, Verdict
from blueprint.language import Array, Axis
from blueprint.page.names import defined_name
from blueprint.page.place import Along
from blueprint.quoting import unquoted
from blueprint.reopening.fresh import of_witness
from blueprint.witness import Record, Witnessed, WitnessError
from blueprint.workbooks.registry import witness_of

if TYPE_CHECKING:
    from pandas import DataFrame


class Outcome(NamedTuple):
    """A verdict for every file, and how the witness computed."""

    verdicts: tuple[Verdict, ...]
    record: Record

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


def check(files: Sequence[Checked], device: str = "auto", dtype: str = "float64") -> Outcome:
    """Holds files against the witness. Raises WitnessError for a device, a format or a file that it cannot take."""
    found = _witnessed(files, device, dtype)
    ties: dict[int, list[str]] = {}
    for tie in found.record.ties:
        where = f"{tie.what} of episode {tie.episode}, position {tie.position}"
        ties.setdefault(tie.file, []).append(f"{where} falls within 1e-9 of the edge between {tie.between}")
    rows = enumerate(zip(files, found, strict=True))
    return Outcome(tuple(judge(*each, dtype, tuple(ties.get(i, ()))) for i, each in rows), found.record)


def _witnessed(files: Sequence[Checked], device: str, dtype: str) -> Witnessed:
    """Has everything computed again; what torch or numpy say of blocks that do not fit together becomes a sentence."""
    try:
        return witness_of([file.arrays for file in files], device, dtype)
    except WitnessError:
        raise
    except (ArithmeticError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        names = ", ".join(str(file.path) for file in files)
        raise WitnessError(
            f"{names}: blocks do not fit together as the Contents sheet says that they lie and what they hold "
            f"({type(error).__name__}: {unquoted(error)})"
        ) from error


def judge(file: Checked, witness: Mapping[str, Array], dtype: str, ties: tuple[str, ...] = ()) -> Verdict:
    """Compares a file with what the witness computed from its inputs, and names the first deviation and its cause."""
    wider = widened(witness, {name: file.followers(name) for name in WHITENED if name in file.places})
    # the sheet's own checks measure rounding, of which float32 has more
    rows, missed = comparable(file, witness, CHECKS if dtype != "float64" else None)
    lines = compare(file.arrays, rows, TOLERANCES[dtype], wider, file.odd, carried(file, witness, TOLERANCES[dtype]))
    open_ = undecided(file, lines)
    lines = [replace(line, differing=()) if left_open(line, open_) else line for line in lines]
    return Verdict(file, tuple(lines), missed, tuple(_firsts(file, rows, lines)), ties)


def _firsts(file: Checked, witness: Mapping[str, Array], lines: list[Deviation]) -> list[First]:
    """Lists the deviations that follow from no other one, in the order of derivation."""
    deviating = {line.name: line for line in lines if not line.agrees}
    roots = Roots(file, deviating.values())
    explained: set[str] = set()
    found: dict[Spot, First] = {}
    for name, line in deviating.items():
        if name not in explained:
            root = roots.of(line)
            followers = file.followers(root.name) - {root.name}
            explained |= followers | {name, root.name}
            follows = tuple(n for n in witness if n in followers and n in deviating)
            first = _first(file, witness, root, follows)
            found[root] = replace(first, likely=likely(file, deviating[root.name], witness[root.name]))
    return list(found.values())


def _first(file: Checked, witness: Mapping[str, Array], root: Spot, follows: tuple[str, ...]) -> First:
    shape, known = file.places[root.name].shape, file.compared.axes.get(root.name, ())
    axes = known if len(known) == len(shape) else [Axis(along.letter, along.letter, 1) for along in shape]
    at = ", ".join(_member(*each) for each in zip(axes, shape, root.at, strict=True))
    what = f"{root.name} of {at}" if at else root.name
    theirs = witness[root.name][root.at]
    meant = theirs if isinstance(theirs, str) else float(theirs)
    return First(root.name, file.cell(*root), what, file.says(*root), meant, *cause_of(file, root), follows)


def _member(axis: Axis, along: Along, index: int) -> str:
    """Names a member of an axis as the sheet does: by its number, edges by name."""
    member = index - along.start
    if not 0 <= member < along.size:
        return f"the {'start' if member < 0 else 'end'} of {axis.plural}"
    return f"{axis.meaning} {member + axis.start}"


def comparable(
    file: Checked, witness: Mapping[str, Array], without: str | None = None
) -> tuple[dict[str, Array], dict[str, str]]:
    """Returns the rows of the witness that can be compared with a file's blocks, and what cannot be, each with the reason.

    without: how the names of quantities begin that are not compared this time.
    """
    rows = {
        name: row for name, row in _with_repeats(file, witness).items() if not (without and name.startswith(without))
    }
    missed = dict(_missed(file, rows, without))
    return {name: row for name, row in rows.items() if name in file.places and name not in missed}, missed


def _with_repeats(file: Checked, witness: Mapping[str, Array]) -> dict[str, Array]:
    """Adds what only repeats another block, behind that block: it must be the same, wherever it stands."""
    repeats: dict[str, list[str]] = {}
    for name, found in file.places.items():
        if found.kind == "link" and name not in witness:
            repeats.setdefault(next(iter(found.reads), ""), []).append(name)
    typed = {name: file.arrays[name] for name in repeats if name in file.places and file.places[name].kind == "typed"}
    rows: dict[str, Array] = {}
    for name, array in (typed | dict(witness)).items():
        waiting = [name]
        while waiting:
            rows[waiting[0]] = array
            waiting += repeats.get(waiting.pop(0), [])
    return {name: row for name, row in rows.items() if name not in typed}


def _missed(file: Checked, rows: Mapping[str, Array], without: str | None) -> Iterator[tuple[str, str]]:
    for name, row in rows.items():
        if name not in file.places and not (name in file.former.new and file.compared.why):
            yield name, "the Contents sheet has no such name: it was changed, or its line is another's"
        elif name in file.places and (why := _unlike(file, name, row)):
            yield name, why
    for name, found in file.places.items():
        left_out = (without and name.startswith(without)) or of_witness(name, file.places)
        if found.called != defined_name(name):
            yield name, f"its range is called {unquoted(found.called)}, as that of another name would be"
        elif found.kind != "typed" and name not in rows and not left_out:
            yield name, f"{file.range(name)}: torch computes nothing of this name"


def _unlike(file: Checked, name: str, row: Array) -> str:
    """Says in what a block is another kind of thing than the witness's row; "" if in nothing."""
    shape, words = file.arrays[name].shape, file.places[name].words
    if shape != row.shape:
        return f"the Contents sheet says that it lies as {shape}, expected {row.shape}"
    unlike = words != (row.dtype == object)
    return f"the Contents sheet says that it holds {'words' if words else 'numbers'}" if unlike else ""
