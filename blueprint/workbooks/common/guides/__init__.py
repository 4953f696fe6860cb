"""Guides: what helps to read a workbook and computes nothing: notes, models, loop, glossary, things to try, differences, and what
stands on the sheet One page.

Notes are TOML: by the name of a block its note. A key that begins with a dot is the end of a name: it stands for every block that
is called so. Under `beside` stands what is said instead where another block is in the workbook, too. `docs/glossary.md` is made of
the same terms as the glossary.

What is said of a library was read in its source at the version named, most of it also run. TRL 1.12 is the last release with PPO; a
name with seven digits is a commit.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from csv import DictReader
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.inputs.catalogue import Catalogue, Setting, data_in, in_groups, shown_value
from blueprint.language import Block
from blueprint.page.outline import LOOKED_UP, Blueprint, Box, Entry, Flow, Note, Section, Sheet, blocks_on
from blueprint.page.outline.items import Columns, OnePage, PageMatrix, PageRow, PageSection, Panel, Tile
from blueprint.workbooks.common.sheets.start import ABOUT

LEAD = "things to try: type the change, see the number beside it move, then undo it (Ctrl+Z, or empty the cell under “yours”)"
TEXTS = 50
"""Letters of what is typed and of what you will see together, which is what a small laptop has left."""
LIVE_NUMBER = "“now” is live. Undo a change before the next."
MEASURED = (
    "“delivered → then” is what the number is in this workbook as delivered, and what it becomes with nothing else changed; "
    "each was measured in a recalculated workbook."
)
PLACE, ROOM = "{sheet}, row {row}", 7
"""Where one types, and how many letters more have room beside it."""
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
    widths = (19, this, 43, 9, 19, TEXTS - this)
    return [Sheet("First hour", LEAD, (section,), widths=widths, tries=True, first=None)]


def tries(blocks: Mapping[str, Block]) -> list[Try]:
    """Returns the things to try in a workbook."""
    return [each for each in all_tries() if each.holds(blocks)]


def _try(number: int, each: Try, blocks: Mapping[str, Block], seen: Measured) -> Entry:
    """Outlines a thing to try: what is typed where, what to watch, what that becomes if it was measured, and why."""
    watch = each.watched(blocks)
    meaning, where = (
        Box(f"{watch.symbol}: {watch.about.meaning}", watch),
        Box(_into(each, blocks), blocks[next(iter(each.type))]),
    )
    moves = " → ".join(_shown(x, watch.about.decimals) for x in seen.get(each.do, ()))
    return Entry((str(number), each.do, where, _this(each), meaning, watch, moves, each.why))


def _into(each: Try, blocks: Mapping[str, Block]) -> str:
    """Returns the words of the link to where one types, if it is not the row alone: another row is named where there is room."""
    others = [blocks.get(name.removesuffix(".yours"), blocks[name]).symbol for name in each.type][1:]
    named = "".join(f", and {symbol}" for symbol in others)
    return PLACE + named if 0 < len(named) <= ROOM else ""


def _shown(number: float, decimals: int) -> str:
    """Returns a number as its cell shows it; 0 has no sign."""
    return f"{round(number, decimals) + 0.0:.{decimals}f}".replace("-", "−")


def _this(each: Try) -> str:
    """Returns what is typed."""
    return " and ".join(dict.fromkeys(shown_value(value) for value in each.type.values()))


CODE = "The code"
"""The group of terms that stand in the code alone, and on no sheet."""
WORDS = "the words of {subject}: what each means, by which symbol it goes here, and where it stands"
OF_MODELS = {"Demonstrations", "Pairs of responses", "Groups of responses", "A whole run"}
"""Groups of terms that only a language model has."""
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
    here = {term.term: term.group for term in known(blocks) if term.found(blocks) is not None}
    other, has_reference = OF_MODELS & {*here.values()}, here.keys() & {"KL", "KL coefficient"}
    subject = "RLHF" if other or has_reference else "reinforcement learning"
    if "ratio" in here and not other:
        subject = "RLHF PPO" if has_reference else "PPO"
    lead = WORDS.format(subject=subject)
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
    listed = Sheet("Notes", NOTES, sections, widths=(27, 101), printed=False, first=None, tab=LOOKED_UP)
    return [listed] if sections else []


COLOURS = {
    "old": "blue",
    "reference": "grey",
    "policy": "orange",
    "reward": "purple",
    "critic": "green",
    "none": "none",
}
"""The colour of each model, on One page and wherever else one is told by its colour."""
RESULT = "loss L"


def with_one_page(made: Blueprint, path: Path | None) -> Blueprint:
    """Adds the page of a kind's file to a blueprint, where there is one, and gives its sheets the colours of their models.

    A row may name several blocks, of which a level has one: the first that is there is shown, and goes by the first name. It may
    have words for each of them, with || between; where none of its panel's matrices is there, the last ones say so.
    """
    if path is None:
        return made
    data = dict(data_in(path))
    models = data.pop("sheets", {})
    # A sheet of a later step, such as Policy 2, is like the first one.
    sheets = [
        replace(sheet, colour=COLOURS[models.get(re.sub(r" [\d.]+$", "", sheet.title), "none")])
        for sheet in made.sheets
    ]
    page, known = one_page_in(data), {block.name for block in made.blocks()}
    named = (row.block.split() for panel in page.panels for section in panel.sections for row in section.rows)
    there = {names[0]: next((name for name in names if name in known), names[0]) for names in named if names}
    panels = tuple(
        replace(
            panel,
            sections=tuple(
                replace(section, rows=tuple(_of_level(row, there, _is_typed(panel, known)) for row in section.rows))
                for section in panel.sections
            ),
        )
        for panel in page.panels
    )
    return replace(made, sheets=tuple(sheets), one_page=replace(page, panels=panels))


def _is_typed(panel: Panel, known: Collection[str]) -> bool:
    """Tells whether a panel's probabilities are not there: what was read off them elsewhere is typed."""
    return bool(panel.matrices) and not any(each.block in known for each in panel.matrices)


