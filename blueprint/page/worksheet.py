"""The writer's sheet: formulas and typed values are written as what they are; the writer would look for more in them."""

from __future__ import annotations

from typing import Any

from xlsxwriter.worksheet import Worksheet


class PlainSheet(Worksheet):  # type: ignore[misc]
    """A sheet whose formulas are written as they are."""

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        """Takes the sign = off; the writer would also look for each of 29 newer functions, a third of the time of a build."""
        return formula.removeprefix("=")


def put(page: Any, row: int, column: int, value: float | str, look: Any) -> None:
    """Writes a word as a word and a number as a number; "" and NaN leave the cell blank, with its look."""
    if value == "" or value != value:
        page.write_blank(row, column, None, look)
    elif isinstance(value, str):
        page.write_string(row, column, value, look)
    else:
        page.write_number(row, column, value, look)
