"""Verdicts: what a check of one file comes to. The first deviating quantity, its cause, and what merely follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from blueprint.checking.causes import Found, cause_of
from blueprint.checking.coverage import Missed, comparable
from blueprint.checking.deviations import (
    TOLERANCES,
    WHITENED,
    Deviation,
    carried,
    compare,
    left_open,
    undecided,
    widened,
)  # fmt: skip
from blueprint.checking.files import Checked
from blueprint.checking.roots import Roots, Spot
from blueprint.language import Axis
from blueprint.page.place import Along
from blueprint.quoting import unquoted

Array = npt.NDArray[Any]

CHECKS = "check."


@dataclass(frozen=True)
class First:
    """A quantity that deviates without reading another one that does.

    follows: the deviating quantities that read it, directly or through others.
    """

    name: str
    cell: str
    what: str
    sheet: float | str
    witness: float | str
    cause: Found
    follows: tuple[str, ...]

    def __str__(self) -> str:
        shown = f"sheet {_print(self.sheet)}, torch {_print(self.witness)}"
        return f"{self.cell}: {self.what}: {shown}\n  {self.cause.cause.value}: {self.cause.why}"


@dataclass(frozen=True)
class Verdict:
    """What a check of one file came to.

    missed: quantities that should be compared, and could not be. ties: draws that fall on a boundary between two words.
    """

    file: Checked
    lines: tuple[Deviation, ...]
    missed: tuple[Missed, ...]
    firsts: tuple[First, ...]
    ties: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether every number agrees, and every formula is that of a fresh workbook; a number not compared does not."""
        return not (self.missed or self.file.compared.others) and all(line.agrees for line in self.lines)

    @property
    def expected(self) -> int:
        """How many quantities should be compared."""
        return len(self.lines) + len(self.missed)

    @property
    def cells(self) -> int:
        """How many cells were compared."""
        return sum(line.cells for line in self.lines)

    @property
    def largest(self) -> float:
        """The largest difference of all."""
        return max((line.largest for line in self.lines), default=0.0)


def judge(file: Checked, witness: Mapping[str, Array], dtype: str, ties: tuple[str, ...] = ()) -> Verdict:
    """Compares a file with what the witness computed from its inputs, and names the first deviation and its cause."""
    wider = widened(witness, {name: file.followers(name) for name in WHITENED if name in file.places})
    all_rows = _with_repeats(file, witness)
    # the sheet's own checks measure rounding, of which float32 has more
    rows, missed = comparable(file, all_rows, CHECKS if dtype != "float64" else None)
    lines = compare(file.arrays, rows, TOLERANCES[dtype], wider, file.odd, carried(file, witness, TOLERANCES[dtype]))
    open_ = undecided(file, lines)
    lines = [replace(line, differing=()) if left_open(line, open_) else line for line in lines]
    deviating = [line for line in lines if not line.agrees]
    return Verdict(file, tuple(lines), tuple(missed), tuple(_firsts(file, rows, deviating)), ties)


def _with_repeats(file: Checked, witness: Mapping[str, Array]) -> dict[str, Array]:
    """Adds what only repeats another block, behind that block: it must be the same, wherever it stands."""
    repeats: dict[str, list[str]] = {}
    for name, found in file.places.items():
        if found.kind == "link" and name not in witness:
            repeats.setdefault(next(iter(found.reads), ""), []).append(name)
    typed = {
        name: file.arrays[name] for name, found in file.places.items() if name in repeats and found.kind == "typed"
    }
    rows: dict[str, Array] = {}
    for name, array in (typed | dict(witness)).items():
        waiting = [name]
        while waiting:
            rows[waiting[0]] = array
            waiting += repeats.get(waiting.pop(0), [])
    return {name: rows[name] for name in rows if name not in typed}


def _firsts(file: Checked, witness: Mapping[str, Array], deviating: list[Deviation]) -> list[First]:
    """Lists the deviations that follow from no other one, in the order of derivation."""
    names = {line.name for line in deviating}
    roots = Roots(file, deviating)
    explained: set[str] = set()
    found: dict[Spot, First] = {}
    for line in deviating:
        if line.name not in explained:
            root = roots.of(line)
            followers = file.followers(root.name) - {root.name}
            explained |= followers | {line.name, root.name}
            found[root] = _first(file, witness, root, tuple(n for n in witness if n in followers & names))
    return list(found.values())


def _first(file: Checked, witness: Mapping[str, Array], root: Spot, follows: tuple[str, ...]) -> First:
    place = file.places[root.name]
    known = file.compared.axes.get(root.name, ())
    alike = len(known) == len(place.shape)
    axes = known if alike else [Axis(along.letter, along.letter, 1) for along in place.shape]
    at = [_member(*each) for each in zip(axes, place.shape, root.at, strict=True)]
    what = f"{root.name} of {', '.join(at)}" if at else root.name
    return First(
        root.name,
        file.cell(*root),
        what,
        file.says(*root),
        _simple(witness[root.name][root.at]),
        cause_of(file, *root),
        follows,
    )


def _simple(value: Any) -> float | str:
    return value if isinstance(value, str) else float(value)


def _member(axis: Axis, along: Along, index: int) -> str:
    """Names a member of an axis as the sheet does: by its number, edges by name."""
    member = index - along.start
    if not 0 <= member < along.size:
        return f"the {'start' if member < 0 else 'end'} of {axis.plural}"
    return f"{axis.meaning} {member + axis.start}"


def _print(value: float | str) -> str:
    return f"“{unquoted(value)}”" if isinstance(value, str) else f"{value:.10g}"
