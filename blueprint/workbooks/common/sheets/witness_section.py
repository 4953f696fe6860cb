"""Beside the sheet: the numbers of an outside witness, typed where the workbook's own stand."""

from collections.abc import Mapping
from typing import NamedTuple

from blueprint.language import Block, at_most, block, changes, equal, link, maximum, typed, where
from blueprint.page.outline import Item, Line, Note, Section

AFTER_A_CHANGE = (
    "They belong to the inputs as delivered and count as long as none is changed. Later: blueprint check FILE"
)
NEAR = 1e-9
WITNESS, NEAREST = "witness.", "witness.near"
"""How the names of a witness's numbers begin, and the one among them that is how far off they may be."""
OWN = ("distance.", "verdict.", "largest.", "check.witness", "inputs.changed")
"""How the names of what is computed from them begin: a witness knows nothing of it."""
HEADINGS = ("sheet", "witness", "distance", "verdict", "largest")


class Witnessed(NamedTuple):
    """What a witness computed: single numbers by the names of their blocks, and how it did (device, format, version)."""

    numbers: Mapping[str, float]
    told: str


class Beside(NamedTuple):
    """The section, how far off the farthest number is, and what is typed."""

    section: Section
    residual: Block
    typed: dict[Block, object]


def beside(witnessed: Witnessed, shown: list[Block]) -> Beside:
    """Puts the witness's numbers beside the sheet's; they are counted as long as the inputs are those delivered."""
    changed = block("inputs.changed", (), "changed", "inputs that were changed", decimals=0)
    changed[()] = changes()
    near = typed(NEAREST, (), "near", "largest distance allowed", decimals=12)
    lines, given, largest = [], {near: NEAR}, None
    for own in (each for each in shown if each.name in witnessed.numbers):
        line, largest = _line(own, near, largest)
        lines.append(Line(line))
        given[line[1]] = witnessed.numbers[own.name]
    off = block("check.witness", (), "|sheet−w|", "an outside witness agrees")
    off[()] = where(equal(changed, 0), largest if largest is not None else 0, 0)
    items: tuple[Item, ...] = (
        Note(f"Computed by {witnessed.told}."),
        Note(AFTER_A_CHANGE),
        Line((changed,)),
        Line((near,)),
        *lines,
    )
    return Beside(Section("An outside witness beside the sheet", items, HEADINGS), off, dict(given))


def _line(own: Block, near: Block, before: Block | None) -> tuple[tuple[Block, ...], Block]:
    """Compares one number; returns its cells, and the largest distance up to here, the last of them."""
    name, symbol = own.name, own.symbol
    theirs = typed(f"{WITNESS}{name}", (), f"{symbol}_w", f"torch: {own.about.meaning}")
    off = block(f"distance.{name}", (), "off", "distance from the witness", decimals=12)
    verdict = block(f"verdict.{name}", (), "verdict", "OK, or LOOK at the row")
    largest = block(f"largest.{name}", (), "largest", "largest distance up to here", decimals=12)
    off[()] = abs(own - theirs)
    verdict[()] = where(at_most(off, near), "OK", "LOOK")
    largest[()] = off if before is None else maximum(before, off)
    return (link(f"checks.{name}", own), theirs, off, verdict, largest), largest
