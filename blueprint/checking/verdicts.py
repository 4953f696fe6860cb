"""Verdicts: what a check of one file comes to, as records, as a table for people, and as plain data for programs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any

from blueprint.checking.causes import Cause
from blueprint.checking.checked_file import Checked
from blueprint.checking.deviations import Answer, Deviation
from blueprint.checking.recomputed import OfPage, Values
from blueprint.quoting import table, unquoted

MOST_MISSED = 6
"""Quantities that are named of those that were not compared; a line each would hide what else there is to say."""
MOST_FORMULAS = 10
"""Formulas that are named of those that are not as in a fresh workbook; `--json` names all."""
MOST_STALE = 3
"""Stored values that are told of those that are not what their formulas come to."""
HEADINGS = ("quantity", "stands at", "cells", "largest difference", "where", "verdict")


@dataclass(frozen=True)
class First:
    """A quantity that deviates without reading another one that does.

    follows: the deviating quantities that read it, directly or through others.
    likely: the mistake by which the quantity is what it is, "" if none is known. hidden: the witness's number is an answer
    that is not told.
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
    hidden: bool = False

    def __str__(self) -> str:
        shown = f"sheet {_print(self.sheet)}, torch {'says another number' if self.hidden else _print(self.witness)}"
        likely = f"\n  likely: {self.likely}" if self.likely else ""
        return f"{self.cell}: {self.what}: {shown}\n  {self.cause.value}: {self.why}{likely}"


@dataclass(frozen=True)
class Verdict:
    """What a check of one file came to.

    missed: quantities that should be compared, and why they could not be. ties: draws that fall on a boundary between two words.
    answers: what became of the blanks of a worksheet. values: the stored values that belong to no quantity.
    page: the results that one looks for, held against the paper's page.
    """

    file: Checked
    lines: tuple[Deviation, ...]
    missed: Mapping[str, str]
    firsts: tuple[First, ...]
    ties: tuple[str, ...]
    answers: tuple[Answer, ...] = ()
    values: Values = field(default_factory=Values)
    page: OfPage = field(default_factory=OfPage)

    def __repr__(self) -> str:
        """Says in a line or two what it comes to: a notebook shows it, and no arrays."""
        told = f"{self.file.path}: {'agrees' if self.agrees else 'DIFFERS'}, {len(self.lines)} of {self.expected} quantities"
        return f"<{told}, {self.cells} cells{''.join(f'; {first}' for first in self.firsts[:1])}>"

    @property
    def agrees(self) -> bool:
        """Whether every number agrees, every formula is that of a fresh workbook, every text is what its formula comes to, and
        the paper's page has the same results.

        A number that is not compared does not agree.
        """
        others = self.missed or self.file.compared.others or self.values.stale or self.page.differing
        return not others and all(line.agrees for line in self.lines)

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
        """The largest difference of all that are told."""
        return max((line.largest for line in self.lines if not isnan(line.largest)), default=0.0)


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
    elif stale := verdict.values.stale:
        says = f"shows what no formula comes to: {stale[0].cell}" + (
            f" and {len(stale) - 1:,} more" if stale[1:] else ""
        )
    elif differing := verdict.page.differing:
        says = f"differs from the paper's page: {differing[0].name}"
    else:
        says = "not all compared" if verdict.missed else "agrees"
        says += " so far" if verdict.file.blanks.empty and not verdict.missed else ""
    compared = f"{len(verdict.lines):,} of {verdict.expected:,} quantities, {verdict.cells:,} cells"
    formulas = f"{verdict.file.compared.compared:,} of {verdict.file.compared.expected:,} formulas"
    formulas += f", {verdict.values.compared:,} other stored values" if verdict.values.compared else ""
    formulas += (
        f", {lines - len(verdict.page.differing) - len(verdict.page.ended)} of {lines} results of the paper's page"
        if (lines := len(verdict.page.lines))
        else ""
    )
    blanks = f", {blanks_of(verdict)}" if verdict.answers else ""
    return f"{name}  {says}  {compared}, largest difference {verdict.largest:.1e}, {formulas}{blanks}"


def blanks_of(verdict: Verdict) -> str:
    """Counts the blanks of a worksheet: `5 of 12 blanks filled in: 4 right, 1 wrong`."""
    says = [answer.says for answer in verdict.answers]
    told = {word: says.count(word) for word in ("agrees", "differs", "carried")}
    words = {"agrees": "right", "differs": "wrong", "carried": "right for what stands before"}
    filled = f"{len(says) - says.count('not filled in')} of {len(says)} blanks filled in"
    found = ", ".join(f"{count} {words[word]}" for word, count in told.items() if count)
    return f"{filled}: {found}" if found else filled


def findings(verdict: Verdict) -> str:
    """Prints what deviates first, why, and what merely follows."""
    parts = [*_blanks(verdict), *map(_shown, verdict.firsts)]
    if verdict.missed:
        named = "; ".join(f"{unquoted(name)}: {why}" for name, why in [*verdict.missed.items()][:MOST_MISSED])
        more = f"; and {len(verdict.missed) - MOST_MISSED} more" if len(verdict.missed) > MOST_MISSED else ""
        parts.append(f"not compared: {named}{more}")
    parts += [*_formulas(verdict), *_stale(verdict), *_page(verdict)]
    parts += [f"tie: {tie}" for tie in verdict.ties]
    if verdict.file.recalculated:
        parts.append(f"{verdict.file.path} held formulas without numbers: they were recalculated first, by ironcalc")
    return "\n".join(parts)


