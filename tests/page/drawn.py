"""Reads the charts of a finished workbook: what is drawn over what, and from which cells."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import NamedTuple

from tests.page.finished import Area, Areas, Finished, areas

C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"

CLIP, ADVANTAGE, GAE, NEXT, PARTS = KINDS = (
    "Clip",
    "Advantage",
    "How far ahead GAE looks",
    "Next token",
    "Where the total loss",
)
"""How the titles begin."""
KEYS = ("val", "formatCode")
HUNG = {"default": [CLIP, ADVANTAGE, GAE, NEXT, PARTS], "very-very-sleepy": [CLIP, ADVANTAGE, GAE]}


class Series(NamedTuple):
    """One series: what the legend calls it (a text, or the cell that holds it), its places and its values.

    side: on which side of a dot its label stands (t, b, r, l). number: the format of the numbers at bars.
    """

    name: str
    over: Area | Areas
    values: Area | Areas
    side: str
    number: str


class Chart(NamedTuple):
    """A chart as the file has it; `low` and `high` are the ends of its first axis where they are fixed."""

    title: str
    kind: str
    series: list[Series]
    low: float | None
    high: float | None
    unnamed: set[int]


def text_in(element: ET.Element, tags: str) -> str:
    """Returns the text of the first element at the end of a path of tags, "" if there is none."""
    found = element.find("/".join(f"{C}{tag}" for tag in tags.split("/")))
    return "" if found is None else found.text or ""


def _series(element: ET.Element) -> Series:
    scatter = element.find(f"{C}xVal") is not None
    over, values = ("xVal", "yVal") if scatter else ("cat", "val")
    words = "strRef" if element.find(f"{C}{over}/{C}strRef") is not None else "numRef"
    name = text_in(element, "tx/strRef/f") or text_in(element, "tx/v")
    cells = (text_in(element, f"{over}/{words}/f"), text_in(element, f"{values}/numRef/f"))
    look = [element.find(f"{C}dLbls/{C}{tag}") for tag in ("dLblPos", "numFmt")]
    side, number = ("" if found is None else found.attrib[key] for found, key in zip(look, KEYS, strict=True))
    return Series(name, areas(cells[0]), areas(cells[1]), side, number)


def _chart(root: ET.Element) -> Chart:
    plot = root.find(f"{C}chart/{C}plotArea")
    assert plot is not None
    title = "".join(part.text or "" for part in root.findall(f"{C}chart/{C}title//{A}t"))
    kind = next(child.tag.removeprefix(C) for child in plot if child.find(f"{C}ser") is not None)
    first = next(child for child in plot if child.tag in (f"{C}valAx", f"{C}catAx"))
    ends = [first.find(f"{C}scaling/{C}{end}") for end in ("min", "max")]
    low, high = (None if end is None else float(end.attrib["val"]) for end in ends)
    unnamed = {int(entry.attrib["val"]) for entry in root.findall(f".//{C}legendEntry/{C}idx")}
    return Chart(title, kind, [_series(element) for element in plot.iter(f"{C}ser")], low, high, unnamed)


def charts(file: Finished) -> dict[str, Chart]:
    """Returns the charts of a workbook by how their titles begin, in the order in which they hang."""
    parts = [part for drawing in drawings(file) for part in file.related(drawing, "chart")]
    found = [_chart(file.xml(part)) for part in parts]
    return {next(kind for kind in KINDS if chart.title.startswith(kind)): chart for chart in found}


def drawings(file: Finished) -> list[str]:
    """Returns the parts that hold the pictures of each sheet."""
    return [part for sheet in file.sheet_parts.values() for part in file.related(sheet, "drawing")]