def _of_level(row: PageRow, there: Mapping[str, str], typed: bool) -> PageRow:
    """Returns a row with the blocks that are there. typed: its panel has no probabilities."""
    value = row.value
    for first, found in there.items():
        value = value.replace(f"({first})", f"({found})")
    if not row.block:
        return replace(row, value=value)
    names, words = row.block.split(), row.words.split(" || ")
    shown = len(words) if typed else names.index(there[names[0]])
    return replace(row, block=there[names[0]], id=row.id or names[0], words=words[min(shown, len(words) - 1)])


def one_page_in(data: dict[str, Any]) -> OnePage:
    """Returns the page that a file describes; its keys are the fields of `page.outline.items.OnePage`."""
    told: dict[str, Any] = {"result": RESULT, **_coloured(data)}
    panels = tuple(map(_panel, told.pop("panel")))
    tiles = tuple(Tile(**each) for each in told.pop("tile", ()))
    columns = {name: Columns(**each) for name, each in told.pop("columns", {}).items()}
    return OnePage(panels=panels, tiles=tiles, columns=columns, **told)


def _panel(told: dict[str, Any]) -> Panel:
    sections = (
        PageSection(each.get("title", ""), tuple(PageRow(**row) for row in each["rows"]))
        for each in told.pop("section", ())
    )
    matrices = (PageMatrix(**each) for each in told.pop("matrices", ()))
    return Panel(matrices=tuple(matrices), sections=tuple(sections), **told)


def _coloured(told: Any) -> Any:
    """Says the colour of a model wherever one is said; lists become tuples."""
    match told:
        case dict():
            return {key: COLOURS[each] if key == "model" else _coloured(each) for key, each in told.items()}
        case list():
            return tuple(map(_coloured, told))
        case _:
            return told


HEADS = "Hover over a row's name to see its note: what it is for, and where libraries differ."
POINTS = {
    "First hour": "things to try, and what you will see",
    "Glossary": "what the words and symbols mean",
    "Where libraries differ": "conventions by library",
    "Notes": "all notes as a list",
}
"""What each sheet of words is for, as Start says it."""
BEFORE = "The pieces"
"""What the section of Start begins with before which models and loop stand."""

