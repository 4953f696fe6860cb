"""What one may type into a cell, what the cell says of it, and the notes at the heads of rows."""

from typing import Any

from blueprint.language import Block
from blueprint.page import grid
from blueprint.page.layout import Layout
from blueprint.page.outline import Blank

Rule = dict[str, Any]
LARGEST = 1e6
FARTHEST = 1e15
"""How far from 0 a number in a blank may be."""
TITLE_LETTERS, MESSAGE_LETTERS = 32, 255


def rule_of(block: Block, layout: Layout) -> Rule:
    """Returns the rule of a typed block: a list of words, a range of numbers, any number, or any word."""
    known = layout.blueprint
    if block in known.picked:
        return _picked(block, layout) | _message(block, "pick one")
    if block in known.choices:
        return {"validate": "list", "source": f"={layout.range(known.choices[block])}"} | _message(
            block, "pick one, or leave it empty"
        )
    if block.text:
        return {"validate": "any"} | _message(block, "a word")
    low, high = known.ranges.get(block, (0.0 if block.limit else -LARGEST, LARGEST))
    kind = "decimal" if block.about.decimals else "integer"
    expected = f"{low:g} … {high:g}" if block in known.ranges else "a number"
    rule: Rule = {"validate": kind, "criteria": "between", "minimum": low, "maximum": high}
    if block.limit:
        cell, expected = grid.address(*layout.corners(block)[:2]), f"{low:g} … {high:g}, or off"
        rule = {
            "validate": "custom",
            "value": f'=OR({cell}="off",AND(ISNUMBER({cell}),{cell}>={low:g},{cell}<={high:g}))',
        }
    return rule | _message(block, expected) | {"error_message": f"{block.about.meaning}: {expected}"[:MESSAGE_LETTERS]}


def _picked(block: Block, layout: Layout) -> Rule:
    """Offers the numbers of the members: those at the head of a sheet along time, else a list."""
    choice, axis = layout.blueprint.chosen, layout.blueprint.picked[block]
    assert choice is not None
    size = layout.values.size(axis)
    if axis is not choice.across[-1]:
        return {"validate": "list", "source": [str(number + axis.start) for number in range(size)]}
    sheet = next(sheet.title for sheet in layout.blueprint.sheets if sheet.across == choice.across)
    first, last = (grid.address(grid.NUMBER_ROW, grid.GROUPS + number, fixed=True) for number in (1, size))
    return {"validate": "list", "source": f"={grid.quoted(sheet)}!{first}:{last}"}


def _message(block: Block, expected: str) -> Rule:
    """Says what the cell is for; the title is the key by which files and commands know it."""
    name, symbol = block.name.removesuffix(".yours"), block.symbol.removesuffix("_yours")
    title = f"{name}  {symbol}" if len(name) + len(symbol) + 2 <= TITLE_LETTERS else name[:TITLE_LETTERS]
    about = block.about.meaning + f" ({block.about.unit})" * (block.about.unit not in ("", expected))
    return {"input_title": title, "input_message": f"{about}: {expected}"[:MESSAGE_LETTERS], "ignore_blank": True}


def rule_of_blank(number: int, blank: Blank) -> Rule:
    """Returns the rule of a blank's cells: any number, typed or by a formula; and the message that says what is asked."""
    about, points = blank.block.about, f"{blank.weight:g} point{'s' * (blank.weight != 1)}"
    expected = "a number" if blank.asks == "number" else "a formula that gives a number"
    digits = f"{about.decimals} decimals" if about.decimals != 1 else "1 decimal"
    return {
        "validate": "decimal",
        "criteria": "between",
        "minimum": -FARTHEST,
        "maximum": FARTHEST,
        "input_title": f"blank {number}  {about.symbol}"[:TITLE_LETTERS],
        "input_message": f"{about.meaning}: {expected}, to {digits} ({points})"[:MESSAGE_LETTERS],
        "error_message": f"Blank {number} takes {expected}; write 0.5 or, where your program does, 0,5.",
        "ignore_blank": True,
    }


WIDTH, LETTERS_PER_LINE, LINE_HEIGHT = 400, 62, 15
"""Of a note: how wide it is, in pixels, the letters of a line, and the pixels that a line takes."""


def note_of(block: Block, layout: Layout) -> str:
    """Returns the note of a block, "" where there is nothing to say besides the name of the row."""
    about, more = block.about, layout.blueprint.notes.get(block.name, "")
    unit, source = f"Range: {about.unit}." * bool(about.unit), f"Source: {about.source}." * bool(about.source)
    parts = [part for part in (more, unit, source) if part]
    return "\n".join([f"{about.symbol} ({block.name}): {about.meaning}.", *parts] if parts else [])


def note_options(text: str) -> dict[str, object]:
    """Returns the size of a note's box, so that its text fits."""
    lines = sum(1 + len(line) // LETTERS_PER_LINE for line in text.split("\n"))
    return {"width": WIDTH, "height": LINE_HEIGHT * (lines + 1), "font_size": 9, "color": "#FFFFE1"}
