"""Groups of columns: what lies before the first of them, what is the same in all of them, and rows that are coloured like a map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.language import Axis, block, typed
from blueprint.page import styles
from blueprint.page.engine import with_ironcalc
from blueprint.page.outline import Blueprint, Row, Section, Sheet
from tests.page.fits import clipped
from tests.page.workshop import located, opened

SALTS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@pytest.fixture(scope="module")
def book() -> Book:
    """Make a pile that grows round by round, side by side: each round adds what is typed once, row by row and column by column."""
    g, i, j = Axis("g", "round", start=1), Axis("i", "row", start=1), Axis("j", "column", start=1)
    salt = typed("salt", (i, j), "s", "what a round adds", decimals=1)
    pile = block("pile", (g, i, j), "p", "what lies there after the round", decimals=1)
    pile[g.first - 1, i, j] = 0
    pile[g, i, j] = pile[g - 1, i, j] + salt[i, j]
    once, rounds = (
        Sheet("Once", "", (Section("Salt", (salt,)),), (j,)),
        Sheet("Rounds", "", (Section("Piles", (Row(pile, "heat"),)),), (g, j)),
    )
    return Book(Blueprint("Piles", (once, rounds), {g: 4, i: 2, j: 3}, {salt: SALTS}))


def test_what_is_read_anew_in_every_group_is_the_same_cell(book: Book, tmp_path: Path) -> None:
    book.save(tmp_path / "piles.xlsx")
    cells, place = with_ironcalc(tmp_path / "piles.xlsx"), located(tmp_path / "piles.xlsx")["pile"]
    for round_ in range(4):
        found = [[cells[place.sheet, place.cell((round_ + 1, i, j))] for j in range(3)] for i in range(2)]
        np.testing.assert_array_equal(np.array(found, dtype=float), (round_ + 1) * np.array(SALTS))


def test_the_cells_before_the_first_group_have_room_beside_the_names(book: Book, tmp_path: Path) -> None:
    book.save(tmp_path / "piles.xlsx")
    assert list(clipped(tmp_path / "piles.xlsx")) == []
    first, *_ = (book.layout.places[book.blocks["pile"]].cell(book.blocks["pile"], (-1, 0, j))[1] for j in range(3))
    assert first >= 3  # right of symbols and names


def test_all_groups_are_coloured_on_one_scale(book: Book, tmp_path: Path) -> None:
    book.save(tmp_path / "piles.xlsx")
    page = opened(tmp_path / "piles.xlsx")["Rounds"]
    scales = [each for each in page.conditional_formatting for rule in each.rules if rule.type == "colorScale"]
    assert len(scales) == 1
    colours = [colour.rgb[2:] for colour in scales[0].rules[0].colorScale.color]
    assert colours == [str(styles.HEAT[f"{end}_color"]).lstrip("#") for end in ("min", "mid", "max")]
