"""Sections: a sheet numbers its own, and a sentence that names one by its number names the right one."""

from __future__ import annotations

import re

import pytest

from blueprint.book import Book
from blueprint.page import grid
from blueprint.page.outline import Section, Sheet
from tests.page.workshop import made
from tests.workbooks.test_labels import BOOKS

NAMED = re.compile(r"section (\d+)")
MEANT = {"5": "What this file was built with"}
"""What is meant by the numbers of sections in sentences on the sheet Inputs of classic PPO, the only ones."""


def texts(book: Book) -> set[tuple[str, str]]:
    """Returns every text of a workbook in which a section is named by its number, and the sheet on which its block stands."""
    noted = [(block, note) for block, note in book.blueprint.notes.items() if NAMED.search(note)]
    told = [(b.name, b.about.meaning) for b in book.blueprint.blocks() if NAMED.search(b.about.meaning)]
    return {(book.layout.places[book.blocks[name]].sheet, text) for name, text in (*noted, *told)}


@pytest.mark.parametrize("name", BOOKS)
def test_a_section_that_is_named_by_its_number_is_the_one_that_is_meant(name: str) -> None:
    book = BOOKS[name]
    headings = {(label.sheet, label.text) for label in book.layout.labels if label.style == "section"}
    found = texts(book)
    assert bool(found) == (name in ("classic", "smooth"))
    for sheet, text in found:
        assert (sheet, f"{NAMED.findall(text)[0]}  {MEANT[NAMED.findall(text)[0]]}") in headings, text


@pytest.mark.parametrize("name", BOOKS)
def test_no_title_is_typed_with_a_number(name: str) -> None:
    titles = [section.title for sheet in BOOKS[name].blueprint.sheets for section in sheet.sections]
    assert [title for title in titles if re.match(r"\d+  ", title)] == []


def test_a_sheet_numbers_its_sections_from_its_first_on() -> None:
    sections = (Section("One", ()), Section("A picture", (), numbered=False), Section("Two", ()))
    assert Sheet("S", "", sections).headings() == ["1  One", "A picture", "2  Two"]
    assert Sheet("S", "", sections, first=0).headings() == ["0  One", "A picture", "1  Two"]
    assert Sheet("S", "", sections, first=None).headings() == ["One", "A picture", "Two"]


@pytest.mark.parametrize(
    ("name", "row"), [("kto", "prompt"), ("frontier", "vocabulary"), ("optimum", "prompt"), ("reinforce", "prompt")]
)
def test_what_is_asked_stands_beside_its_name(name: str, row: str) -> None:
    """On a sheet without columns of positions: ten columns further to the right nobody finds it, and paper ends before it."""
    book = made(numbers=name)
    place = book.layout.places[book.blocks[row]]
    assert (place.sheet, place.column) == ("Inputs", grid.LEFT)


def test_places_that_have_no_name_have_a_letter_and_a_number() -> None:
    book = made(numbers="kto")
    top = book.layout.places[book.blocks["prompt"]].row
    beside = [
        label.text
        for label in book.layout.labels
        if (label.sheet, label.column) == ("Inputs", grid.SYMBOL) and top <= label.row < top + 5
    ]
    assert beside == ["n1", "n2", "n3", "n4", "n5"]
