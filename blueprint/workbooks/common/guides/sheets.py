"""The sheets of words: things to try in a first hour; and to look up the glossary, where libraries differ, and all notes.

`docs/glossary.md` is made of the same terms.
"""

from collections.abc import Collection, Mapping, Sequence
from csv import DictReader
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from blueprint.inputs.catalogue import Catalogue, data_in
from blueprint.inputs.setting import in_groups, shown_value
from blueprint.language import Block
from blueprint.page.outline import LOOKED_UP, Blueprint, Box, Entry, Note, Section, Sheet, blocks_on

LEAD = "things to try: type the change, see the number beside it move, then undo it (Ctrl+Z, or empty the cell under “yours”)"
TEXTS = 53
"""Letters of what is typed and of what you will see together, which is what a small laptop has left."""
LIVE_NUMBER = "“now” is live. Undo a change before the next."
MEASURED = (
    "“delivered → then” is what the number is in this workbook as delivered, and what it becomes with nothing else changed; "
    "each was measured in a recalculated workbook."
)
UNMEASURED = "What a number becomes depends on the numbers of this workbook: type the change, and watch “now”."
"""Stands in the same place, so that no row moves: whether numbers are built-in changes no formula's place."""


class Try(NamedTuple):
    """A change and what it does; `first_hour.toml` says what each part is."""

    do: str
    type: Mapping[str, float | str]
    watch: Sequence[str]
    why: str
    sees: Mapping[str, str]
    has: Sequence[str] = ()
    lacks: Sequence[str] = ()
    first: bool = False

    def holds(self, blocks: Collection[str]) -> bool:
        """Says whether it can be tried where there are these blocks."""
        watched = any(name in blocks for name in self.watch)
        return watched and {*self.type, *self.has} <= set(blocks) and not set(self.lacks) & set(blocks)

    def watched(self, blocks: Mapping[str, Block]) -> Block:
        """Returns the number to watch in a workbook in which it can be tried."""
        return next(blocks[name] for name in self.watch if name in blocks)


Measured = Mapping[str, tuple[float, float]]
"""By what is done, what the number to watch is as delivered, and what it becomes."""


def all_tries() -> list[Try]:
    """Returns all that can be tried in one workbook or another."""
    return [Try(**each) for each in data_in(Path(__file__).with_name("first_hour.toml"))["try"]]


