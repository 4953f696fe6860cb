"""The ruler: how many pixels a text takes on the screen in its style."""

from collections.abc import Callable
from math import ceil

import numpy as np

from blueprint.language import Block, Values
from blueprint.page.layout import Label, Layout
from blueprint.page.styles import SCIENTIFIC, Properties

MEASURED_AT = 11
BOLD = 1.06
"""How much wider bold letters are, roughly and upwards."""
INDENT, PADDING = 7, 5
PIXELS_PER_LETTER, PIXELS_PER_POINT = 7, 4 / 3
LINE = 17
"""How high a line of ten points is, in pixels."""
FILLED = 0.9
"""How much of a line is counted on, since programs break lines a little apart."""

CUT = " … (see Contents)"
"""What a text ends with that has been cut."""


class Ruler:
    """Measures texts; `letters`: how many pixels one takes in Calibri at eleven points, in which columns are counted."""

    def __init__(self, letters: Callable[[str], int]):
        self.letters = letters

    def __call__(self, text: str, style: Properties) -> int:
        """Returns the pixels that a column needs to show a text in its style."""
        scale: float = style.get("font_size", MEASURED_AT) / MEASURED_AT * (BOLD if style.get("bold") else 1)
        return ceil(self.letters(text) * scale) + PADDING + INDENT * int(style.get("indent", 0))

    def lines(self, text: str, style: Properties, width: int) -> int:
        """Returns into how many lines of a width the words of a text fall."""
        room, count, used = FILLED * (width - PADDING - INDENT * int(style.get("indent", 0))), 1, 0.0
        for word in text.split(" "):
            wide = self(word + " ", style | {"indent": 0}) - PADDING
            count, used = (count, used + wide) if used + wide <= room else (count + 1, wide)
        return count

    def cut(self, text: str, style: Properties, width: int) -> str:
        """Returns as many words of a text as a width holds, and where the whole of it stands."""
        words = text.split(" ")
        while self(" ".join(words) + CUT, style) > width and len(words) > 1:
            words.pop()
        return " ".join(words) + CUT

    def block(self, block: Block, values: Values, style: Properties) -> int:
        """Returns the pixels that the widest member of a block needs."""
        return max(
            (self(each, style) for each in _widest(block, values, "##" in str(style.get("num_format")))), default=0
        )


def pixels(letters: float) -> int:
    """Returns the pixels of a column that is so many letters wide."""
    return round(letters * PIXELS_PER_LETTER) + PADDING


def _widest(block: Block, values: Values, finer: bool) -> list[str]:
    """Returns what a block's widest members look like: every word once, or the smallest and the largest number.

    finer: its cells show up to two decimals more, where they have them.
    """
    members = np.ravel(values[block])
    if block.text:
        return sorted({str(member) for member in members})
    known = members[members == members]
    if not known.size or block.about.reads:
        return []
    decimals = block.about.decimals
    if finer and 0 < decimals <= SCIENTIFIC:
        shown = (f"{each:.{decimals + 2}f}" for each in known.tolist())
        return [max((each[:-2] + each[-2:].rstrip("0") for each in shown), key=len)]
    code = ".0E" if decimals > SCIENTIFIC else f".{decimals}f"
    return [f"{end:{code}}" for end in (known.min(), known.max())]


def texts_on(title: str, layout: Layout) -> list[Label]:
    """Returns the texts of a sheet: fixed ones, links, and words that are shown again."""
    links = (each for each in layout.links if each.sheet == title)
    again = (each for each in layout.lives if each.sheet == title and each.repeats and isinstance(each.value, str))
    return [
        *(label for label in layout.labels if label.sheet == title),
        *(Label(title, each.row, each.column, layout.leads_to(each)[1], each.style) for each in links),
        *(Label(title, each.row, each.column, each.value, each.style) for each in again),
    ]
