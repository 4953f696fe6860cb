"""A verdict as plain data, for programs."""

from math import isfinite
from typing import Any

from blueprint.checking.blanks import Answer
from blueprint.checking.deviations import Deviation
from blueprint.checking.files import Checked
from blueprint.checking.verdicts import Verdict


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
        "blanks": [_blank(answer) for answer in verdict.answers],
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
                {"result": line.name, "largest": _number(line.largest), "agrees": line.agrees}
                for line in verdict.page.lines
            ],
        },
        "ties": list(verdict.ties),
        "first": [
            {
                "quantity": first.name,
                "cell": first.cell,
                "sheet": _number(first.sheet),
                "torch": None if first.hidden else _number(first.witness),
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
        "open": line.open,
        "largest": _number(line.largest),
        "where": file.places[line.name].cell(line.at) if line.cells else "",
        "allowed": line.allowed,
        "agrees": line.agrees,
    }


def _number(value: float | str) -> float | str | None:
    """Returns a number or a word; None for what JSON has no number for, as the distance from a cell that shows an error."""
    return value if isinstance(value, str) or isfinite(value) else None


def _blank(answer: Answer) -> dict[str, Any]:
    return {"blank": answer.blank, "cells": list(answer.cells), "empty": answer.empty, "says": answer.says}
