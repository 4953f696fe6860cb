"""Guides: what helps to read a workbook and computes nothing: models, loop, glossary, things to try, differences, notes."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint.inputs.catalogue import Catalogue, data_in
from blueprint.language import Block
from blueprint.page.outline import Blueprint, Box, Entry, Flow, Note, Section, Sheet
from blueprint.workbooks.common.guides.first_hour import first_hour_sheet
from blueprint.workbooks.common.guides.look_up import differences_sheet, glossary_sheet, notes_sheet

HEADS = "Names of rows have notes (a mark in the corner of the cell): point at one, and it says why the row is there."
POINTS = {
    "First hour": "things to try, and what one will see",
    "Glossary": "what the words and symbols mean",
    "Where libraries differ": "conventions by library",
    "Notes": "all notes as a list",
}
"""What each sheet of words is for, as the first section of Start says it."""
BEFORE = "The pieces"
"""What the section of Start begins with before which models and loop are told."""

GIVEN = "No network is run here: what the models said is typed. A model without a link has no numbers in this workbook."
MODEL_HEADINGS = ("in training", "stands on", "", "begins")

LOOP = (
    "The upper row and the left box happen once a rollout: log-probs, values, advantages and returns are stored. The rest "
    "happens once a minibatch, in each epoch over the rollout.",
    "This workbook is one turn of the inner loop: one rollout, one minibatch (the whole batch), the loss after one step. "
    "In a first minibatch π_θ is still π_old, and every ratio is 1; here a step has been taken, so that ratios can be seen.",
)
ON, BACK, UP, DOWN, AGAIN, LINE, DASH = "→", "←", "↑", "↓", "↗", "───────────", "──"


def with_guides(made: Blueprint, measured: bool, models: Path | None, presets: Catalogue | None) -> Blueprint:
    """Adds models and loop to Start, and the sheets of words: after Start what to try, at the end what to look up.

    measured: these are the numbers in which the changes to try were measured, so that what comes of them can be told.
    models: the file that tells of the models and the loop. presets: what libraries do, for the sheet where they differ.
    """
    blocks = {block.name: block for block in made.blocks()}
    start, *others = made.sheets
    differ = differences_sheet(blocks, presets) if presets else None
    last = [sheet for sheet in (glossary_sheet(blocks), differ, notes_sheet(made)) if sheet is not None]
    first = first_hour_sheet(blocks, measured)
    start = _pointed(start, [*first, *last])
    if models:
        told = data_in(models)
        start = _told(start, [models_section(blocks, told), *loop_section(blocks, told["loop"])])
    return replace(made, sheets=(start, *first, *others, *last))


def _pointed(start: Sheet, guides: list[Sheet]) -> Sheet:
    """Says in the first section of Start that rows have notes, and which sheets help."""
    points = {sheet.title: f"{sheet.title}: {POINTS[sheet.title]}" for sheet in guides}
    told = [*([HEADS] if "Notes" in points else []), " · ".join(points.values())]
    about, *others = start.sections
    return replace(start, sections=(replace(about, items=(*about.items, *map(Note, told))), *others))


def _told(start: Sheet, more: list[Section]) -> Sheet:
    """Puts sections on Start before the pieces, or before the list of sheets where there are none."""
    titles = [section.title for section in start.sections]
    at = next((at for at, title in enumerate(titles) if title.startswith(BEFORE)), titles.index("The sheets"))
    return replace(start, sections=(*start.sections[:at], *more, *start.sections[at:]))


def models_section(blocks: Mapping[str, Block], told: Mapping[str, Any]) -> Section:
    """Tells the models, frozen and trained, and whether they run here."""
    runs = "old.E" in blocks and "told_with_weights" in told
    entries = [_entry(model, blocks) for model in told["model"]]
    notes = Note(told["told"]), Note(told["told_with_weights"] if runs else GIVEN)
    return Section("The models", (*entries, *notes), MODEL_HEADINGS)


def _entry(model: Mapping[str, Any], blocks: Mapping[str, Block]) -> Entry:
    """Tells one model; the first of its rows that is there leads to it."""
    found = next((blocks[name] for name in model["rows"] if name in blocks), None)
    link: Box | str = Box("{sheet}", found) if found is not None else ""
    return Entry((model["symbol"], model["name"], model["state"], link, "", model["begins"]))


def loop_section(blocks: Mapping[str, Block], told: Mapping[str, str]) -> list[Section]:
    """Draws the loop in which this step stands; nothing where no loss is."""
    if "total_loss" not in blocks:
        return []

    def box(title: str, *names: str) -> Box:
        return Box(title, next((blocks[name] for name in names if name in blocks), None))

    step = box("gradient step on θ", "update_step")
    outer = (
        box(told["begin"], "given", "actions"), ON, box(told["rollout"], "word_written", "old.logprobs"), ON,
        box(told["rewards"], "rewards"), ON,
        box("GAE, whitening", "advantages_used"), ON, box("for each epoch"), ON, box("for each minibatch"),
    )  # fmt: skip
    down = (UP, "", "", "", "", AGAIN, LINE, DASH, "next minibatch ↑", "", DOWN)
    back = (
        box("π_old becomes π_θ, V_old becomes V"), BACK, box("all epochs are over"), BACK, step, BACK,
        box("loss", "total_loss"), BACK, box("clip, value loss …", "surrogate"), BACK, box("ratio", "ratio"),
    )  # fmt: skip
    return [Section("The loop around this step", (Flow((outer, down, back)), *map(Note, LOOP)))]
