"""Measures the sheets of a finished workbook: in pixels on a screen, and by how much they shrink on paper."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from functools import cache

from tests.page.finished import MAIN, NUMBER_ROW, Area, Finished, area

PAPER = {"landscape": (11.69, 8.27), "portrait": (8.27, 11.69)}
"""A4 in inches."""
HEADERS = 34, 20
"""Pixels that the numbers of rows and the letters of columns take on paper."""
GROUPS = 16
PIXELS_PER_INCH = 96
STANDARD_WIDTH, STANDARD_HEIGHT = 8.43, 20
PIXELS_PER_LETTER, PADDING = 7, 5
DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"


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
    """Returns how many pixels high the first rows are together, without those that are folded; a point is 4/3 of a pixel."""
    known = [row.attrib for row in root.iter(f"{MAIN}row")]
    set_to = {int(row["r"]): float(row["ht"]) * 4 / 3 for row in known if "ht" in row}
    set_to |= {int(row["r"]): 0 for row in known if row.get("hidden") == "1"}
    return round(sum(set_to.get(row, STANDARD_HEIGHT) for row in range(1, rows + 1)))


def scale(file: Finished, sheet: str) -> float:
    """Returns by how much a program shrinks a sheet: by the scale that is set, or so that its area fits on one page of A4."""
    setup, margins = only(file.sheets[sheet], "pageSetup"), only(file.sheets[sheet], "pageMargins")
    if "fitToPage" not in fitted(file, sheet):
        return int(setup.get("scale", "100")) / 100
    area, (across, down) = print_areas(file)[sheet], PAPER[setup["orientation"]]
    wide = (across - float(margins["left"]) - float(margins["right"])) * PIXELS_PER_INCH
    high = (down - float(margins["top"]) - float(margins["bottom"])) * PIXELS_PER_INCH
    root = file.sheets[sheet]
    return min(1.0, wide / (width(root, 1, area.right) + HEADERS[0]), high / (height(root, area.bottom) + HEADERS[1]))


def fitted(file: Finished, sheet: str) -> dict[str, str]:
    """Returns what a sheet says of fitting it to its paper."""
    found = next(file.sheets[sheet].iter(f"{MAIN}pageSetUpPr"), None)
    return {} if found is None else dict(found.attrib)


def breaks(root: ET.Element, kind: str) -> list[int]:
    """Returns the rows ("row") or columns ("col") behind which a page ends, counted from 1."""
    found = next(root.iter(f"{MAIN}{kind}Breaks"), None)
    return [] if found is None else [int(each.attrib["id"]) for each in found]


@cache
def print_areas(file: Finished) -> dict[str, Area]:
    """Returns what is printed of each sheet."""
    names = file.xml("xl/workbook.xml").iter(f"{MAIN}definedName")
    areas = [area(name.text or "") for name in names if name.attrib["name"] == "_xlnm.Print_Area"]
    return {each.sheet: each for each in areas}


def starts(file: Finished) -> list[int]:
    """Returns the columns at which episodes begin, counted from 1."""
    page = next(page for page in file.shown if page.cell(NUMBER_ROW - 1, GROUPS).value == "Episode 1")
    heads = {cell.column: str(cell.value) for cell in page[NUMBER_ROW - 1] if cell.value}
    return [column for column, head in heads.items() if head.startswith("Episode")]


def hung(file: Finished) -> list[tuple[int, int, int]]:
    """Returns the first and last row and the last column of every chart on the sheet Charts, counted from 1."""
    (drawing,) = file.related(file.sheet_parts["Charts"], "drawing")
    places = []
    for anchor in file.xml(drawing):
        ends = {end: anchor.find(f"{DRAWN}{end}") for end in ("from", "to")}
        rows = {end: int(each.findtext(f"{DRAWN}row", "")) + 1 for end, each in ends.items() if each is not None}
        right = anchor.findtext(f"{DRAWN}to/{DRAWN}col", "")
        places.append((rows["from"], rows["to"], int(right) + 1))
    return places
