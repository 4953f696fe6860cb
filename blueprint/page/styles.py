"""Styles, as data: fonts, fills, borders and number formats; and the ruler: how many pixels a text takes in its style.

Colour is never alone: kinds differ in border or slope too.
"""

from collections.abc import Callable
from functools import cache
from math import ceil
from typing import Any

import numpy as np

from blueprint.language import Block, Values
from blueprint.page.layout import Label, Layout
from blueprint.page.one_page import look

Properties = dict[str, Any]
SCIENTIFIC = 6
"""A number with more decimals is shown as 1E-09."""
READS = " reads "
"""What stands in the style of a cell of the page's own before its number format, where it has one."""

INK, NAVY, GREY, BROWN = "#000000", "#1F3864", "#595959", "#7F3F00"
BLUE, GREEN, LINK = "#0000FF", "#006100", "#0563C1"
PALE_BLUE, PALE_GREEN, PALE_YELLOW, PALE_GREY = "#DDEBF7", "#E2EFDA", "#FFF2CC", "#E7EAF3"
FADED = "#565656"
GOOD, BAD, OTHER = (
    {"font_color": "#006100", "bg_color": "#C6EFCE"},
    {"font_color": "#9C0006", "bg_color": "#FFC7CE"},
    {"font_color": "#5F3B00", "bg_color": "#FFE699"},
)
VERDICTS: dict[str, Properties] = {
    "OK": GOOD,
    "same": GOOD,
    "LOOK": BAD,
    "changed": OTHER,
    "remark": OTHER,
    "error": OTHER,
    "unwatched": BAD,
    "overwritten": BAD,
    "differs": BAD,
}
"""Words that say how a check went, and their colours."""
JUDGEMENTS = "OK", "LOOK"
"""Those that a verdict on a check may be."""
CHOSEN: Properties = {"bg_color": "#FFC000", "font_color": INK}
WAITING_SIGN = "…"


def waiting(name: str = "") -> Properties:
    """Returns how a cell looks that waits for blanks to be filled in: a sign for any number or text, on grey.

    name: what stands before the sign.
    """
    sign = f"{name}  {WAITING_SIGN}" if name else WAITING_SIGN
    return {
        "bg_color": PALE_GREY,
        "font_color": PALE_GREY,  # so that an error, which no number format reaches, is not seen
        "num_format": ";".join([f'[Black]"{sign}"'] * 4),
    }


BASE: Properties = {"font_name": "Calibri", "font_size": 10, "font_color": INK, "valign": "vcenter"}

LABELS: dict[str, Properties] = {
    "title": {"bold": True, "font_size": 16, "font_color": NAVY},
    "lead": {"italic": True, "font_color": GREY},
    "section": {"bold": True, "font_size": 11, "font_color": NAVY, "bottom": 1, "bottom_color": NAVY},
    "rule": {"bottom": 1, "bottom_color": NAVY},
    "column heading": {"italic": True, "font_color": GREY, "align": "center"},
    "section text": {"italic": True, "font_color": GREY, "indent": 1, "bottom": 1, "bottom_color": NAVY},
    "section column": {"italic": True, "font_color": GREY, "align": "center", "bottom": 1, "bottom_color": NAVY},
    "symbol": {"font_color": NAVY, "align": "right"},
    "name": {"indent": 1},
    "note": {"font_color": GREY},
    "equation": {"font_color": BROWN, "indent": 1},
    "broken equation": {"font_color": BROWN, "indent": 1, "text_wrap": True, "align": "left"},
    "section equation": {"font_color": BROWN, "bottom": 1, "bottom_color": NAVY},
    "head name": {"bold": True, "align": "right"},
    "head number": {"bold": True, "align": "center", "bg_color": PALE_GREY},
    "banner": {"bold": True, "font_color": "#FFFFFF", "bg_color": NAVY},
    "table head": {"bold": True, "font_color": NAVY, "bottom": 1, "bottom_color": NAVY},
    "link": {"font_color": LINK, "underline": 1, "indent": 1},
    "column link": {"font_color": LINK, "underline": 1, "align": "center"},
    "cell": {"valign": "top"},
    "wrapped": {"valign": "top", "text_wrap": True},
    "box": {"font_color": LINK, "align": "center", "border": 1, "border_color": NAVY},
    "plain box": {"align": "center", "border": 1, "border_color": NAVY},
    "small box": {"font_color": LINK, "align": "center", "italic": True, "font_size": 9},
    "arrow": {"font_color": NAVY, "align": "center", "bold": True},
    "piece equation": {"font_color": BROWN, "indent": 1},
    "walk equation": {"font_color": BROWN, "indent": 1},
    "walk long equation": {"font_color": BROWN, "indent": 1, "text_wrap": True},
    "walk numbers": {"font_color": INK, "text_wrap": True},
    "walk list": {"font_color": INK, "indent": 1},
    "walk beside": {"font_color": LINK, "underline": 1, "align": "right"},
    "as print": {"font_color": GREY, "align": "right"},
    "verdict": {"bold": True, "align": "center"},
    "count": {"align": "center"},
    "number": {"num_format": "General", "align": "center"},
    "watch": {"bold": True, "align": "center", "font_color": BAD["font_color"]},
    "found": {"bold": True, "font_color": BAD["font_color"]},
    "sum": {"font_color": GREY, "num_format": "0.000E+00"},
    "piece count": {"bold": True, "num_format": "0", "align": "right"},
    "piece": {"bold": True, "num_format": "0.0000", "align": "right"},
    "piece 5": {"bold": True, "num_format": "0.00000", "align": "right"},
    "piece 6": {"bold": True, "num_format": "0.000000", "align": "right"},
}