def _blanks(verdict: Verdict) -> Iterator[str]:
    """Says what waits, and with what that is compared which goes on with an answer."""
    blanks = verdict.file.blanks
    if blanks.waiting:
        one, more = (
            "cell waits for a blank that is not filled in: it neither agrees nor deviates",
            "cells wait for a blank that is not filled in: they neither agree nor deviate",
        )
        wait = one if len(blanks.waiting) == 1 else more
        yield f"{len(blanks.waiting):,} {wait}"
    if going_on := len(blanks.behind - blanks.waiting):
        goes_on = (
            "cell goes on with what was filled in, and is"
            if going_on == 1
            else "cells go on with what was filled in, and are"
        )
        yield f"{going_on:,} {goes_on} compared with what the definitions make of that"


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


def _stale(verdict: Verdict) -> Iterator[str]:
    """Says which stored values are not those of their formulas."""
    stale = verdict.values.stale
    yield from map(str, stale[:MOST_STALE])
    if more := len(stale[MOST_STALE:]):
        yield f"{more:,} more stored values are not those of their formulas; open and save the file in a spreadsheet program"
    if verdict.values.why:
        yield f"stored values of texts and watches were not compared: {verdict.values.why}"


def _page(verdict: Verdict) -> Iterator[str]:
    """Says which results the equations of the workbook have otherwise than the paper's page."""
    for line in verdict.page.differing[:MOST_STALE]:
        yield f"{line.name}: the workbook's equations and the paper's page differ by {line.largest:.1e}: a definition is wrong"
    if more := len(verdict.page.differing[MOST_STALE:]):
        yield f"{more:,} more results differ from the paper's page"
    if ended := verdict.page.ended:
        yield (
            f"{len(ended)} results, {ended[0]} first, are not compared with the paper's page: by N − 1 a single token has no "
            "variance, and the page no number; the workbook divides by 1 there"
        )


def _row(verdict: Verdict, line: Deviation, followers: set[str]) -> tuple[str, ...]:
    says = "agrees" if line.agrees else "follows" if line.name in followers else "DIFFERS"
    says = f"{says}, {line.open} wait" if line.cells and line.open else says if line.cells or not line.open else "waits"
    where = verdict.file.places[line.name].cell(line.at) if line.largest else ""
    largest = "not told" if isnan(line.largest) else f"{line.largest:.1e}"
    return line.name, verdict.file.range(line.name), str(line.cells), largest, where, says


def _shown(first: First) -> str:
    """Prints what deviates, and names the first quantities that follow from it."""
    names = first.follows
    listed = ", ".join(names[:MOST_MISSED]) + (" …" if len(names) > MOST_MISSED else "")
    return f"{first}\n  {len(names)} quantities follow from it: {listed}" if names else str(first)


def _print(value: float | str) -> str:
    return f"“{unquoted(value)}”" if isinstance(value, str) else f"{value:.10g}"


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
        "largest": _number_data(verdict.largest),
        "recalculated": file.recalculated,
        "blanks": [_blank_data(answer) for answer in verdict.answers],
        "waiting": len(file.blanks.waiting),
        "formulas": {
            "compared": compared.compared,
            "expected": compared.expected,
            "why_not": compared.why,
            "other": [other._asdict() for other in compared.others],
        },
        "values": {
            "compared": verdict.values.compared,
            "why_not": verdict.values.why,
            "stale": [stale._asdict() for stale in verdict.values.stale],
        },
        "page": {
            "why_not": verdict.page.why,
            "results": [
                {"result": line.name, "largest": _number_data(line.largest), "agrees": line.agrees}
                for line in verdict.page.lines
            ],
        },
        "ties": list(verdict.ties),
        "first": [
            {
                "quantity": first.name,
                "cell": first.cell,
                "sheet": _number_data(first.sheet),
                "torch": None if first.hidden else _number_data(first.witness),
                "cause": first.cause.value,
                "why": first.why,
                "likely": first.likely,
                "follows": list(first.follows),
            }
            for first in verdict.firsts
        ],
        "quantities": [_quantity_data(file, line) for line in verdict.lines],
    }


def _quantity_data(file: Checked, line: Deviation) -> dict[str, Any]:
    return {
        "quantity": line.name,
        "range": file.range(line.name),
        "cells": line.cells,
        "open": line.open,
        "largest": _number_data(line.largest),
        "where": file.places[line.name].cell(line.at) if line.cells else "",
        "allowed": line.allowed,
        "agrees": line.agrees,
    }


def _number_data(value: float | str) -> float | str | None:
    """Returns a number or a word; None for what JSON has no number for, as the distance from a cell that shows an error."""
    return value if isinstance(value, str) or isfinite(value) else None


def _blank_data(answer: Answer) -> dict[str, Any]:
    return {"blank": answer.blank, "cells": list(answer.cells), "empty": answer.empty, "says": answer.says}