ASKED, MOST_ASKED = "Which number answers my question?", 9
"""The section of what is asked most, and how many questions it has at most."""

GIVEN = "No network is run here: what the models said is typed. A model without a link has no numbers in this workbook."

LOOP = (
    "The upper row and the left box happen once per rollout: log-probs, values, advantages and returns are stored. The rest "
    "happens once per minibatch, in each epoch over the rollout."
)
ONE_STEP = (
    "This workbook is one turn of the inner loop: one rollout, one minibatch (the whole batch), the loss after one step. "
    "In the first minibatch π_θ is still π_old, and every ratio is 1; here a step has been taken, so that ratios can be seen."
)
STEPS = (
    "This workbook is the inner loop: one rollout, and a step of the optimiser for each minibatch of every epoch. "
    "In the first π_θ is still π_old, and every ratio is 1; then the ratio leaves 1."
)
LIST = "The sheets"
"""The title of the section of Start that lists the sheets."""
OPTIMISER = "optimiser.by"
"""The block that says that an optimiser takes the steps."""
ON, BACK, UP, DOWN, AGAIN, LINE, DASH = "→", "←", "↑", "↓", "↗", "───────────", "──"


def with_guides(made: Blueprint, built_in: str, models: Path | None, presets: Catalogue | None) -> Blueprint:
    """Adds models and loop to Start, and the sheets of words: after Start what to try, at the end what to look up.

    built_in: the name of the built-in numbers that these are, so that what was measured in them can be told; "" if none.
    models: the file of the models and the loop. presets: what libraries do, for the sheet where they differ.
    """
    blocks = {block.name: block for block in made.blocks()}
    start, *others = made.sheets
    first = first_hour_sheet(blocks, measured().get(built_in, {}))
    last = [*glossary_sheet(blocks), *(differences_sheet(blocks, presets) if presets else []), *notes_sheet(made)]
    sections = _pointed(start.sections, [sheet.title for sheet in (*first, *last)])
    if models:
        texts, titles = data_in(models), [section.title for section in sections]
        at = next((at for at, title in enumerate(titles) if title.startswith(BEFORE)), titles.index(LIST))
        sections[at:at] = [models_section(blocks, texts), *loop_section(blocks, texts["loop"])]
    titles = [section.title for section in sections]
    if LIST in titles:  # a Start of one's own may have no room for it
        # Under the map: whoever looks for a number reads no further.
        at = titles.index(ABOUT if ABOUT in titles else LIST)
        sections[at:at] = asked_section(blocks)
    return replace(made, sheets=(replace(start, sections=tuple(sections)), *first, *others, *last))


def asked_section(blocks: Mapping[str, Block]) -> list[Section]:
    """Lists what is asked most, each with the symbol of the row that answers and a link to it."""
    rows = (
        (each, next((blocks[name] for name in each["rows"] if name in blocks), None))
        for each in data_in(Path(__file__).with_name("asked.toml"))["asked"]
    )
    found = [(_asks(each, row), row) for each, row in rows if row is not None][:MOST_ASKED]
    entries = (Entry((row.symbol, Box("{sheet}, row {row}", row), asks)) for asks, row in found)
    return [Section(ASKED, tuple(entries))] if found else []


def _asks(each: Mapping[str, Any], row: Block) -> str:
    """Returns a question, and what libraries call the mean of the row in their logs."""
    logged = each.get("logged", {}).get(row.name)
    return f"{each['asks']} In logs: {logged}" if logged else str(each["asks"])


def _pointed(sections: Sequence[Section], guides: list[str]) -> list[Section]:
    """Says where Start says what the workbook is that rows have notes, and which sheets help."""
    points = [*([HEADS] if "Notes" in guides else []), " · ".join(f"{title}: {POINTS[title]}" for title in guides)]
    at = next((at for at, section in enumerate(sections) if section.title == ABOUT), 0)
    said = replace(sections[at], items=(*sections[at].items, *map(Note, points)))
    return [*sections[:at], said, *sections[at + 1 :]]


