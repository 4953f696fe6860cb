"""The writer's sheet, for formulas that every spreadsheet program knows."""

from __future__ import annotations

from xlsxwriter.worksheet import Worksheet


class PlainSheet(Worksheet):  # type: ignore[misc]
    """A sheet whose formulas are written as they are."""

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        """Takes the sign = off; the writer would also look for each of 29 newer functions, a third of the time of a build."""
        return formula.removeprefix("=")
