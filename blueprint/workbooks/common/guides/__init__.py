"""Guides: what helps to read a workbook and computes nothing: notes, models, loop, glossary, things to try, differences.

Notes are TOML: by the name of a block its note. A key that begins with a dot is the end of a name: it stands for every
block that is called so. Under `beside` stands what is said instead where another block is in the workbook, too.

What is said of a library was read in its source at the version named, most of it also run. TRL 1.12 is the last release
with PPO; a name with seven digits is a commit.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint.inputs.catalogue import Catalogue, data_in
from blueprint.inputs.setting import Setting
from blueprint.language import Block
from blueprint.page.outline import Blueprint, Box, Entry, Flow, Note, Section
from blueprint.workbooks.common.guides.sheets import (
    differences_sheet,
    first_hour_sheet,
    glossary_sheet,
    measured,
    notes_sheet,
)
from blueprint.workbooks.common.sheets.start import ABOUT

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

ASKED, MOST_ASKED = "Which number answers my question?", 8
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
        at = next((at for at, title in enumerate(titles) if title.startswith(BEFORE)), titles.index("The sheets"))
        sections[at:at] = [models_section(blocks, texts), *loop_section(blocks, texts["loop"])]
    at = [section.title for section in sections].index("The sheets")
    sections[at:at] = asked_section(blocks)
    return replace(made, sheets=(replace(start, sections=tuple(sections)), *first, *others, *last))


def asked_section(blocks: Mapping[str, Block]) -> list[Section]:
    """Lists what is asked most, each with the symbol of the row that answers and a link to it."""
    rows = (
        (each["asks"], next((blocks[name] for name in each["rows"] if name in blocks), None))
        for each in data_in(Path(__file__).with_name("asked.toml"))["asked"]
    )
    found = [(asks, row) for asks, row in rows if row is not None][:MOST_ASKED]
    entries = (Entry((row.symbol, Box("{sheet}, row {row}", row), asks)) for asks, row in found)
    return [Section(ASKED, tuple(entries), printed=False)] if found else []  # Start is one page on paper


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
    return Section(
        "The models",
        (*(_model(model, blocks) for model in texts["model"]), *notes),
        ("in training", "stands on", "", "begins"),
    )


def _model(model: Mapping[str, Any], blocks: Mapping[str, Block]) -> Entry:
    """Outlines one model; the first of its rows that is there leads to it."""
    found = next((Box("{sheet}", blocks[name]) for name in model["rows"] if name in blocks), "")
    return Entry((model["symbol"], model["name"], model["state"], found, "", model["begins"]))


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
