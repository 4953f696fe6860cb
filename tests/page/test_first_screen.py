"""Start on a small laptop: verdict, loss with its parts and the map are seen without scrolling, in every built-in workbook."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.workbooks.registry import kinds
from tests.page.finished import Finished, finished
from tests.page.fits import clipped
from tests.page.paper import height
from tests.page.test_screen import FRAME, LAPTOP, shown_width
from tests.replayed import window_book, with_everything_logged

BUILT_IN = [name for kind in kinds() for name in kind.built_in()]
HIGH, WITH_RIBBON = 600, 500
"""Pixels that a screen of 768 leaves for cells, with the ribbon folded away and with it."""
FIRST_HIGH = (
    "default",
    "epochs",
    "classic",
    "grpo",
    "dpo",
    "sft",
    "reward-model",
    "reinforce",
    "optimum",
    "kl-controller",
)
"""Whose map is seen even below an open ribbon."""
VERDICT, LOSS, COMES, MAP = "Does everything add up?", "The loss", "What comes of it", "The map"
NO_LOSS = {"very-very-sleepy"}
"""They end with the advantages."""


def headings(file: Finished) -> dict[str, int]:
    """Returns the headings on Start, each with its row."""
    page = file.shown["Start"]
    cells = (page.cell(row, 2) for row in range(3, page.max_row + 1))
    return {str(cell.value): cell.row for cell in cells if cell.value and cell.font.b}


def ends(file: Finished, title: str) -> int:
    """Returns the last row of a section: the second one before the next heading, since a gap stands between."""
    found = headings(file)
    top = next(row for heading, row in found.items() if heading.startswith(title))
    return min(row for row in found.values() if row > top) - 2


@pytest.mark.parametrize("name", BUILT_IN)
def test_verdict_loss_and_map_are_seen_on_the_first_screen(name: str) -> None:
    file = finished(name)
    first, second, *others = headings(file)
    assert first == VERDICT
    assert name in NO_LOSS or second in (LOSS, COMES)
    assert (second if name in NO_LOSS else others[0]).startswith(MAP)
    high = height(file.sheets["Start"], ends(file, MAP))
    assert high <= (WITH_RIBBON if name in FIRST_HIGH else HIGH)
    assert shown_width(file, "Start") <= LAPTOP - FRAME


@pytest.mark.parametrize("name", BUILT_IN)
def test_nothing_on_start_is_cut(name: str) -> None:
    assert [each for each in clipped(finished(name).path) if each.sheet == "Start"] == []


def test_verdict_and_loss_stand_in_view_with_their_numbers() -> None:
    """Of the loss every part is seen: its name, its number, where it stands and its equation."""
    file = finished("default")
    page, found = file.shown["Start"], headings(file)
    assert page.cell(found[VERDICT] + 1, 4).value == "OK"
    rows = range(found[LOSS] + 1, ends(file, LOSS) + 1)
    assert len(rows) == 5
    for row in rows:
        assert all(page.cell(row, column).value is not None for column in (2, 3, 4, 5, 7, 9, 13))


def test_an_imported_minibatch_shows_what_was_logged_besides(tmp_path: Path) -> None:
    book = window_book(columns=16, batch=with_everything_logged())
    book.save(tmp_path / "a.xlsx")
    file = Finished(book, tmp_path / "a.xlsx")
    assert [*headings(file)][:3] == [VERDICT, "Against what the library logged", LOSS]
    assert height(file.sheets["Start"], ends(file, MAP)) <= HIGH
