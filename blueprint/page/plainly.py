"""Puts typed values into cells as what they are; the writer's own `write` guesses.

XlsxWriter 3.2.0 makes a live array formula of the word `{=1+1}`, whatever its options say of strings.
"""

from __future__ import annotations

from typing import Any


def put(page: Any, row: int, column: int, value: float | str, look: Any) -> None:
    """Writes a word as a word and a number as a number; "" and NaN leave the cell blank, with its look."""
    if value == "" or value != value:
        page.write_blank(row, column, None, look)
    elif isinstance(value, str):
        page.write_string(row, column, value, look)
    else:
        page.write_number(row, column, value, look)
