"""The sheets of words: every number they quote was measured, every fact they tell holds, and each has one source."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.inputs.catalogue import data_in, shown_value
from blueprint.language import block
from blueprint.page.outline import Box, Entry, Note, Sheet
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common import guides
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.common.guides import (
    ASKED,
    POINTS,
    all_tries,
    asked_section,
    glossary_sheet,
    known,
    terms,
    tries,
)
from blueprint.workbooks.registry import kinds
from tests.workbooks import glossary_page
from tests.workbooks.test_labels import BOOKS
from tests.workbooks.tried import FIRST


@cache
def others() -> tuple[Book, ...]:
    """Makes workbooks of other kinds: of groups of responses, of demonstrations, and of pairs."""
    return tuple(Book(blueprint_of(load(name))) for name in glossary_page.OTHERS)


def sheet_of(book: Book, title: str) -> Sheet | None:
    """Returns a sheet of the outline."""
    return next((sheet for sheet in book.blueprint.sheets if sheet.title == title), None)


def entries(book: Book, title: str) -> list[Entry]:
    """Returns the rows of a sheet of words."""
    sheet = sheet_of(book, title)
    assert sheet is not None
    return [item for item in sheet.items() if isinstance(item, Entry)]


def test_every_change_can_be_tried_in_some_workbook_and_every_cell_of_it_may_be_typed_into() -> None:
    books = (*BOOKS.values(), *others(), Book(blueprint_of(load("epochs"))))
    found = {each.do for book in books for each in tries(book.blocks)}
    assert found == {each.do for each in all_tries()}
    for book in books:
        assert all(book.blocks[name].typed for each in tries(book.blocks) for name in each.type)


def after(*overrides: str) -> Book:
    """Returns the default batch with live conventions, and some of them changed."""
    return Book(blueprint_of(load("default", ("conventions=live", *overrides))))


def test_what_is_said_of_live_conventions_holds() -> None:
    before = BOOKS["live default"]

    def number(book: Book, name: str) -> float:
        return float(book.values.cell(book.blocks[name]))

    averaged = after("loss.aggregation=seq-mean-token-mean")
    assert number(averaged, "policy_loss") != pytest.approx(number(before, "policy_loss"))
    late = after("reward.score_slot=one_past")
    assert number(late, "mean.score.placed") != pytest.approx(number(before, "mean.score.placed"))
    placed, mask = (np.asarray(late.values[late.blocks[each]], dtype=float) for each in ("score.placed", "response"))
    on_words = (placed[:, -mask.shape[1] :] * mask).any(axis=1).tolist()
    assert on_words == [True, False]  # the first response fills all its slots
    held = after("loss.dual_clip=1.5")
    name = {each: held.blocks[each] for each in ("surrogate", "ratio", "advantages_used")}
    moved = held.values[name["surrogate"]] != before.values[before.blocks["surrogate"]]
    high = (held.values[name["advantages_used"]] < 0) & (held.values[name["ratio"]] > 1.5)
    assert (moved == high).all()


@pytest.mark.parametrize("name", BOOKS)
def test_the_glossary_has_the_symbol_and_the_row_of_each_term(name: str) -> None:
    book = BOOKS[name]
    shown = [(entry.cells[0], entry.cells[1], entry.cells[-1]) for entry in entries(book, "Glossary")]
    assert shown == [(term.symbol(book.blocks), term.term, term.meaning) for term in known(book.blocks)]
    for entry, term in zip(entries(book, "Glossary"), known(book.blocks), strict=True):
        assert (isinstance(entry.cells[2], Box) and entry.cells[2].block is term.found(book.blocks)) or not term.rows


def test_page_and_sheet_are_made_of_one_table() -> None:
    assert glossary_page.PAGE.read_text(encoding="utf-8") == glossary_page.page()
    assert glossary_page.CONTRIBUTING.read_text(encoding="utf-8") == glossary_page.contributing()
    assert len({term.term for term in terms()}) == len(terms()) > 45
    everywhere = {name for book in (*BOOKS.values(), *others()) for name in book.blocks}
    assert [name for term in terms() for name in term.rows if name not in everywhere] == []


def test_where_libraries_differ_is_the_table_of_presets() -> None:
    found = rlhf()
    names = list(found.presets)
    listed = [entry.cells for entry in entries(BOOKS["default"], "Where libraries differ")]
    rows = {str(cells[1]): cells[2:] for cells in listed if len(cells) == 2 + len(names)}
    differing = {key for key in found.settings if len({p.values[key] for p in found.presets.values()}) > 1}
    assert len(rows) == len(differing) > 30
    assert rows["where the score lands"] == tuple(str(p.values["reward.score_slot"]) for p in found.presets.values())
    assert rows["score stays within ±"][names.index("dschat")] == "5"
    assert rows["score stays within ±"][names.index("verl")] == "off"
    assert shown_value(-3.0) == "−3"
    assert [cells[0] for cells in listed[-len(names) :]] == names


WITHOUT_TABLE = {"classic", "smooth", *(name for kind in kinds() if not kind.presets for name in kind.built_in())}
"""Of these no library has conventions, or, of the classic loss, they stand on another sheet."""


def test_the_table_of_presets_stands_in_every_workbook_of_rlhf_once() -> None:
    for name, book in BOOKS.items():
        tables = [title for title in ("Where libraries differ", "Presets") if sheet_of(book, title)]
        assert len(tables) == (0 if name in WITHOUT_TABLE else 1), name


@pytest.mark.parametrize("name", BOOKS)
def test_every_note_is_in_the_list_of_notes(name: str) -> None:
    book = BOOKS[name]
    noted = {block.name: text for block in book.blueprint.blocks() if (text := book.blueprint.notes.get(block.name))}
    if not noted:
        assert sheet_of(book, "Notes") is None
        return
    listed = {}
    for entry in entries(book, "Notes"):
        assert isinstance(entry.cells[2], Box)
        assert entry.cells[2].block is not None
        listed[entry.cells[2].block.name] = entry.cells[-1]
    assert listed == noted


@pytest.mark.parametrize("name", BOOKS)
def test_start_says_that_rows_have_notes_and_names_the_sheets_of_words(name: str) -> None:
    book = BOOKS[name]
    about = next(section for section in book.blueprint.sheets[0].sections if section.title == "What this is")
    first = " ".join(item.text for item in about.items if isinstance(item, Note))
    assert ("to see its note" in first) == (sheet_of(book, "Notes") is not None)
    assert [title for title in POINTS if sheet_of(book, title)] == [title for title in POINTS if f"{title}: " in first]


@pytest.mark.parametrize("name", BOOKS)
def test_what_is_asked_most_stands_under_the_map(name: str) -> None:
    """Whoever knows RLHF and looks for a number scrolls past no text."""
    start = BOOKS[name].blueprint.sheets[0]
    titles = [section.title for section in start.sections]
    if "The sheets" not in titles or not asked_section(BOOKS[name].blocks):
        assert ASKED not in titles
        assert "clip_fraction.changed" not in BOOKS[name].blocks
        return
    assert titles.index(ASKED) == titles.index("What this is") - 1
    (asked,) = (section for section in start.sections if section.title == ASKED)
    said = " ".join(str(item.cells[-1]) for item in asked.items if isinstance(item, Entry))
    assert ("actor/pg_clipfrac (verl)" in said) == ("clip_fraction.changed" in BOOKS[name].blocks)


def test_names_in_logs_are_those_that_dumps_are_read_by() -> None:
    """TRL's and verl's own names, where their number is the mean of the row."""
    words = {*files("blueprint.dumps").joinpath("names.csv").read_text(encoding="utf-8").replace(",", " ").split()}
    told = [
        each["logged"] for each in data_in(Path(guides.__file__).with_name("asked.toml"))["asked"] if "logged" in each
    ]
    named = [part.split(" ")[0] for logged in told for said in logged.values() for part in said.split(", ")]
    assert len(named) >= 5
    assert [name for name in named if name not in words and f"{name}?" not in words] == []


def test_the_models_are_told_and_what_is_told_of_them_holds() -> None:
    book = BOOKS["default"]
    section = next(section for section in book.blueprint.sheets[0].sections if section.title == "The models")
    told = {str(entry.cells[1]): str(entry.cells[2]) for entry in section.items if isinstance(entry, Entry)}
    assert [name for name, state in told.items() if state == "trained"] == ["policy", "critic"]
    assert [name for name, state in told.items() if state == "frozen"] == ["reference", "reward model"]
    still = Book(blueprint_of(load("default", ("ppo.update_step=0",))))
    for new, old in (("policy.E", "old.E"), ("policy.W", "old.W"), ("policy.Y", "old.Y"), ("critic.E", "old_critic.E")):
        assert np.array_equal(still.values[still.blocks[new]], still.values[still.blocks[old]])
        assert not book.blocks[new].typed
    assert all(book.blocks[name].typed for name in ("reference.E", "reward_model.E", "old.E", "old_critic.E"))
    assert not any(section.title == "The models" for section in BOOKS["kl-controller"].blueprint.sheets[0].sections)


def test_the_two_tokens_that_go_against_the_gradient_are_named_where_the_change_stands() -> None:
    book = BOOKS["default"]

    def at(name: str, episode: int, position: int) -> Any:
        return book.values.cell(book.blocks[name], episode, position)

    assert (at("word_written", 0, FIRST + 1), at("word_written", 1, FIRST + 1)) == ("very", "<eos>")
    assert at("advantages_used", 0, FIRST + 1) > 0
    assert at("ratio", 0, FIRST + 1) < 0.8
    assert at("advantages_used", 1, FIRST + 1) < 0
    assert at("ratio", 1, FIRST + 1) > 1.2
    policy = sheet_of(book, "Policy")
    assert policy is not None
    said = " ".join(item.text for item in policy.sections[0].items if isinstance(item, Note))
    assert "takes the second “very” below 0.8" in said
    assert "takes the <eos> after “happy” above 1.2" in said
    assert "no gradient is computed" in said


LESSONS = {"kto"}
"""They have a loss, and tell of no models, and of no loop."""


def test_the_loop_is_drawn_where_a_loss_is() -> None:
    for name, book in BOOKS.items():
        titles = [section.title for section in book.blueprint.sheets[0].sections]
        drawn = "total_loss" in book.blocks and name not in LESSONS
        assert ("The loop around this step" in titles) == drawn, name


@pytest.mark.parametrize(
    ("rows", "subject"),
    [
        (("ratio", "kl_coef", "value_loss"), "RLHF PPO"), (("ratio", "value_loss"), "PPO"), (("chosen.ratio",), "RLHF"),
        (("td_errors",), "reinforcement learning"), (("kl_coef",), "RLHF"),
    ],
)  # fmt: skip
def test_the_glossary_says_of_what_its_words_are(rows: tuple[str, ...], subject: str) -> None:
    (sheet,) = glossary_sheet({name: block(name, ()) for name in rows})
    assert sheet.lead.startswith(f"the words of {subject}: ")
