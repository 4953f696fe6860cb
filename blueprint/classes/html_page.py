"""Pages for people: one HTML file that holds everything it shows, of elements, so that nobody's name can be a tag.

A page asks nothing of the network, so it may be opened offline and sent as it is. Colours never stand alone: what is marked by
one has a word, a sign or a pattern as well.
"""

from collections.abc import Iterable, Mapping, Sequence
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
