"""Verdicts: what a check of one file comes to, as records, as a table for people, and as plain data for programs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from blueprint.checking.causes import Cause
from blueprint.checking.deviations import Deviation
from blueprint.checking.files import Checked
from blueprint.quoting import table, unquoted

MOST_MISSED = 6
"""Quantities that are named of those that were not compared; a line each would hide what else there is to say."""
MOST_FORMULAS = 10
"""Formulas that are named of those that are not as in a fresh workbook; `--json` names all."""
HEADINGS = ("quantity", "stands at", "cells", "largest difference", "where", "verdict")


@dataclass(frozen=True)
class First:
    """A quantity that deviates without reading another one that does.

    follows: the deviating quantities that read it, directly or through others.
    likely: the mistake by which the quantity is what it is, "" if none is known.
    """

    name: str
    cell: str
    what: str
    sheet: float | str
    witness: float | str
    cause: Cause
    why: str
    follows: tuple[str, ...]
    likely: str = ""

    def __str__(self) -> str:
        shown = f"sheet {_print(self.sheet)}, torch {_print(self.witness)}"
        likely = f"\n  likely: {self.likely}" if self.likely else ""
        return f"{self.cell}: {self.what}: {shown}\n  {self.cause.value}: {self.why}{likely}"


@dataclass(frozen=True)
class Verdict:
    """What a check of one file came to.

    missed: quantities that should be compared, and why they could not be. ties: draws that fall on a boundary between two words.
    """

    file: Checked
    lines: tuple[Deviation, ...]
    missed: Mapping[str, str]
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


def quantities(verdict: Verdict) -> str:
    """Prints a line for every quantity, in the order of derivation."""
    followers = {name for first in verdict.firsts for name in first.follows}
    return "\n".join(table([HEADINGS, *(_row(verdict, line, followers) for line in verdict.lines)]))


def line_of(verdict: Verdict) -> str:
    """Prints a file in one line."""
    name, found = str(verdict.file.path), verdict.firsts
    if found:
        says = f"differs: {str(found[0]).splitlines()[0]} ({found[0].cause.value})"
    elif others := verdict.file.compared.others:
        says = f"differs in a formula: {others[0].cell}" + (f" and {len(others) - 1:,} more" if others[1:] else "")
    else:
        says = "not all compared" if verdict.missed else "agrees"
    compared = f"{len(verdict.lines):,} of {verdict.expected:,} quantities, {verdict.cells:,} cells"
    formulas = f"{verdict.file.compared.compared:,} of {verdict.file.compared.expected:,} formulas"
    return f"{name}  {says}  {compared}, largest difference {verdict.largest:.1e}, {formulas}"


def findings(verdict: Verdict) -> str:
    """Prints what deviates first, why, and what merely follows."""
    parts = list(map(_shown, verdict.firsts))
    if verdict.missed:
        named = "; ".join(f"{unquoted(name)}: {why}" for name, why in [*verdict.missed.items()][:MOST_MISSED])
        more = f"; and {len(verdict.missed) - MOST_MISSED} more" if len(verdict.missed) > MOST_MISSED else ""
        parts.append(f"not compared: {named}{more}")
    parts += _formulas(verdict)
    parts += [f"tie: {tie}" for tie in verdict.ties]
    if verdict.file.recalculated:
        parts.append(f"{verdict.file.path} held formulas without numbers: they were recalculated first, by ironcalc")
    return "\n".join(parts)


def _formulas(verdict: Verdict) -> Iterator[str]:
    """Says which formulas are not those of a fresh workbook, but for those that were named with their numbers."""
    compared, named = verdict.file.compared, {first.cell for first in verdict.firsts}
    rest = [other for other in compared.others if other.cell not in named]
    yield from map(str, rest[:MOST_FORMULAS])
    if len(compared.others) > MOST_FORMULAS:
        yield f"{len(compared.others):,} of {compared.compared:,} formulas are not those of a fresh workbook; the first are named"
    if compared.why:
        yield f"formulas were not compared with those of a fresh workbook: {compared.why}"
    elif compared.open:
        yield (
            f"{compared.open:,} of {compared.expected:,} formulas were not compared with those of a fresh workbook: rows, "
            "columns or sheets were added or deleted, so that it is not sure which cells they are, or read"
        )


def data(verdict: Verdict) -> dict[str, Any]:
    """Returns a verdict for programs."""
    file, compared = verdict.file, verdict.file.compared
    return {
        "file": str(file.path),
        "agrees": verdict.agrees,
        "cells": verdict.cells,
        "quantities_compared": len(verdict.lines),
        "quantities_expected": verdict.expected,
        "missed": [{"quantity": name, "why": why} for name, why in verdict.missed.items()],
        "largest": _number(verdict.largest),
        "recalculated": file.recalculated,
        "formulas": {
            "compared": compared.compared,
            "expected": compared.expected,
            "why_not": compared.why,
            "other": [other._asdict() for other in compared.others],
        },
        "ties": list(verdict.ties),
        "first": [
            {
                "quantity": first.name,
                "cell": first.cell,
                "sheet": _number(first.sheet),
                "torch": _number(first.witness),
                "cause": first.cause.value,
                "why": first.why,
                "likely": first.likely,
                "follows": list(first.follows),
            }
            for first in verdict.firsts
        ],
        "quantities": [_quantity(file, line) for line in verdict.lines],
    }


def _quantity(file: Checked, line: Deviation) -> dict[str, Any]:
    return {
        "quantity": line.name,
        "range": file.range(line.name),
        "cells": line.cells,
        "largest": _number(line.largest),
        "where": file.places[line.name].cell(line.at) if line.cells else "",
        "allowed": line.allowed,
        "agrees": line.agrees,
    }


def _number(value: float | str) -> float | str | None:
    """Returns a number or a word; None for what JSON has no number for, as the distance from a cell that shows an error."""
    return value if isinstance(value, str) or isfinite(value) else None


def _row(verdict: Verdict, line: Deviation, followers: set[str]) -> tuple[str, ...]:
    says = "agrees" if line.agrees else "follows" if line.name in followers else "DIFFERS"
    where = verdict.file.places[line.name].cell(line.at) if line.largest else ""
    return line.name, verdict.file.range(line.name), str(line.cells), f"{line.largest:.1e}", where, says


def _shown(first: First) -> str:
    """Prints what deviates, and names the first quantities that follow from it."""
    names = first.follows
    listed = ", ".join(names[:MOST_MISSED]) + (" …" if len(names) > MOST_MISSED else "")
    return f"{first}\n  {len(names)} quantities follow from it: {listed}" if names else str(first)


def _print(value: float | str) -> str:
    return f"“{unquoted(value)}”" if isinstance(value, str) else f"{value:.10g}"
