"""What a page says of a cell: what may be typed when it is entered, and the note at the head of its row."""

from __future__ import annotations

from typing import Any

from blueprint.language import Block
from blueprint.page import contents, grid
from blueprint.page.layout import Layout

Rule = dict[str, Any]
LARGEST = 1e6
TITLE_LETTERS, MESSAGE_LETTERS = 32, 255


def rule_of(block: Block, layout: Layout) -> Rule:
    """Returns the rule of a typed block: a list of words, a range of numbers, any number, or any word."""
    known = layout.blueprint
    if block in known.picked:
        return _picked(block, layout) | _message(block, "pick one")
    if block in known.choices:
        words = contents.range_of(known.choices[block], layout)
        return {"validate": "list", "source": f"={words}"} | _message(block, "pick one, or leave it empty")
    if block.text:
        return {"validate": "any"} | _message(block, "a word")
    if block.limit:
        return _limit(block, *known.ranges.get(block, (0.0, LARGEST)), layout)
    if block in known.ranges:
        return _between(block, *known.ranges[block])
    return _between(block, -LARGEST, LARGEST, "a number")


def _between(block: Block, low: float, high: float, told: str = "") -> Rule:
    told = told or f"{low:g} … {high:g}"
    kind = "decimal" if block.about.decimals else "integer"
    rule = {"validate": kind, "criteria": "between", "minimum": low, "maximum": high}
    return rule | _message(block, told) | {"error_message": f"{block.about.meaning}: {told}"[:MESSAGE_LETTERS]}


def _limit(block: Block, low: float, high: float, layout: Layout) -> Rule:
    """Lets a number between two others be typed, or the word off."""
    top, left, *_ = layout.places[block].corners(block, layout.values)
    cell, told = f"{grid.letters(left)}{top + 1}", f"{low:g} … {high:g}, or off"
    rule = {"validate": "custom", "value": f'=OR({cell}="off",AND(ISNUMBER({cell}),{cell}>={low:g},{cell}<={high:g}))'}
    return rule | _message(block, told) | {"error_message": f"{block.about.meaning}: {told}"[:MESSAGE_LETTERS]}


def _picked(block: Block, layout: Layout) -> Rule:
    """Offers the numbers of the members: those at the head of a sheet along time, else a list."""
    choice = layout.blueprint.chosen
    assert choice is not None
    axis = layout.blueprint.picked[block]
    size = layout.values.size(axis)
    if axis is not choice.across[-1]:
        return {"validate": "list", "source": [str(number + axis.start) for number in range(size)]}
    sheet = next(s.title for s in layout.blueprint.sheets if s.across == choice.across)
    first, last = grid.letters(grid.GROUPS + 1), grid.letters(grid.GROUPS + size)
    row = grid.NUMBER_ROW + 1
    return {"validate": "list", "source": f"={grid.quoted(sheet)}!${first}${row}:${last}${row}"}


def _message(block: Block, told: str) -> Rule:
    """Says what the cell is for; the title is the key by which files and commands know it."""
    name, symbol = block.name.removesuffix(".yours"), block.symbol.removesuffix("_yours")
    title = f"{name}  {symbol}" if len(name) + len(symbol) + 2 <= TITLE_LETTERS else name
    about = block.about.meaning + f" ({block.about.unit})" * (block.about.unit not in ("", told))
    message = f"{about}: {told}"[:MESSAGE_LETTERS]
    return {"input_title": title[:TITLE_LETTERS], "input_message": message, "ignore_blank": True}


LETTERS_PER_LINE, LINE_HEIGHT = 62, 15
WIDTH = 400


def note_of(block: Block, layout: Layout) -> str:
    """Returns the note of a block, "" where there is nothing to say besides the name of the row."""
    about, more = block.about, layout.blueprint.notes.get(block.name, "")
    if not (more or about.source or about.unit):
        return ""
    symbol = f"{about.symbol} ({block.name}): {about.meaning}."
    unit, source = f"Range: {about.unit}." * bool(about.unit), f"Source: {about.source}." * bool(about.source)
    return "\n".join(part for part in (symbol, more, unit, source) if part)


def note_options(text: str) -> dict[str, object]:
    """Returns the size of a note's box, so that its text fits."""
    lines = sum(1 + len(line) // LETTERS_PER_LINE for line in text.split("\n"))
    return {"width": WIDTH, "height": LINE_HEIGHT * (lines + 1), "font_size": 9, "color": "#FFFFE1"}
