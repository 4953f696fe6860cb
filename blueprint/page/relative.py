"""Relative form: how a formula would read if it were copied to another cell. Equal formulas of a row read the same."""

from __future__ import annotations

from openpyxl.formula.translate import Translator


def as_seen_from(formula: str, origin: str, cell: str) -> str:
    """Returns the formula of the cell `origin` as it would read in `cell`, as if it were copied there."""
    return str(Translator(formula, origin=origin).translate_formula(cell))
