"""Checks: the workbook's own doubts, each with its distance, its tolerance and a verdict in words; and the numbers of an outside
witness, typed where the workbook's own stand."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from blueprint.language import Block, at_most, block, changes, equal, link, maximum, typed, where
from blueprint.page.outline import Item, Line, Note, Section, Sheet, Unchanged
from blueprint.workbooks.common.definitions.checks import TOLERANCE, Identity, master
from blueprint.workbooks.common.definitions.writing_rows import defined, n, rows, t

AFTER_A_CHANGE = (
    "They belong to the inputs as delivered and count as long as none is changed. Later: blueprint check FILE"
)
NEAR = 1e-9
WITNESS, NEAREST = "witness.", "witness.near"
"""How the names of a witness's numbers begin, and the one among them that is how far off they may be."""
OWN = ("distance.", "verdict.", "largest.", "check.witness", "inputs.changed")
"""How the names of what is computed from them begin: a witness knows nothing of it."""


class Witnessed(NamedTuple):
    """What a witness computed: single numbers by the names of their blocks, and how it did (device, format, version)."""

    numbers: Mapping[str, float]
    told: str


def _beside(witnessed: Witnessed, shown: Sequence[Block]) -> tuple[Section, Block, dict[Block, object]]:
    """Puts the witness's numbers beside the sheet's; they are counted as long as the inputs are those delivered.

    Returns the section, how far off the farthest number is, and what is typed.
    """
    changed = defined(block("inputs.changed", (), "changed", "inputs that were changed", decimals=0), changes())
    near = typed(NEAREST, (), "near", "largest distance allowed", decimals=12)
    lines, given, largest = [], {near: NEAR}, None
    for own in (each for each in dict.fromkeys(shown) if each.name in witnessed.numbers):
        line, largest = _line(own, near, largest)
        lines.append(Line(line))
        given[line[1]] = witnessed.numbers[own.name]
    agrees = block("check.witness", (), "|sheet−w|", "an outside witness agrees")
    off = defined(agrees, where(equal(changed, 0), largest if largest is not None else 0, 0))
    items: tuple[Item, ...] = (
        Note(f"Computed by {witnessed.told}."),
        Note(AFTER_A_CHANGE),
        Line((changed,)),
        Line((near,)),
        *lines,
    )
    return (
        Section("An outside witness beside the sheet", items, ("sheet", "witness", "distance", "verdict", "largest")),
        off,
        dict(given),
    )


def _line(own: Block, near: Block, before: Block | None) -> tuple[tuple[Block, ...], Block]:
    """Compares one number; returns its cells, and the largest distance up to here, the last of them."""
    name, symbol = own.name, own.symbol
    theirs = typed(f"{WITNESS}{name}", (), f"{symbol}_w", f"torch: {own.about.meaning}")
    off = defined(block(f"distance.{name}", (), "off", "distance from the witness", decimals=12), abs(own - theirs))
    verdict = defined(
        block(f"verdict.{name}", (), "verdict", "OK, or LOOK at the row"), where(at_most(off, near), "OK", "LOOK")
    )
    largest = defined(
        block(f"largest.{name}", (), "largest", "largest distance up to here", decimals=12),
        off if before is None else maximum(before, off),
    )
    return (link(f"checks.{name}", own), theirs, off, verdict, largest), largest


LEAD = "what must hold whatever one types: how far off it is, how far it may be, OK or LOOK; errors such as #N/A also count as LOOK"


def checks_sheet(
    head: tuple[Block, ...],
    residuals: Sequence[Block | Identity],
    identities: list[Identity],
    witnessed: Witnessed | None = None,
    shown: Sequence[Block] = (),
) -> tuple[Sheet, Block, dict[Block, object]]:
    """Outlines the checks; returns the sheet, the one verdict on all, and what is typed there (the tolerances).

    head: rows that stay in view, the last of them the mask. residuals: rows or numbers that must be 0.
    identities: definitions run where their result is known otherwise. witnessed: numbers of an outside witness, to stand beside
    those of the workbook that are shown.
    """
    section, off, typed = _beside(witnessed, shown) if witnessed else (None, None, {})
    residuals = [*residuals, *rows(off)]
    judged, verdict = master(
        each.residual if isinstance(each, Identity) else each for each in (*residuals, *identities)
    )
    needed = [row for each in residuals for row in (each if isinstance(each, Identity) else Identity((), each)).listed]
    sections = [
        Section(
            "The checks",
            (Unchanged("inputs: unchanged since the file was made"), Line((verdict,)), *map(Line, judged)),
            ("distance", "allowed", "verdict", "Σ failed"),
        ),
        Section("Where: the distance in every column", (Note("A number other than 0 is the place to look."), *needed)),
    ]
    if identities:
        listed = tuple(row for identity in identities for row in identity.listed)
        sections.append(Section("Identities: the same recursion where its result is known", listed))
    sections += [section] if section else []
    typed = {check.tolerance: TOLERANCE for check in judged} | typed
    return Sheet("Checks", LEAD, tuple(sections), (n, t), head, head[-1]), verdict, typed