TABS = {role: colour for role, colour in look.STRONG.items() if role != "none"}
LOOKED_UP_TAB = "#D0D3D8"
"""The colours of tabs, those of the sheet that shows all at a glance; and a pale grey for what is looked up."""
LABELS |= {f"title {role}": LABELS["title"] | {"font_color": look.TEXT[role]} for role in TABS}
LABELS |= {f"banner {role}": LABELS["banner"] | {"bg_color": colour} for role, colour in TABS.items()}
LABELS |= {
    f"box {role}": LABELS["box"] | {"font_color": look.TEXT[role], "bg_color": look.PALE[role], "border_color": colour}
    for role, colour in TABS.items()
}

KINDS: dict[str, Properties] = {
    "typed": {"font_color": BLUE},
    "formula": {},
    "link": {"font_color": GREEN, "italic": True},
    "blank": {},
}

ROLES: dict[str, Properties] = {
    "": {},
    "head": {"bg_color": PALE_GREY, "align": "center", "bold": True},
    "key": {"bg_color": PALE_BLUE, "bold": True},
    "input": {},
    "memory": {"bg_color": PALE_GREEN},
    "probability": {"bg_color": "#F5ECF7"},
    "heat": {},
    "text": {"bg_color": PALE_YELLOW, "align": "center"},
    "line": {"align": "right"},
    # Typed when the workbook is built, not meant to be changed there.
    "fixed": {"align": "right"},
    "weights": {},
    "plain": {"align": "right"},
    "word": {"align": "center"},
    "sentence": {"align": "left"},
    "paragraph": {"align": "left", "valign": "top", "text_wrap": True, "font_size": 9},
}
HEAT = {
    "type": "3_color_scale",
    "min_type": "min",
    "min_color": "#F4B183",
    "mid_type": "num",
    "mid_value": 0,
    "mid_color": "#FFFFFF",
    "max_type": "max",
    "max_color": "#6DB58A",
}
"""How the rows of the role "heat" are coloured: the larger the greener, white at 0, orange below it."""
# An outline marks the parameters: thick and red where they are typed, thin where they are computed from others.
SIDES = ("left", "right", "top", "bottom")
OUTLINES = {"typed": (2, "#C00000"), "formula": (1, INK), "link": (1, INK)}
FRAME: Properties = {"border": 1, "border_color": "#D9D9D9"}
LIVE: dict[str, Properties] = {"live": FRAME, "delivered": FRAME | {"font_color": GREY}, "beside": {"align": "left"}}
EDGE: Properties = {"bg_color": "#F2F2F2", "font_color": GREY}
FILLED: Properties = {"bg_color": PALE_YELLOW}
BLANK: Properties = FILLED | {"font_color": BLUE, "border": 3, "border_color": BROWN, "locked": False}
"""A dashed outline: what stood here is left to the reader."""
TYPED: dict[str, Properties] = {"line": FILLED, "": FILLED, "text": FILLED, "fixed": {"font_color": GREY}}
"""What typed cells add, by role."""


