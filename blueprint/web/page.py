"""One self-contained file of a book: its data, the scripts that compute and show it, and a policy that forbids every request."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path

from blueprint.files import require_page_ending, saved_whole
from blueprint.language import Block, Values
from blueprint.language.cells import Cell, filled_by
from blueprint.language.cells import origin as link_origin
from blueprint.language.packed import Data
from blueprint.language.spelling.mathml import STYLE, mathml_equation, mathml_explained, mathml_symbol
from blueprint.language.spelling.numbers import printed
from blueprint.page.outline import Blueprint, Listed, Step
from blueprint.web.contents import contents_of
from blueprint.web.tight import tight

SCRIPTS = (
    "engine.js",
    "spelling.js",
    "state.js",
    "overview.js",
    "charts.js",
    "vote.js",
    "explore.js",
    "settings.js",
    "walk.js",
    "main.js",
)
HEIGHT = 760
"""Pixels of a page in a notebook."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; font-src data:; img-src data:"
_COMMENT = re.compile(r"^ *(?:/\*.*?\*/\n|// .*\n)", re.DOTALL | re.MULTILINE)
"""A comment on lines of its own."""
_BEHIND = re.compile(r"(?<=[;{},]) +// [^\"'`]*$")
"""A comment behind a line of a script; what holds a quote might be within a text, and stays."""
_BLANKS = re.compile(r" *([{};,/]) *|(?<=:) ")
"""Blanks in a style sheet that nothing hangs on."""
_MARKUP = re.compile(r"<(?=[!?a-z])(?!m)", re.IGNORECASE)
"""What may begin markup in data; letters of equations, as <mo>, begin none that ends a script."""
_ALONE = re.compile(r"<mrow>(<(m[ion])>[^<]*</\2>)</mrow>")
"""A row of one sign, which needs no row."""
_BELOW = re.compile(
    r"((?<=</mo>)|(?<=<mrow>))<mrow>(<mo>\(</mo><mo form=\"prefix\">−</mo><mn>[^<]*</mn><mo>\)</mo>)</mrow>"
)
"""A number below 0 in brackets, in a row: it needs no row of its own."""
_ZERO = re.compile(r"(?<![\w.])0\.(?=\d)")
"""In a style sheet, the 0 before a point, which no browser needs."""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}: every number by hand</title>
<style>{style}</style>
</head>
<body>
<script>{begin}</script>
{body}
<article id="plain">
<h1>{title}</h1>
{plain}
</article>
{served}<script type="application/json" id="data">{data}</script>
<script>{scripts}</script>
</body>
</html>
"""


class PageError(ValueError):
    """Says in a sentence why a book cannot be a page."""


class Page:
    """The page of a book: its text, shown in place where a notebook prints it."""

    def __init__(self, text: str):
        self.text = text

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the page, and returns its path.

        Raises SaveError for a name that does not end in .html or .htm, and where it cannot be written.
        """
        target = Path(path)
        require_page_ending(target)
        with saved_whole(target) as unfinished:
            unfinished.write_text(self.text, encoding="utf-8", newline="\n")
        return target

    def __repr__(self) -> str:
        return f"<a page of {len(self.text.encode()) / 1000:,.0f} kB: page.save('x.html')>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.text)}" width="100%" height="{HEIGHT}" style="border:0"></iframe>'


def page_of(outline: Blueprint, values: Values, served: Data | None = None) -> Page:
    """Makes the page of a book. Raises PageError for a worksheet, whose answers it would hold.

    served: what a page that a server hands out tells of its addresses; it follows, or leads, and may ask its server alone.
    """
    if outline.blanks:
        raise PageError(
            f"{outline.title} is a worksheet: a page computes every number, and would show the answers of its blanks; make"
            " the page of the workbook without blanks"
        )
    text = PAGE.format(
        policy=POLICY + ("" if served is None else "; connect-src 'self'"),
        title=escape(outline.title),
        style=font() + asset("style.css"),
        begin=asset("begin.js"),
        body=asset("page.html"),
        plain="\n".join(PlainWalk(outline, values).sections()),
        served="" if served is None else f'<script type="application/json" id="served">{as_script(served)}</script>\n',
        data=as_script(contents_of(outline, values)),
        scripts="\n".join(map(asset, SCRIPTS if served is None else (*SCRIPTS, "follow.js"))),
    )
    return Page(text)


def as_script(data: object) -> str:
    """Returns data as JSON that no HTML parser takes for markup, whatever words it holds."""
    packed = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    packed = _MARKUP.sub(r"\\u003c", packed.replace("</", "<\\/"))
    return packed.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def asset(name: str) -> str:
    """Returns a text of this room, without the indents, blanks and comments that only its reader needs."""
    text = files("blueprint.web").joinpath("assets", name).read_text(encoding="utf-8")
    lines = filter(None, (_BEHIND.sub("", line.strip()) for line in _COMMENT.sub("", text).splitlines()))
    if name.endswith(".js"):
        return "\n".join(map(tight, lines))
    if not name.endswith(".css"):
        return "\n".join(lines)
    return _ZERO.sub(".", _BLANKS.sub(r"\1", "".join(lines))).replace(";}", "}")


