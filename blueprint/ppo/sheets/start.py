"""Start: what this is, the loss and its parts, and where every piece stands."""

from __future__ import annotations

from blueprint.language import Block
from blueprint.page.outline import Note, Piece, Section, Sheet

LEAD = "every number is a live formula"


def start_sheet(title: str, about: str, parts: list[Piece], pieces: list[Piece], verdict: Block) -> Sheet:
    """Outlines the first sheet.

    parts: the total loss and what it is made of. pieces: every piece in the order of derivation.
    """
    what = (
        Note(about),
        Note("Type into cream cells and red-framed weights; everything else follows. The links lead to the rows."),
        Note(
            "A column is one decision, on every sheet: it reads a word and writes the next. A row is one quantity with one formula."
        ),
        Note(
            "Blue: typed · black: formula · green: repeated from another sheet · grey: outside the response, not part of the loss."
        ),
    )
    sections = [
        Section("What this is", what),
        Section("Does everything add up?", (Piece("all checks", verdict, verdict),)),
    ]
    if parts:
        sections.append(Section("The loss", tuple(parts), ("value", "where")))
    sections.append(
        Section(
            "The pieces, in the order of computation",
            tuple(pieces),
            ("value", "where"),
        )
    )
    return Sheet("Start", f"RLHF PPO by hand · {title} · {LEAD}", tuple(sections))
