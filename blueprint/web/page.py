"""One self-contained file of a book: its data, the scripts that compute and show it, and a policy that forbids every request."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path

from blueprint.files import require_page_ending, saved_whole
from blueprint.language import Values
from blueprint.language.packed import Data
from blueprint.page.outline import Blueprint
from blueprint.web.contents import contents_of
from blueprint.web.plain import plain_walk

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
_BLANKS = re.compile(r" *([{};,]) *|(?<=:) ")
"""Blanks in a style sheet that nothing hangs on."""
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
        """Writes the page, and returns its path. Raises SaveError for a name that does not end in .html, or no place for it."""
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
        plain=plain_walk(outline, values),
        served="" if served is None else f'<script type="application/json" id="served">{as_script(served)}</script>\n',
        data=as_script(contents_of(outline, values)),
        scripts="\n".join(map(asset, SCRIPTS if served is None else (*SCRIPTS, "follow.js"))),
    )
    return Page(text)


def as_script(data: object) -> str:
    """Returns data as JSON that no HTML parser takes for markup, whatever words it holds."""
    packed = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return packed.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def asset(name: str) -> str:
    """Returns a text of this room, without the indents, blanks and comments that only its reader needs."""
    text = files("blueprint.web").joinpath("assets", name).read_text(encoding="utf-8")
    lines = filter(None, (_BEHIND.sub("", line.strip()) for line in _COMMENT.sub("", text).splitlines()))
    return _BLANKS.sub(r"\1", "".join(lines)) if name.endswith(".css") else "\n".join(lines)


def font() -> str:
    """Returns the letters of the equations, a part of STIX Two Math, as a line of a style sheet."""
    packed = b64encode(files("blueprint.web").joinpath("assets", "math.woff2").read_bytes()).decode("ascii")
    return f'@font-face{{font-family:"STIX Two Math";src:url(data:font/woff2;base64,{packed}) format("woff2")}}'
