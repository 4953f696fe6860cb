"""Start: what this is, the loss and its parts, where every piece stands, and how the numbers flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from blueprint.language import Block
from blueprint.page.outline import Flow, Note, Piece, Sample, Section, Sheet, Unchanged

WIDTHS = (12, 22, 4, 20, 4, 20, 4, 20, 4, 22, 22)
COLUMNS = ("value", "stands on", "", "equation", "", "", "", "", "", "meaning")
LEGEND = (
    Sample("0.9", "typed", "line", "blue on cream: typed; type your own number here"),
    Sample("0.7", "typed", "weights", "blue: a weight, in a red frame"),
    Sample("0.4321", "formula", "", "black: a formula"),
    Sample("0.4321", "formula", "key", "pale blue and bold: a result that one looks for"),
    Sample("0.4321", "link", "", "green and slanted: repeated from another sheet"),
    Sample(
        "0.0000", "formula", "", "grey and slanted: outside the response (mask 0), not part of the loss", faded=True
    ),
)
READING = (
    "RLHF PPO from the words of a prompt to the last number of the loss, for models small enough to check by hand.",
    "A column is one decision, on every sheet: it reads a word and writes the next. A row is a quantity with one formula.",
    "Type into cream cells and red-framed weights; everything else follows. The sheet Walk derives one decision.",
)
CHECKING = (
    "Recalculate everything (Excel: Ctrl+Alt+F9; LibreOffice: Ctrl+Shift+F9): all checks must still say OK.",
    "Any cell in words and numbers, on the command line: blueprint explain FILE 'Loss!N51'",
    "The sheet Delivered holds what was typed when the file was made, and says what was changed since.",
)


class Told(NamedTuple):
    """What the first sheet says of the workbook: title and text of its numbers, and the facts of its making."""

    title: str
    about: str
    facts: Mapping[str, str]


def start_sheet(told: Told, parts: list[Piece], pieces: list[Piece], flow: Flow, verdict: Block) -> Sheet:
    """Outlines the first sheet.

    parts: the total loss and what it is made of. pieces: every piece in the order of derivation.
    """
    made = "made by " + " · ".join(f"{name} {text}" for name, text in told.facts.items())
    sections = [
        Section("What this is", tuple(map(Note, READING))),
        Section("Does everything add up?", (Piece("all checks", verdict, verdict), Unchanged("inputs"))),
        Section("The map: each box leads to its row, and each sheet leads back here", (flow,)),
        Section("The pieces, in the order of computation", tuple(pieces), COLUMNS),
        Section("Colours", LEGEND),
        Section("How to check this file", (*map(Note, CHECKING), Note(made))),
    ]
    if parts:
        sections.insert(2, Section("The loss", tuple(parts), COLUMNS))
    return Sheet("Start", f"{told.title}: {told.about}", tuple(sections), widths=WIDTHS)
