"""Measures whether what a cell shows has room: numbers in their own column, texts in theirs and the empty ones beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from openpyxl.cell.cell import Cell
from xlsxwriter.utility import xl_pixel_width

from tests.page.workshop import opened

# Pixels of Calibri 11, in which a column's width is counted: 7 to the digit and 5 around them.
PIXELS_PER_LETTER, PADDING, MEASURED_AT = 7, 5, 11
BOLD = 1.06
"""How much wider bold letters are, measured roughly and upwards."""
OWN = ("Delivered", "Contents")
LINE_PIXELS = 17
"""How high a line of ten points is."""
SAID_BEFORE = re.compile(r'"?([^"]*?)"?(?:\* )?(?:_-)?((?:[−-]?[#0.,%E+-]+|General)?(?:_-)?)')
"""A number format: what is said before the digits, which a sign * may push to the left, and the digits."""
CONDITION = re.compile(r"\[([<>]=)(-?[\d.]+)\]")


class Clipped(NamedTuple):
    """A cell that shows less than it holds, or ####: what it shows, how wide that is and how wide its room, in pixels."""

    sheet: str
    cell: str
    text: str
    needs: int
    has: int


def clipped(path: Path, *titles: str) -> Iterator[Clipped]:
    """Yields every cell of a workbook, or of some of its sheets, that has too little room."""
    file = opened(path)
    for page in (file[title] for title in file.sheetnames if not titles or title in titles):
        widths = _widths(page)
        merged = {(area.min_row, area.min_col): area.max_col for area in page.merged_cells.ranges}
        for row in page.iter_rows():
            fold = page.row_dimensions[row[0].row]
            if fold.hidden and not fold.outlineLevel:
                continue  # hidden for good: how the page is made, not what is read
            filled = {cell.column for cell in row if cell.value not in (None, "")}
            for cell in row:
                if cell.column in filled and not cell.alignment.wrap_text:
                    needs, has = needed(cell), int(_room(cell, filled, widths, merged.get((cell.row, cell.column))))
                    if needs > has:
                        yield Clipped(page.title, cell.coordinate, shown(cell), needs, has)


def centred(path: Path, title: str) -> Iterator[Clipped]:
    """Yields every centred text of a sheet that is wider than its cell: beside numbers it would be cut at both ends."""
    page = opened(path)[title]
    widths = _widths(page)
    merged = {(area.min_row, area.min_col): area.max_col for area in page.merged_cells.ranges}
    for cell in (cell for row in page.iter_rows() for cell in row):
        if isinstance(cell.value, str) and cell.alignment.horizontal == "center":
            last = merged.get((cell.row, cell.column), cell.column)
            has = int(sum(widths.get(column, 0) for column in range(cell.column, last + 1)))
            if needed(cell) - 2 > has:  # the edges of a cell may be touched
                yield Clipped(title, cell.coordinate, shown(cell), needed(cell), has)


def _widths(page: Any) -> dict[int, float]:
    found = {}
    for each in page.column_dimensions.values():
        for column in range(each.min, each.max + 1):
            found[column] = each.width * PIXELS_PER_LETTER + PADDING
    return found


def _room(cell: Cell, filled: set[int], widths: dict[int, float], merged: int | None) -> float:
    """Returns the pixels that a cell may fill: a number its own column, a text all the empty ones on its open sides."""
    standard = 8.43 * PIXELS_PER_LETTER + PADDING
    room = sum(widths.get(column, standard) for column in range(cell.column, (merged or cell.column) + 1))
    if not isinstance(cell.value, str):
        return room
    side = cell.alignment.horizontal
    left = side in ("right", "center")
    right = side in (None, "general", "left", "center")
    column = cell.column
    while right and (column := column + 1) not in filled and column < cell.column + 40:
        room += widths.get(column, standard)
    column = cell.column
    while left and (column := column - 1) not in filled and column > 0:
        room += widths.get(column, standard)
    return room


def needed(cell: Cell) -> int:
    scale = cell.font.sz / MEASURED_AT * (BOLD if cell.font.b else 1)
    return int(xl_pixel_width(shown(cell)) * scale + 2 + 7 * (cell.alignment.indent or 0))


def shown(cell: Cell) -> str:
    value = cell.value
    if isinstance(value, str):
        return value
    code = _section(cell.number_format, value)
    before, code = SAID_BEFORE.fullmatch(code).groups()  # type: ignore[union-attr]
    if not code:
        return before
    if code == "General":
        return f"{value:.10g}"
    if "E" in code:
        return f"{value:.0E}" if value else "0"
    fixed, optional = code.count("0") - 1, code.count("#")
    text = f"{value:.{fixed + optional}f}"
    kept = len(text) - (len(text) - len(text.rstrip("0")) if optional else 0)
    return before + text[: max(kept, len(text) - optional)]


def _section(number_format: str, value: float) -> str:
    """Returns the part of a number format that shows a value: by its condition, or the third one for 0, else the first."""
    first, *others = number_format.split(";")
    if found := CONDITION.match(first):
        limit, rest = float(found[2]), first[found.end() :]
        return rest if (value >= limit if found[1] == ">=" else value <= limit) else others[0]
    return others[1] if value == 0 and len(others) > 1 else first


def wrapped(path: Path) -> Iterator[Clipped]:
    """Yields every equation that is broken into lines in its cell: how high its lines are, and how high its row."""
    file = opened(path)
    for page in (file[title] for title in file.sheetnames if title not in OWN):
        widths = _widths(page)
        for cell in (cell for row in page.iter_rows(min_col=4, max_col=4) for cell in row):
            if isinstance(cell.value, str) and cell.alignment.wrap_text:
                needs = LINE_PIXELS * _lines(cell, widths[4] - 2 * PADDING)
                yield Clipped(
                    page.title, cell.coordinate, shown(cell), needs, int(page.row_dimensions[cell.row].height * 4 / 3)
                )


def _lines(cell: Cell, room: float) -> int:
    """Returns into how many lines a cell's words fall."""
    letters = needed(cell) / max(1, len(shown(cell)))
    lines, used = 1, 0.0
    for word in shown(cell).split(" "):
        wide = letters * (len(word) + 1)
        lines, used = (lines, used + wide) if used + wide <= room else (lines + 1, wide)
    return lines
