"""The page docs/from-rl-to-rlhf.md, made of its text in tests/data, of cells of workbooks, and of the timeline."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from textwrap import fill

from blueprint.workbooks import rlhf_ppo
from tests.page.workshop import made
from tests.scenarios import shown
from tests.story.cells import filled
from tests.story.pictures import events

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "from-rl-to-rlhf.md"
PICTURED = DOCS / "pictures"
TEXT = Path(__file__).parents[1] / "data" / "from-rl-to-rlhf.md"
START = Path(rlhf_ppo.__file__).parent / "start.toml"


def pieces() -> str:
    """Returns a table of the pieces of PPO that Start of the default workbook lists: its name, cell, symbol and number."""
    of = made()
    lines = ["| | piece | cell | on the first token, or of the batch |", "|---|---|---|---|"]
    for number, (name, *rows) in enumerate(tomllib.loads(START.read_text(encoding="utf-8"))["pieces"], 1):
        row = next(each for each in rows[-1].split() if each in of.blocks)
        block = of.blocks[row]
        first = {"n": 1, "t": 4} if len(block.axes) == 2 else {str(axis.letter): 1 for axis in block.axes}
        found = of.show(row, **first)
        lines.append(f"| {number} | {name} | `{found.cell}` | {block.symbol} = {shown(found.value)} |")
    return "\n".join(lines)


def timeline() -> str:
    """Returns the list of the timeline, a line for each event."""
    return "\n".join(f"- {each.year}, {each.name}: {each.said} ({each.source})" for each in events())


def page() -> str:
    """Returns the whole page."""
    text = TEXT.read_text(encoding="utf-8")
    made_of = filled(text.replace("{pieces}", pieces()).replace("{timeline}", timeline()))
    return "\n\n".join(map(wrapped, made_of.split("\n\n")))


def wrapped(block: str) -> str:
    """Wraps the lines of a paragraph anew, since numbers are shorter than their fields; tables, lists and code stay."""
    if not re.match(r"[\w“*∇]", block):
        return block
    return fill(block, 150, break_long_words=False, break_on_hyphens=False) + "\n" * block.endswith("\n")
