"""Pages for people: one HTML file that holds everything it shows, plots too, of elements, so that nobody's name can be a tag.

A page asks nothing of the network, so it may be opened offline and sent as it is. Colours never stand alone: what is marked by
one has a word, a sign or a pattern as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from blueprint.quoting import page as seen

Content: TypeAlias = "Element | str | int | float"
"""What may stand in an element; texts are escaped when the page is written."""

STATUSES = {
    "right": ("#2f7d5b", "right"), "carried": ("#d39b2a", "carried: right with the student's own earlier numbers"),
    "wrong": ("#b4483c", "wrong"), "empty": ("#d9dce1", "empty"), "unreadable": ("#8a6fb0", "no number"),
    "excused": ("#a9c1d6", "excused"),
}  # fmt: skip
"""The colour and the meaning of a status, the same in every page; on paper a pattern tells them apart as well."""
STYLE = """
:root { color-scheme: light; --ink: #1f2430; --soft: #5d6575; --line: #e2e5ea; --paper: #fff; --tint: #f6f7f9; --blue: #2b5fa8; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 4rem; max-width: 60rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 .4rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p { margin: .4rem 0 .9rem; max-width: 46rem; }
.lead, .note { color: var(--soft); } .note { font-size: .9rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.4rem 0 0; }
.tile { flex: 1 1 8rem; background: var(--tint); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem; }
.tile b { display: block; font-size: 1.5rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .87rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; margin: .6rem 0 1rem; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .84rem; border-bottom: 2px solid var(--line); }
th, td { padding: .38rem .7rem .38rem 0; vertical-align: top; }
td { border-bottom: 1px solid var(--line); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding-right: 1.1rem; }
code { font: .92em ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; background: var(--tint);
  padding: 0 .2em; overflow-wrap: anywhere; }
svg { display: block; max-width: 100%; height: auto; margin: .6rem 0; }
svg text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; fill: var(--ink); }
svg .soft { fill: var(--soft); font-size: 12px; } svg .on { font-weight: 600; font-size: 12px; }
@media print { body { max-width: none; padding: 0; font-size: 12px; } h2, svg, tr { break-inside: avoid; } }
"""


def element(tag: str, *content: Content, **attributes: object) -> Element:
    """Makes an element of HTML or SVG; attributes as keywords: `class_`, `stroke_width`."""
    made = Element(tag, {name.rstrip("_").replace("_", "-"): seen(str(value)) for name, value in attributes.items()})
    for each in content:
        if isinstance(each, Element):
            made.append(each)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + seen(str(each))
        else:
            made.text = (made.text or "") + seen(str(each))
    return made


def page(title: str, *content: Content) -> str:
    """Returns a whole page."""
    head = element("head", element("meta", charset="utf-8"), element("title", title), element("style", STYLE))
    head.append(element("meta", name="viewport", content="width=device-width, initial-scale=1"))
    made = element("html", head, element("body", *content), lang="en")
    return "<!DOCTYPE html>\n" + ElementTree.tostring(made, encoding="unicode", method="html") + "\n"


def table(heads: Mapping[str, bool], rows: Iterable[Sequence[Content]]) -> Element:
    """Lays a table out. heads: by the words over a column whether numbers stand in it."""
    kinds = [{"class_": "number"} if numbers else {} for numbers in heads.values()]
    head = element("tr", *(element("th", word, **kind) for word, kind in zip(heads, kinds, strict=True)))
    body = (
        element("tr", *(element("td", cell, **kind) for cell, kind in zip(row, kinds, strict=True))) for row in rows
    )
    return element("table", element("thead", head), element("tbody", *body))


def tiles(numbers: Mapping[str, str]) -> Element:
    """Shows a few numbers large, each with the words below it."""
    made = (
        element("div", element("b", number), element("span", words), class_="tile") for words, number in numbers.items()
    )
    return element("div", *made, class_="tiles")


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
