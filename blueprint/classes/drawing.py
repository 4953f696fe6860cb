"""Plots as SVG within a page: bars that can be read without their colours."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from xml.etree.ElementTree import Element

from blueprint.classes.html_page import STATUSES, element

WIDTH, LABELS = 860, 280
"""Of a plot, and of the words left of bars, in pixels of a page as wide as it gets."""
BLUE = "#4a78b5"
FEWEST = 22
"""Pixels that a number needs within a bar."""


def histogram(counts: Sequence[int], edges: Sequence[str], across: str, along: str) -> Element:
    """Draws columns side by side, each with its count on top.

    edges: the words between the columns, one more than there are. across, along: what the two axes are.
    """
    height, floor, left = 230, 180, 40
    step = (WIDTH - 2 * left) / max(len(counts), 1)
    highest = max([*counts, 1])
    parts = [element("line", x1=left, x2=WIDTH - left, y1=floor, y2=floor, stroke="#9aa1ad")]
    for place, count in enumerate(counts):
        tall, x = 140 * count / highest, left + place * step
        parts.append(_box(x + 3, floor - tall, step - 6, tall, BLUE))
        parts.append(_text(x + step / 2, floor - tall - 6, count or "", anchor="middle"))
    parts += [_text(left + place * step, floor + 18, word, "soft", "middle") for place, word in enumerate(edges)]
    parts += [_text(WIDTH / 2, floor + 40, across, "soft", "middle"), _text(left, 14, along, "soft")]
    return _plot(height, f"{along} by {across}", parts)


def stacked(rows: Mapping[str, Mapping[str, int]]) -> Element:
    """Draws for each row a bar that is cut by status, with the number of each part within it; words stand left."""
    most, step, top = max([sum(row.values()) for row in rows.values()] + [1]), 30, 34
    used = [status for status in STATUSES if any(row.get(status) for row in rows.values())]
    parts = [*_patterns(), *_legend(used)]
    for place, (name, row) in enumerate(rows.items()):
        y = top + place * step
        parts.append(_text(LABELS - 10, y + 15, _cut(name), anchor="end"))
        counts = [row.get(status, 0) for status in used]
        starts = [0, *accumulate(counts)]
        for status, count, start in zip(used, counts, starts, strict=False):
            x, wide = LABELS + start * (WIDTH - LABELS) / most, count * (WIDTH - LABELS) / most
            if count:
                parts += _part(status, x, y, wide, count)
    return _plot(top + step * len(rows) + 6, "how many students have which mark, for each blank", parts)


def _part(status: str, x: float, y: float, wide: float, count: int) -> list[Element]:
    """Draws one part of a bar: its colour, its pattern, its number where there is room for it."""
    dark = status in ("right", "wrong", "unreadable")
    made = [_box(x, y, max(wide - 1, 1), 22, STATUSES[status][0]), _box(x, y, max(wide - 1, 1), 22, f"url(#{status})")]
    if wide >= FEWEST:
        made.append(_text(x + wide / 2, y + 15, count, "on", "middle", style=f"fill: {'#fff' if dark else '#1f2430'}"))
    return made


def _patterns() -> list[Element]:
    """Makes what tells parts apart on paper: stripes for carried, dots for wrong, a slope the other way for no number."""
    lines = {"carried": "M0,8 l8,-8", "unreadable": "M0,0 l8,8", "wrong": "M2,2 h1 M6,6 h1"}
    made = (
        element("pattern", element("path", d=lines.get(status, "M0,0"), stroke="#fff", stroke_width=1.4, opacity=0.55),
                id=status, width=8, height=8, patternUnits="userSpaceOnUse")
        for status in STATUSES
    )  # fmt: skip
    return [element("defs", *made)]


def _legend(used: Sequence[str]) -> list[Element]:
    x, made = float(LABELS), []
    for status in used:
        made += _part(status, x, 4, 15, 0)[:2]
        made.append(_text(x + 20, 17, STATUSES[status][1].partition(":")[0], "soft"))
        x += 34 + 8 * len(STATUSES[status][1].partition(":")[0])
    return made


def _box(x: float, y: float, width: float, height: float, fill: str) -> Element:
    return element("rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", rx=2, fill=fill)


def _text(x: float, y: float, words: object, kind: str = "", anchor: str = "start", **more: str) -> Element:
    return element("text", str(words), x=f"{x:.1f}", y=f"{y:.1f}", class_=kind, text_anchor=anchor, **more)


def _cut(words: str) -> str:
    return words if len(words) <= 36 else words[:35] + "…"


def _plot(height: float, says: str, parts: Sequence[Element]) -> Element:
    """Makes a plot, which a screen reader calls by what it says."""
    return element(
        "svg",
        element("title", says),
        *parts,
        viewBox=f"0 0 {WIDTH} {height:g}",
        width=WIDTH,
        height=f"{height:g}",
        role="img",
    )
