"""Draws with boxes, arrows and words in SVG: a colour for each model and never alone, readable on a light and on a dark page."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

LIGHT = {
    "paper": "#ffffff", "ink": "#1b2430", "soft": "#56616f", "line": "#8b96a5", "fill": "#f2f5f9",
    "old": "#0a5cad", "reference": "#5f6368", "policy": "#a8480c", "reward": "#862b86", "critic": "#1b7a43",
}  # fmt: skip
DARK = {
    "paper": "#12171e", "ink": "#e8edf3", "soft": "#a7b2c0", "line": "#7c8998", "fill": "#1c242e",
    "old": "#7db8f5", "reference": "#b6bbc1", "policy": "#f0a56b", "reward": "#dd9bdd", "critic": "#7ccf9c",
}  # fmt: skip
"""The colours of the page for the browser (`blueprint/web/assets/style.css`), by what they stand for."""
WIDE = 0.56
"""How wide a letter is, on average and in parts of the size of the letters, in the fonts that browsers take for sans-serif."""
STYLE = """<style>
:root {{ {light} }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
text {{ font-family: sans-serif; paint-order: stroke; stroke-width: 4px; }}
</style>"""


class Point(NamedTuple):
    """A place on the drawing, in pixels from its upper left corner."""

    x: float
    y: float


class Drawing:
    """A drawing of a width and a height in pixels; `about` is what a reader hears who does not see it."""

    def __init__(self, width: int, height: int, about: str) -> None:
        """Begins with an empty sheet of paper, so that it can be read whatever it is laid upon."""
        self.width, self.height, self.about = width, height, about
        self.parts: list[str] = []
        self.words: list[str] = []

    def text(
        self,
        at: Point,
        words: str,
        size: int = 14,
        colour: str = "ink",
        anchor: str = "middle",
        bold: bool = False,
        over: str = "none",
    ) -> None:
        """Writes words, with a rim of the colour `over` where lines run below them; raises ValueError if they leave the paper."""
        wide = width_of(words, size)
        left = at.x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        if not (left >= 0 and left + wide <= self.width and size <= at.y <= self.height):
            raise ValueError(f"“{words}” does not fit on the drawing: it needs x from {left:.0f} to {left + wide:.0f}.")
        weight = ' font-weight="700"' if bold else ""
        rim = "" if over == "none" else f"; stroke: var(--{over})"
        self.words.append(words)
        self.parts.append(
            f'<text x="{at.x:g}" y="{at.y:g}" font-size="{size}" text-anchor="{anchor}"{weight} '
            f'style="fill: var(--{colour}){rim}">{escape(words)}</text>'
        )

    def box(
        self, corner: Point, wide: float, high: float, lines: list[str], colour: str = "ink", dashed: bool = False
    ) -> None:
        """Draws a box with lines of words, the first bold; dashed is frozen. Raises ValueError if a line is too wide."""
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        self.parts.append(
            f'<rect x="{corner.x:g}" y="{corner.y:g}" width="{wide:g}" height="{high:g}" rx="6" stroke-width="2"{dash} '
            f'style="fill: var(--fill); stroke: var(--{colour})"/>'
        )
        top = corner.y + high / 2 - 9 * (len(lines) - 1) + 5
        for number, line in enumerate(lines):
            size = 14 if number == 0 else 12
            if width_of(line, size) > wide:
                raise ValueError(f"“{line}” does not fit into a box of {wide:g} pixels.")
            self.text(
                Point(corner.x + wide / 2, top + 18 * number),
                line,
                size,
                colour if number == 0 else "ink",
                bold=number == 0,
            )

    def arrow(self, begin: Point, end: Point, colour: str = "line", dashed: bool = False) -> None:
        """Draws a straight arrow."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        long = max(((end.x - begin.x) ** 2 + (end.y - begin.y) ** 2) ** 0.5, 1e-9)
        x, y = (end.x - begin.x) / long, (end.y - begin.y) / long
        corners = (
            (end.x, end.y),
            (end.x - 9 * x + 4 * y, end.y - 9 * y - 4 * x),
            (end.x - 9 * x - 4 * y, end.y - 9 * y + 4 * x),
        )
        head = " ".join(f"{a:.4g},{b:.4g}" for a, b in corners)
        self.line(begin, Point(end.x - 8 * x, end.y - 8 * y), colour, dash)
        self.parts.append(f'<polygon points="{head}" style="fill: var(--{colour})"/>')

    def line(self, begin: Point, end: Point, colour: str = "line", dash: str = "") -> None:
        """Draws a line."""
        self.parts.append(
            f'<line x1="{begin.x:g}" y1="{begin.y:g}" x2="{end.x:g}" y2="{end.y:g}" stroke-width="2"{dash} '
            f'style="stroke: var(--{colour})"/>'
        )

    def bar(self, corner: Point, wide: float, high: float, colour: str) -> None:
        """Draws a filled bar."""
        self.parts.append(
            f'<rect x="{corner.x:g}" y="{corner.y:g}" width="{wide:.1f}" height="{high:g}" style="fill: var(--{colour})"/>'
        )

    def mark(self, at: Point, shape: str, colour: str) -> None:
        """Draws a small circle, square or diamond."""
        x, y = at
        drawn = {
            "circle": f'<circle cx="{x:g}" cy="{y:g}" r="6" ',
            "square": f'<rect x="{x - 5:g}" y="{y - 5:g}" width="10" height="10" ',
            "diamond": f'<polygon points="{x:g},{y - 7:g} {x + 7:g},{y:g} {x:g},{y + 7:g} {x - 7:g},{y:g}" ',
        }
        self.parts.append(f'{drawn[shape]}style="fill: var(--{colour})"/>')

    def svg(self) -> str:
        """Returns the file."""
        light, dark = (" ".join(f"--{name}: {colour};" for name, colour in each.items()) for each in (LIGHT, DARK))
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img">\n<title>{escape(self.about)}</title>\n'
        )
        paper = f'<rect width="{self.width}" height="{self.height}" style="fill: var(--paper)"/>'
        return head + "\n".join([STYLE.format(light=light, dark=dark), paper, *self.parts]) + "\n</svg>\n"


def width_of(words: str, size: int) -> float:
    """Returns about how wide words are, in pixels."""
    return WIDE * size * len(words)