def models_section(blocks: Mapping[str, Block], texts: Mapping[str, Any]) -> Section:
    """Lists the models, frozen and trained, and says whether they run here, how often, and where a gradient flows."""
    runs = any(name.endswith(".E") for name in blocks) and "told_with_weights" in texts
    begun = "told_with_steps" if OPTIMISER in blocks else "told_with_weights"
    notes = Note(texts["told"]), Note(texts[begun] if runs else GIVEN), Note(texts["passes"])
    models = []
    for model in texts["model"]:
        leads = next((Box("{sheet}", blocks[name]) for name in model["rows"] if name in blocks), "")
        models.append(Entry((model["symbol"], model["name"], model["state"], leads, "", model["begins"])))
    return Section("The models", (*models, *notes), ("in training", "stands on", "", "begins"))


def loop_section(blocks: Mapping[str, Block], texts: Mapping[str, str]) -> list[Section]:
    """Draws the loop in which this step stands, in the words of its kind; nothing where no loss is."""
    if "total_loss" not in blocks:
        return []

    def box(title: str, *names: str) -> Box:
        return Box(title, next((blocks[name] for name in names if name in blocks), None))

    step = box("gradient step on θ", "update_step")
    outer = (
        box(texts["begin"], "given", "actions"), ON, box(texts["rollout"], "word_written", "old.logprobs"), ON,
        box(texts["rewards"], "rewards", "reward"), ON,
        box(texts.get("advantages", "GAE, whitening"), "advantages_used", "group.advantage", "chosen.ratio"), ON,
        box("for each epoch"), ON, box("for each minibatch"),
    )  # fmt: skip
    down = (UP, "", "", "", "", AGAIN, LINE, DASH, "next minibatch ↑", "", DOWN)
    back = (
        box(texts.get("again", "π_θ is copied into π_old, V into V_old")), BACK, box("all epochs are over"), BACK, step, BACK,
        box("loss", "total_loss"), BACK, box(texts.get("losses", "clip, value loss …"), "surrogate", "margin.right"), BACK,
        box(texts.get("ratio", "ratio"), "ratio", "margin"),
    )  # fmt: skip
    return [
        Section(
            "The loop around this step",
            (
                Flow((outer, down, back)),
                Note(texts.get("stored", LOOP)),
                Note(texts.get("steps", STEPS) if OPTIMISER in blocks else texts.get("once", ONE_STEP)),
            ),
        )
    ]


REPEATED = ("library.", "presets.")
"""What begins the name of a block that is another one over again, for each library or in the table of presets."""


def notes_in(
    places: Iterable[Path], settings: Mapping[str, Setting] | None = None, there: Collection[str] = ()
) -> dict[str, str]:
    """Reads the notes of files and folders, and of the records of settings. there: which blocks the workbook has."""
    notes = {key: setting.note for key, setting in (settings or {}).items() if setting.note}
    instead: dict[str, str] = {}
    for place in places:
        for file in sorted(place.glob("*.toml")) if place.is_dir() else [place]:
            found = data_in(file)
            notes |= {key: note for key, note in found.items() if key != "beside"}
            for beside, own in found.get("beside", {}).items():
                instead |= own if beside in there else {}
    return notes | instead


def note_of(name: str, notes: Mapping[str, str]) -> str:
    """Return the note of a block: its own, else that of the longest ending of its name, else nothing.

    `policy.delta.E` asks for `policy.delta.E`, then `.delta.E`, then `.E`. `library.gamma` asks for `library.gamma`, then
    what `gamma` asks for.
    """
    if name in notes:
        return notes[name]
    for prefix in REPEATED:
        if name.startswith(prefix):
            return note_of(name.removeprefix(prefix), notes)
    endings = [name[at:] for at, letter in enumerate(name) if letter == "."]
    return next((notes[key] for key in endings if key in notes), "")


def with_notes(made: Blueprint, places: Iterable[Path], settings: Mapping[str, Setting] | None) -> Blueprint:
    """Adds what is said of each block."""
    names = dict.fromkeys(block.name for block in made.blocks())
    notes = notes_in(places, settings, names)
    return replace(made, notes={name: note_of(name, notes) for name in names})
