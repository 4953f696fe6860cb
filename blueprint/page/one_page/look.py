"""How the sheet One page looks: a colour for each model, and never alone; sizes of its rows and columns, in pixels."""

from typing import Any

Properties = dict[str, Any]

INK, WORDS, RULE = "#1F2937", "#595959", "#1F2937"
STRONG = {
    "blue": "#0B5CAD",
    "grey": "#5F6368",
    "orange": "#AD4E07",
    "purple": "#8E2F8E",
    "green": "#1B7A43",
    "none": "#1F3864",
}
PALE = {
    "blue": "#DCE9F7",
    "grey": "#E3E4E6",
    "orange": "#FDD9B0",
    "purple": "#F6DDF3",
    "green": "#D2F0D8",
    "none": "#FFFFFF",
}
"""White on strong has a contrast of 5.3:1 or more, ink on pale 7.1:1 or more. Pale ones alone are not told apart by everybody:
letters, symbols and words say the same."""
TEXT = STRONG | {"orange": "#8F3F05", "green": "#176B3A", "grey": "#545A5F"}
"""The same for letters on the pale ones: 4.5:1 or more."""
COUNTS, CLIPPED, CHOSEN, SECTION = "#FFE45C", "#7F0000", "#FFC000", "#E6EAF2"
STEPS = (0.75, 0.5, 0.25)
"""Parts of the largest number of a matrix from which on a cell is darker."""
SHADES = (0.42, 0.3, 0.2, 0.1)

GOLD = "gold: shown on Walk"
"""What is said at the left of the heads, of the one that Walk shows."""

MARGIN, SIGN, SYMBOL, NAME, CELL, GAP, WEIGHT, ARROW = 14, 32, 78, 60, 50, 20, 28, 18
NARROW_CELL, LEAST_CELL, MEMBER, WIDEST = 47, 40, 64, 1346
TITLE_HIGH, HEAD_HIGH, ROW_HIGH, TILE_HIGH, SMALL_HIGH, SPACE_HIGH = 34, 24, 20, 26, 18, 8


def shade(colour: str, part: float) -> str:
    """Returns a colour thinned with white: part 1 is the colour, 0 is white."""
    thinned = (round(255 + (int(colour[i : i + 2], 16) - 255) * part) for i in (1, 3, 5))
    return "#" + "".join(f"{each:02X}" for each in thinned)


def style(words: str) -> Properties:
    """Returns the look of a cell of the page: its family, then the model, decimals and more, as `one-page number old 3 result`."""
    family, *more = words.split(" ")
    own: Properties = FAMILIES[family](*more)
    return {"font_name": "Calibri", "font_size": 11, "font_color": INK, "valign": "vcenter"} | own


def _number(model: str, decimals: str, *flags: str) -> Properties:
    made: Properties = {"num_format": number(int(decimals), "back" in flags), "align": "right"}
    if model != "none":
        made["bg_color"] = PALE[model]
    if "result" in flags:
        made |= {"top": 1, "top_color": RULE, "bold": True}
    if "close" in flags:
        made["num_format"] = made["num_format"].replace("_-", "")
    if "middle" in flags:
        made |= {"align": "center", "num_format": number(int(decimals)).replace("_-", "")}
    return made


def number(decimals: int, back: bool = False) -> str:
    """Returns a format with fixed decimals and a true minus sign; back: an arrow to the upper left stands in the cell."""
    digits = "0." + "0" * decimals if decimals else "0"
    arrow = '"↖"* ' if back else ""
    return f"{arrow}{digits}_-;{arrow}−{digits}_-;{arrow}{digits}_-"


def snipped(decimals: int) -> str:
    """Returns the format of a number that is clipped."""
    digits = "0." + "0" * decimals if decimals else "0"
    return f'"✂"{digits};"✂"−{digits};"✂"{digits}'


def _symbol(model: str, *flags: str) -> Properties:
    return {"align": "right", "indent": 1, "font_color": TEXT[model], "bold": "result" in flags, "underline": 0}


