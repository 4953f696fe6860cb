"""Measures the sheets of a finished workbook: in pixels on a screen, and by how much they shrink on paper."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from functools import cache

from tests.page.finished import MAIN, Area, Finished, area

A4_INCHES = 11.69
PIXELS_PER_INCH = 96
STANDARD_WIDTH, STANDARD_HEIGHT = 8.43, 20
PIXELS_PER_LETTER, PADDING = 7, 5


@cache
def print_titles(file: Finished) -> dict[str, dict[str, Area]]:
    """Returns, by sheet, the "rows" and the "columns" that every page repeats."""
    found: dict[str, dict[str, Area]] = {}
    sheets = list(file.sheets)
    for name in file.xml("xl/workbook.xml").iter(f"{MAIN}definedName"):
        if name.attrib["name"] == "_xlnm.Print_Titles":
            parts = re.findall(r"(?:'[^']*'|\w+)!\$\w+:\$\w+", name.text or "")
            kinds = {"columns" if part[-1].isalpha() else "rows": area(part) for part in parts}
            assert {part.sheet for part in kinds.values()} == {sheets[int(name.attrib["localSheetId"])]}
            found[sheets[int(name.attrib["localSheetId"])]] = kinds
    return found


def only(root: ET.Element, tag: str) -> dict[str, str]:
    """Returns the attributes of the one element of a sheet with a tag."""
    (found,) = root.iter(f"{MAIN}{tag}")
    return dict(found.attrib)


def pixels(root: ET.Element) -> dict[int, int]:
    """Returns the widths of a sheet's columns that are set; the file holds letters and padding together."""
    found = {}
    for column in root.iter(f"{MAIN}col"):
        for number in range(int(column.attrib["min"]), int(column.attrib["max"]) + 1):
            found[number] = round(float(column.attrib["width"]) * PIXELS_PER_LETTER)
    return found


def width(root: ET.Element, first: int, last: int) -> int:
    """Returns how many pixels wide some columns are together."""
    standard = round(STANDARD_WIDTH * PIXELS_PER_LETTER) + PADDING
    return sum(pixels(root).get(column, standard) for column in range(first, last + 1))


def height(root: ET.Element, rows: int) -> int:
    """Returns how many pixels high the first rows are together; a point is 4/3 of a pixel."""
    set_to = {
        int(row.attrib["r"]): float(row.attrib["ht"]) * 4 / 3 for row in root.iter(f"{MAIN}row") if "ht" in row.attrib
    }
    return round(sum(set_to.get(row, STANDARD_HEIGHT) for row in range(1, rows + 1)))


def scale(file: Finished, sheet: str) -> float:
    """Returns by how much a program shrinks a sheet, so that it fits on as many pages side by side as it asks for."""
    root = file.sheets[sheet]
    last = max(cell.column for row in file.shown[sheet].iter_rows() for cell in row if cell.value is not None)
    repeated = print_titles(file)[sheet].get("columns")
    again = 0 if repeated is None else width(root, 1, repeated.right)
    margins = only(root, "pageMargins")
    paper = (A4_INCHES - float(margins["left"]) - float(margins["right"])) * PIXELS_PER_INCH
    pages = int(only(root, "pageSetup").get("fitToWidth", "1"))
    return min(1.0, pages * paper / (width(root, 1, last) + (pages - 1) * again))