def font() -> str:
    """Returns the letters of the equations, a part of STIX Two Math, as a line of a style sheet."""
    packed = b64encode(files("blueprint.web").joinpath("assets", "math.woff2").read_bytes()).decode("ascii")
    return f'@font-face{{font-family:"STIX Two Math";src:url(data:font/woff2;base64,{packed}) format("woff2")}}'


Places = tuple[int, ...]
LONGEST_LIST = 40
"""Members that a list shows at most."""


class PlainWalk:
    """The walk of the chosen column as plain HTML: what a page shows where no script runs, and what is printed.

    It has a line for each quantity, whose paragraphs end where the next one begins: its meaning, its equation, and the same
    with the numbers of the member of each axis with which the book opens.
    """

    def __init__(self, outline: Blueprint, values: Values):
        self.outline, self.values = outline, values
        chosen = outline.chosen
        numbers = [] if chosen is None else [int(float(self.values.cell(each))) for each in chosen.numbers]
        self.across = () if chosen is None else chosen.across
        self.at = {axis: number - axis.start for axis, number in zip(self.across, numbers, strict=True)}

    def sections(self) -> Iterator[str]:
        """Yields the sections of the walk; without one, the steps that lead to the result."""
        sections = [
            (section.title, "".join(self.line(item) for item in section.items if isinstance(item, Step | Listed)))
            for sheet in self.outline.sheets
            for section in sheet.sections
        ]
        said = [(title, lines) for title, lines in sections if lines]
        if not said:
            named = {block.name: block for block in self.outline.blocks()}
            steps = [named[name] for name in self.outline.derivation if name in named]
            computed = [block for block in named.values() if not (block.typed or block.link or block.text)]
            said = [("Step by step", "".join(self.line(Step(block)) for block in steps or computed))]
        for title, lines in said:
            yield f"<section><h2>{escape(title)}</h2>{lines}</section>"

    def line(self, step: Step | Listed) -> str:
        """Returns the line of a step, "" for one that has no cell there."""
        block = step.block
        places = self.places(step)
        if places is None:
            return ""
        says = (step.says if isinstance(step, Listed) else "") or block.about.meaning
        head = f"<p>{escape(says)}"
        if isinstance(step, Listed):
            return f"<div>{head}<p>{_math(mathml_symbol(block.symbol))}: {self.listed(block, places)}</div>"
        block, places = link_origin(Cell(block, places), self.values)
        filled = filled_by(block, places, self.values)
        if filled is None:
            value = escape(printed(self.values.cell(block, *places)))
            return f"<div>{head}<p>{_math(mathml_symbol(block.symbol))} = {value}, typed in</div>"
        equation = _math(mathml_equation(block, filled.definition, frozenset(self.across)))
        numbers = _math(STYLE.equals + mathml_explained(block, places, self.values))
        return f"<div>{head}<p>{equation}<p>{numbers}</div>"

    def places(self, step: Step | Listed) -> Places | None:
        """Returns the 0-based places of a step's cell (of a list: of its first member); None outside of the block."""
        block, member = step.block, step.member
        by = int(step.later) if isinstance(step, Step) else step.by
        places = [self.at.get(axis, 0) + (by if self.across and axis is self.across[-1] else 0) for axis in block.axes]
        if isinstance(member, Block) and places and block.axes[-1] not in self.at:
            among = -2 if isinstance(step, Listed) and len(places) > 1 else -1  # a list goes along the last axis
            places[among] = int(float(self.values.cell(member, *(self.at.get(axis, 0) for axis in member.axes))))
        elif isinstance(member, int) and places:
            places[-1] = member
        spans = self.values.spans(block)
        return tuple(places) if all(place in span for place, span in zip(places, spans, strict=True)) else None

    def listed(self, block: Block, places: Places) -> str:
        """Returns the members of a list, each behind its name where it has one."""
        names, axis = self.outline.names.get(block.axes[-1].extent), block.axes[-1]
        members = range(min(self.values.size(axis), LONGEST_LIST))
        shown = [printed(self.values.cell(block, *places[:-1], member)) for member in members]
        if isinstance(names, Block):
            shown = [f"{self.values.arrays[names].flat[i]} {number}" for i, number in zip(members, shown, strict=True)]
        return escape("; ".join(shown) + ("; …" if self.values.size(axis) > LONGEST_LIST else ""))


def _math(spelled: str) -> str:
    return "<math>" + _BELOW.sub(r"\2", _ALONE.sub(r"\1", spelled)) + "</math>"