def measured() -> dict[str, dict[str, tuple[float, float]]]:
    """Returns what was measured, by the name of built-in numbers."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    with Path(__file__).with_name("first_hour.csv").open(encoding="utf-8", newline="") as file:
        for row in DictReader(file):
            found.setdefault(row["numbers"], {})[row["do"]] = float(row["before"]), float(row["after"])
    return found


def first_hour_sheet(blocks: Mapping[str, Block], seen: Measured) -> list[Sheet]:
    """Outlines what can be tried in a workbook; nothing where that is not much. seen: what was measured in its very numbers."""
    found = tries(blocks)
    if len(found) < 2:
        return []
    entries = [_try(number, each, blocks, seen) for number, each in enumerate(found, 1)]
    section = Section(
        "Type the change, watch the number",
        (Note(LIVE_NUMBER), Note(MEASURED if seen else UNMEASURED), *entries),
        ("type into", "this", "and watch", "now", "delivered → then" if seen else "", "what you will see"),
    )
    this = 1 + max(len(_this(each)) for each in found)
    widths = (19, this, 43, 9, 16, TEXTS - this)
    return [Sheet("First hour", LEAD, (section,), widths=widths, tries=True, first=None)]


def tries(blocks: Mapping[str, Block]) -> list[Try]:
    """Returns the things to try in a workbook."""
    return [each for each in all_tries() if each.holds(blocks)]


def _try(number: int, each: Try, blocks: Mapping[str, Block], seen: Measured) -> Entry:
    """Outlines a thing to try: what is typed where, what to watch, what that becomes if it was measured, and why."""
    watch = each.watched(blocks)
    meaning, where = Box(f"{watch.symbol}: {watch.about.meaning}", watch), Box("", blocks[next(iter(each.type))])
    moves = " → ".join(_shown(x, watch.about.decimals) for x in seen.get(each.do, ()))
    return Entry((str(number), each.do, where, _this(each), meaning, watch, moves, each.why))


def _shown(number: float, decimals: int) -> str:
    """Returns a number as its cell shows it; 0 has no sign."""
    return f"{round(number, decimals) + 0.0:.{decimals}f}".replace("-", "−")


def _this(each: Try) -> str:
    """Returns what is typed."""
    return " and ".join(dict.fromkeys(shown_value(value) for value in each.type.values()))


CODE = "The code"
"""The group of terms that stand in the code alone, and on no sheet."""
WORDS = "the words of RLHF{of}: what each means, by which symbol it goes here, and where it stands"
BESIDE = ("Demonstrations", "Pairs of responses")
"""Groups of the terms of what comes before reinforcement learning, or takes its place."""
DIFFER = (
    "what each library does, by its own defaults and code: a row for each convention in which they are not all alike"
)
LIVE = "To switch them in the workbook: blueprint build --conventions live, or --preset verl; to compare losses: --compare."
NOTES = "every note that hangs at the head of a row, sheet by sheet: why the quantity is there, where libraries differ"


class Term(NamedTuple):
    """A word with its meaning; `glossary.toml` says what each part is. avoided: words that we do not use for it."""

    group: str
    term: str
    meaning: str
    own: str = ""
    rows: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()

    def found(self, blocks: Mapping[str, Block]) -> Block | None:
        """Returns the block that stands for the term in a workbook, if one does."""
        return next((blocks[name] for name in self.rows if name in blocks), None)

    def symbol(self, blocks: Mapping[str, Block]) -> str:
        """Returns the symbol by which it goes in a workbook, "" if by none."""
        block = self.found(blocks)
        return self.own or (block.symbol if block is not None else "")


def terms() -> list[Term]:
    """Returns all terms, group by group."""
    called = {"symbol": "own", "not": "avoided"}
    return [
        Term(group, term, **{called.get(key, key): value for key, value in told.items()})
        for group, listed in data_in(Path(__file__).with_name("glossary.toml")).items()
        for term, told in listed.items()
    ]


def known(blocks: Mapping[str, Block]) -> list[Term]:
    """Returns the terms that mean something in a workbook: those that have a row there, and those that need none.

    There are none where no term has a row.
    """
    found = [term for term in terms() if term.group != CODE and (not term.rows or term.found(blocks) is not None)]
    return found if any(term.rows for term in found) else []


def glossary_sheet(blocks: Mapping[str, Block]) -> list[Sheet]:
    """Outlines the glossary; nothing where no term has a row."""
    sections = tuple(
        Section(group, tuple(_term(term, blocks) for term in found), ("stands on", "meaning"))
        for group, found in groupby(known(blocks), key=lambda term: term.group)
    )
    lead = WORDS.format(of="" if any(section.title in BESIDE for section in sections) else " PPO")
    return [Sheet("Glossary", lead, sections, widths=(30, 112), first=None)] if sections else []


def _term(term: Term, blocks: Mapping[str, Block]) -> Entry:
    block = term.found(blocks)
    return Entry((term.symbol(blocks), term.term, "" if block is None else Box("", block), term.meaning))


def differences_sheet(blocks: Mapping[str, Block], found: Catalogue) -> list[Sheet]:
    """Outlines where the libraries of a catalogue differ; nothing where the workbook has the presets as live cells."""
    if "presets.names" in blocks:
        return []
    presets, names, settings = list(found.presets.values()), tuple(found.presets), found.settings
    rows = {key: [preset.values[key] for preset in presets] for key in settings}
    tables = [
        Section(
            title,
            tuple(Entry((settings[key].symbol, settings[key].meaning, *map(shown_value, rows[key]))) for key in keys),
            names,
        )
        for title, keys in in_groups([key for key, row in rows.items() if len(set(row)) > 1], found.titles)
    ]
    read = [
        Entry((preset.name, preset.title, preset.version, "", f"{preset.why} Read in {preset.source}."))
        for preset in presets
    ]
    last = Section("The libraries, as they were read", (*read, Note(LIVE)))
    return [Sheet("Where libraries differ", DIFFER, (*tables, last), widths=(15,) * len(names), first=None)]


def notes_sheet(made: Blueprint) -> list[Sheet]:
    """Lists all notes; nothing where there are none."""
    found = {
        sheet.title: tuple(
            Entry((block.symbol, block.about.meaning, Box("", block), made.notes[block.name]))
            for block in dict.fromkeys(blocks_on(sheet))
            if made.notes.get(block.name)
        )
        for sheet in made.sheets
    }
    sections = tuple(Section(title, notes, ("stands on", "note")) for title, notes in found.items() if notes)
    return (
        [Sheet("Notes", NOTES, sections, widths=(27, 101), printed=False, first=None, tab=LOOKED_UP)]
        if sections
        else []
    )
