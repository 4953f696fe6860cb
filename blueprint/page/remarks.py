"""Notes: what stands at the head of a row for those who ask: meaning, range, why it is there, where it comes from."""

from __future__ import annotations

from blueprint.language import Block
from blueprint.page.layout import Layout

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