def cell_style(
    kind: str, role: str, decimals: int, edge: bool, reads: str = "", sides: tuple[str, ...] = ()
) -> Properties:
    """Returns how a block's cells look: by kind (typed, formula, link, blank), role, decimals, whether they are an edge.

    reads: a number format of its own. sides: where the cell is on the outline of a block of weights.
    """
    shown = {"num_format": reads or number_format(decimals, kind in ("typed", "blank") or role == "weights")}
    made = BASE | FRAME | KINDS[kind] | ROLES[role] | shown | (TYPED.get(role, {}) if kind == "typed" else {})
    if kind == "blank":
        return made | BLANK
    for side in sides:
        made |= {side: OUTLINES[kind][0], f"{side}_color": OUTLINES[kind][1]}
    return made | (EDGE if edge and role != "head" else {})


def read_as(reads: str) -> str:
    """Returns the end of the style of a cell of the page's own that has a number format of its own; "" if it has none."""
    return f"{READS}{reads}" if reads else ""


def coloured(style: str, role: str) -> str:
    """Returns the style of a title, a banner or a box in the colour of its sheet, if this has one."""
    return f"{style} {role}" if role in TABS else style


def uncoloured(style: str) -> str:
    """Returns the style that a sheet without a colour has in its place."""
    plain, _, role = style.rpartition(" ")
    return plain if role in TABS else style


@cache
def label_style(style: str) -> Properties:
    """Returns how a label looks, or a cell of the page's own (`live 4 key`: a formula, decimals, one that one looks for)."""
    style, _, reads = style.partition(READS)
    family, _, more = style.partition(" ")
    if family == "one-page":
        return look.style(more)
    if family == "sample":
        kind, role, *faded = more.split("/")
        if kind == "waiting":
            return BASE | FRAME | {"bg_color": PALE_GREY, "align": "right"}
        sides = SIDES if role == "weights" else ()
        made = cell_style(kind, role.removeprefix("edge"), 4, edge=role == "edge", sides=sides)
        return made | {"align": "right"} | ({"font_color": FADED} if faded else {})
    own: Properties = {"num_format": reads} if reads else {}
    if family not in LIVE:
        return BASE | LABELS[style] | own
    decimals, *key = more.split(" ")
    shown: Properties = {"align": "center"} if decimals == "word" else {"num_format": number_format(int(decimals))}
    return BASE | LIVE[family] | shown | (ROLES["key"] if key else {}) | own


def number_format(decimals: int, may_be_finer: bool = False) -> str:
    """Returns a format with fixed decimals, so that what is on the screen can be checked by hand.

    may_be_finer: what is typed (and weights, which follow it) shows two more decimals where it has them.
    """
    if decimals > SCIENTIFIC:
        return "0E+00;-0E+00;0"
    return "0." + "0" * decimals + "##" * may_be_finer if decimals else "0"


MEASURED_AT = 11
BOLD = 1.06
"""How much wider bold letters are, roughly and upwards."""
INDENT, PADDING = 7, 5
PIXELS_PER_LETTER, PIXELS_PER_POINT = 7, 4 / 3
LINE = 17
"""How high a line of ten points is, in pixels."""
LINE_FILLED = 0.9
"""How much of a line is counted on, since programs break lines a little apart."""

CUT = " … (see Contents)"
"""What a text ends with that has been cut."""


class Ruler:
    """Measures texts; `letters`: how many pixels one takes in Calibri at eleven points, in which columns are counted."""

    def __init__(self, letters: Callable[[str], int]):
        self.letters = cache(letters)  # words and names are measured many times over

    def __call__(self, text: str, style: Properties) -> int:
        """Returns the pixels that a column needs to show a text in its style."""
        scale: float = style.get("font_size", MEASURED_AT) / MEASURED_AT * (BOLD if style.get("bold") else 1)
        return ceil(self.letters(text) * scale) + PADDING + INDENT * int(style.get("indent", 0))

    def lines(self, text: str, style: Properties, width: int) -> int:
        """Returns into how many lines of a width the words of a text fall."""
        room, count, used = LINE_FILLED * (width - PADDING - INDENT * int(style.get("indent", 0))), 1, 0.0
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
