"""Reads the colours of a finished workbook's cells and conditional formats, and how they stand out from each other."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from tests.page.finished import MAIN, Area, Finished, area

WHITE = "FFFFFF"


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2.1, of a colour such as 1F3864."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.1, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class Look(NamedTuple):
    """A font's colour on a fill."""

    font: str
    fill: str


class Rule(NamedTuple):
    """A conditional format: where it holds, when, and the colours that it sets ("" where it sets none)."""

    sheet: str
    cells: list[Area]
    kind: str
    formula: str
    font: str
    fill: str


class Styles:
    """The colours of a workbook's cells, by the number of their format."""

    def __init__(self, file: Finished):
        self.file = file
        self.root = file.xml("xl/styles.xml")
        self.dark = self.of_theme("dk1")
        fonts = [self.colour(font.find(f"{MAIN}color")) or self.dark for font in self.all("fonts")]
        fills = [self.fill(fill, "fgColor") or WHITE for fill in self.all("fills")]
        self.looks = [Look(fonts[int(x.attrib["fontId"])], fills[int(x.attrib["fillId"])]) for x in self.all("cellXfs")]

    def all(self, name: str) -> list[ET.Element]:
        """Returns the entries of a list in the part of styles."""
        found = self.root.find(f"{MAIN}{name}")
        return [] if found is None else list(found)

    def of_theme(self, name: str) -> str:
        """Returns a colour of the theme."""
        theme = self.file.parts["xl/theme/theme1.xml"].decode()
        found = re.search(rf'<a:{name}>.*?(?:lastClr|srgbClr val)="(\w{{6}})"', theme)
        assert found is not None
        return found[1]

    def colour(self, element: ET.Element | None) -> str:
        """Returns a colour, "" where none is set; of the palettes only those that these workbooks use are known."""
        given = {} if element is None else element.attrib
        if "rgb" in given:
            return given["rgb"][-6:]
        assert set(given.items()) <= {("theme", "1"), ("indexed", "81")}, given
        return self.dark if given else ""

    def fill(self, fill: ET.Element, solid: str) -> str:
        """Returns the colour of a fill; conditional formats keep it in another place than cells."""
        pattern = fill.find(f"{MAIN}patternFill")
        assert pattern is not None
        assert pattern.attrib.get("patternType", "solid") in ("none", "gray125", "solid")
        return self.colour(pattern.find(f"{MAIN}{solid}"))

    def used(self, sheet: str) -> dict[tuple[int, int], Look]:
        """Returns the look of every cell of a sheet that is written or dressed."""
        cells = self.file.sheets[sheet].iter(f"{MAIN}c")
        found = ((area(cell.attrib["r"]), int(cell.attrib.get("s", 0))) for cell in cells)
        return {(at.top, at.left): self.looks[style] for at, style in found}

    @cached_property
    def rules(self) -> list[Rule]:
        """The conditional formats."""
        return list(self._rules())

    def _rules(self) -> Iterator[Rule]:
        dxfs = self.all("dxfs")
        for sheet, root in self.file.sheets.items():
            for element in root.iter(f"{MAIN}conditionalFormatting"):
                cells = [area(part, sheet) for part in element.attrib["sqref"].split()]
                for rule in element.iter(f"{MAIN}cfRule"):
                    dxf = dxfs[int(rule.attrib["dxfId"])]
                    font, fill = dxf.find(f"{MAIN}font/{MAIN}color"), dxf.find(f"{MAIN}fill")
                    colours = self.colour(font), "" if fill is None else self.fill(fill, "bgColor")
                    yield Rule(sheet, cells, rule.attrib["type"], rule.findtext(f"{MAIN}formula") or "", *colours)
