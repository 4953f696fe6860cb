"""The columns, the same on every sheet, so that one column is one member of one group throughout the workbook.

A margin · B symbol · C name · D … M weights or the equation · N single numbers · O gap ·
from P on the groups: start, 1 … T, end, Σ, gap.
"""

from __future__ import annotations

from functools import cache

SYMBOL, NAME, LEFT = 1, 2, 3
LEFT_COLUMNS = 10
SINGLE = LEFT + LEFT_COLUMNS
GROUPS = SINGLE + 2
AROUND = 4
"""Columns of a group besides its members: start, end, Σ and a gap."""

LAST_COLUMN = 16_384
LONGEST_RUN = 64
"""Above about a hundred cells of one formula below each other LibreOffice computes wrong numbers, silently."""

TITLE_ROW, LEAD_ROW, BANNER_ROW, NUMBER_ROW = 0, 1, 2, 3


def stride(members: int) -> int:
    """Returns the width of one group."""
    return members + AROUND


def start_column(group: int, members: int) -> int:
    """Returns the column before the first member of a group (0-based)."""
    return GROUPS + group * stride(members)


def sum_column(group: int, members: int) -> int:
    """Returns the Σ column of a group."""
    return start_column(group, members) + members + 2


@cache
def letters(column: int) -> str:
    """Returns the letters of a 0-based column: 0 → A, 26 → AA."""
    text = ""
    column += 1
    while column:
        column, digit = divmod(column - 1, 26)
        text = chr(ord("A") + digit) + text
    return text


def quoted(sheet: str) -> str:
    """Returns a sheet's name as formulas write it."""
    plain = sheet.isidentifier() and sheet.isascii()
    return sheet if plain else "'" + sheet.replace("'", "''") + "'"