FAMILIES: dict[str, Any] = {
    "title": lambda: {"font_size": 20, "bold": True, "font_color": STRONG["none"]},
    "lead": lambda: {"font_size": 14, "font_color": WORDS},
    "answer": lambda model: {"font_size": 14, "bold": True, "font_color": TEXT[model]},
    "hint": lambda: {"font_size": 10, "italic": True, "font_color": WORDS, "align": "right"},
    "head": lambda model: {"bold": True, "font_size": 12, "font_color": "#FFFFFF", "bg_color": STRONG[model]},
    "headnumber": lambda model: {
        "bold": True,
        "align": "center",
        "font_color": "#FFFFFF",
        "bg_color": STRONG[model],
    },
    "strip": lambda model: {"align": "center", "font_color": TEXT[model], "bottom": 1, "bottom_color": STRONG[model]},
    "section": lambda: {"bold": True, "font_size": 12, "font_color": STRONG["none"], "bg_color": SECTION},
    "headword": lambda model, *flags: {
        "font_size": 8 if "tiny" in flags else 10 if flags else 11,
        "bold": True,
        "align": "center",
        "font_color": TEXT[model],
    },
    "member": lambda model="none": {"align": "right", "indent": 1},
    "matrix": lambda model, decimals: {
        "num_format": number(int(decimals)).replace("_-", ""),
        "align": "center",
        "border": 1,
        "border_color": "#FFFFFF",
        "bg_color": shade(STRONG[model], SHADES[-1]),
    },
    "weights": lambda: {
        "num_format": "0.0;−0.0;0.0",
        "align": "center",
        "font_size": 9,
        "border": 1,
        "border_color": "#B8C7DA",
        "font_color": "#44546A",
    },
    "weightshead": lambda: {"font_size": 9, "align": "center", "font_color": WORDS},
    "number": _number,
    "symbol": _symbol,
    "sign": lambda: {"align": "center", "bold": True},
    "words": lambda: {"font_size": 10, "italic": True, "font_color": WORDS, "indent": 1},
    "caption": lambda model="none": {"font_size": 11, "bold": True, "font_color": TEXT[model], "align": "right"},
    "way": lambda: {"font_size": 10, "font_color": "#0563C1", "underline": 1, "align": "right"},
    "small": lambda: {"font_size": 9, "italic": True, "font_color": WORDS},
    "result": lambda words, decimals: {
        "font_size": 18,
        "bold": True,
        "font_color": "#FFFFFF",
        "bg_color": STRONG["none"],
        "align": "center",
        "num_format": '"{0}  "{1};"{0}  "−{1};"{0}  "{1}'.format(words.replace("_", " "), "0." + "0" * int(decimals)),
    },
    "tile": lambda model, decimals: {
        "font_size": 16,
        "bold": True,
        "align": "center",
        "font_color": TEXT[model],
        "bg_color": PALE[model] if model != "none" else SECTION,
        "num_format": number(int(decimals)).replace("_-", ""),
    },
    "tilewords": lambda model: {
        "font_size": 11,
        "align": "center",
        "font_color": TEXT[model],
        "bg_color": PALE[model] if model != "none" else SECTION,
    },
    "tilesign": lambda: {"font_size": 16, "bold": True, "align": "center"},
    "keywritten": lambda model: {
        "bold": True,
        "align": "center",
        "bg_color": STRONG[model],
        "font_color": "#FFFFFF",
        "border": 1,
        "border_color": INK,
    },
    "keycounts": lambda: {"bold": True, "align": "center", "bg_color": COUNTS},
    "keyclipped": lambda: {"bold": True, "align": "center", "bg_color": COUNTS, "font_color": CLIPPED},
    "keychosen": lambda: {"bold": True, "align": "center", "bg_color": CHOSEN},
    "key": lambda: {"font_size": 10, "indent": 1},
    "keyline": lambda: {"bold": True, "align": "center", "top": 1, "top_color": RULE},
    "made": lambda: {"font_size": 8, "font_color": "#595959", "align": "right"},
    "madename": lambda: {"font_size": 8, "font_color": "#595959"},
}
"""The looks by family."""

WRITTEN: dict[str, Properties] = {
    model: {"bg_color": colour, "font_color": "#FFFFFF", "bold": True, "border": 1, "border_color": INK}
    for model, colour in STRONG.items()
}
"""How the written member of a matrix is framed, by model."""
