"""Reports: a verdict as a table for people, or as plain data for programs."""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from blueprint.checking.deviations import Deviation
from blueprint.checking.verdicts import Verdict
from blueprint.quoting import unquoted

MOST_MISSED = 6
"""Quantities that are named of those that were not compared; a line each would hide what else there is to say."""
MOST_FORMULAS = 10
"""Formulas that are named of those that are not as in a fresh workbook; `--json` names all."""
HEADINGS = ("quantity", "stands at", "cells", "largest difference", "where", "verdict")


def table(verdict: Verdict) -> str:
    """Prints a line for every quantity, in the order of derivation."""
    followers = {name for first in verdict.firsts for name in first.follows}
    rows = [_row(verdict, line, followers) for line in verdict.lines]
    widths = [max(len(row[i]) for row in (HEADINGS, *rows)) for i in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (HEADINGS, *rows)
    )


def line_of(verdict: Verdict) -> str:
    """Prints a file in one line."""
    name, found = str(verdict.file.path), verdict.firsts
    if found:
        says = f"differs: {str(found[0]).splitlines()[0]} ({found[0].cause.cause.value})"
    elif others := verdict.file.compared.others:
        says = f"differs in a formula: {others[0].cell}" + (f" and {len(others) - 1:,} more" if others[1:] else "")
    else:
        says = "not all compared" if verdict.missed else "agrees"
    compared = f"{len(verdict.lines):,} of {verdict.expected:,} quantities, {verdict.cells:,} cells"
    formulas = f"{verdict.file.compared.compared:,} of {verdict.file.compared.expected:,} formulas"
    return f"{name}  {says}  {compared}, largest difference {verdict.largest:.1e}, {formulas}"


def told(verdict: Verdict) -> str:
    """Prints what deviates first, why, and what merely follows."""
    parts = []
    for first in verdict.firsts:
        follows = f"\n  {len(first.follows)} quantities follow from it: {_some(first.follows)}" if first.follows else ""
        parts.append(f"{first}{follows}")
    if verdict.missed:
        told = "; ".join(f"{unquoted(name)}: {why}" for name, why in verdict.missed[:MOST_MISSED])
        more = f"; and {len(verdict.missed) - MOST_MISSED} more" if len(verdict.missed) > MOST_MISSED else ""
        parts.append(f"not compared: {told}{more}")
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
    return {
        "file": str(verdict.file.path),
        "agrees": verdict.agrees,
        "cells": verdict.cells,
        "quantities_compared": len(verdict.lines),
        "quantities_expected": verdict.expected,
        "missed": [{"quantity": name, "why": why} for name, why in verdict.missed],
        "largest": _number(verdict.largest),
        "recalculated": verdict.file.recalculated,
        "formulas": {
            "compared": verdict.file.compared.compared,
            "expected": verdict.file.compared.expected,
            "why_not": verdict.file.compared.why,
            "other": [other._asdict() for other in verdict.file.compared.others],
        },
        "ties": list(verdict.ties),
        "first": [
            {
                "quantity": first.name,
                "cell": first.cell,
                "sheet": _number(first.sheet),
                "torch": _number(first.witness),
                "cause": first.cause.cause.value,
                "why": first.cause.why,
                "follows": list(first.follows),
            }
            for first in verdict.firsts
        ],
        "quantities": [_quantity(verdict, line) for line in verdict.lines],
    }


def _number(value: float | str) -> float | str | None:
    """Returns a number or a word; None for what JSON has no number for, as the distance from a cell that shows an error."""
    return value if isinstance(value, str) or isfinite(value) else None


def _quantity(verdict: Verdict, line: Deviation) -> dict[str, Any]:
    where = verdict.file.places[line.name].cell(line.at) if line.cells else ""
    return {
        "quantity": line.name,
        "range": verdict.file.range(line.name),
        "cells": line.cells,
        "largest": _number(line.largest),
        "where": where,
        "allowed": line.allowed,
        "agrees": line.agrees,
    }


def _row(verdict: Verdict, line: Deviation, followers: set[str]) -> tuple[str, ...]:
    says = "agrees" if line.agrees else "follows" if line.name in followers else "DIFFERS"
    where = verdict.file.places[line.name].cell(line.at) if line.largest else ""
    return line.name, verdict.file.range(line.name), str(line.cells), f"{line.largest:.1e}", where, says


def _some(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")
