"""The columns, the same on every sheet, so that one column is one member of one group throughout the workbook.

A margin · B symbol · C name · D … M weights or the equation · N single numbers · O gap ·
from P on the groups: start, 1 … T, end, Σ, gap.
"""

from functools import cache

SYMBOL, NAME, LEFT = 1, 2, 3
LEFT_COLUMNS = 10
SINGLE = LEFT + LEFT_COLUMNS
GROUPS = SINGLE + 2
AROUND = 4
"""Columns of a group besides its members: start, end, Σ and a gap."""

LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
"""Where every sheet ends, in every spreadsheet program."""
LONGEST_RUN = 64
"""Above about a hundred cells of one formula below each other LibreOffice computes wrong numbers, silently."""

TITLE_ROW, LEAD_ROW, BANNER_ROW, NUMBER_ROW = 0, 1, 2, 3


def stride(members: int) -> int:
    """Returns the width of one group."""
    return members + AROUND


def start_column(group: int, members: int) -> int:
    """Returns the column before the first member of a group (0-based)."""
    return GROUPS + group * stride(members)


@cache
def letters(column: int) -> str:
    """Returns the letters of a 0-based column: 0 → A, 26 → AA."""
    before, last = divmod(column, 26)
    return (letters(before - 1) if before else "") + chr(ord("A") + last)


@cache
def column_of(named: str) -> int:
    """Returns the 0-based column of its letters: A → 0, aa → 26."""
    number = 0
    for letter in named.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def address(row: int, column: int, fixed: bool = False) -> str:
    """Returns the address of a 0-based cell: B3, or $B$3 if it is fixed."""
    mark = "$" * fixed
    return f"{mark}{letters(column)}{mark}{row + 1}"


def area(top: int, left: int, bottom: int, right: int, fixed: bool = False) -> str:
    """Returns the range between two 0-based cells: B3:D9; of a single cell its address."""
    first, last = address(top, left, fixed), address(bottom, right, fixed)
    return first if first == last else f"{first}:{last}"


def quoted(sheet: str) -> str:
    """Returns a sheet's name as formulas write it."""
    return sheet if sheet.isidentifier() and sheet.isascii() else "'" + sheet.replace("'", "''") + "'"


def unquoted(sheet: str) -> str:
    """Returns a sheet's name from the way in which formulas write it."""
    return sheet[1:-1].replace("''", "'") if sheet.startswith("'") else sheet
