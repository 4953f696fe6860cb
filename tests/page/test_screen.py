"""On a small laptop the names of rows and their numbers are seen together, on every sheet of every built-in workbook."""

from __future__ import annotations

import pytest

from tests.page.finished import MAIN, NUMBER_ROW, Finished, finished
from tests.page.fits import needed, wrapped
from tests.page.paper import pixels, width

KINDS = ("default", "very-very-sleepy", "ten-libraries", "classic", "kl-controller")
LAPTOP = 1366
FRAME, FOLDS = 28 + 20, 30
"""Pixels that Excel keeps for the numbers of rows and the bar at the right, and for the signs at which rows fold."""
READ = ("Start", "First hour", "Glossary", "Notes")
"""Sheets that one opens to read."""
FIRST = 17
"""The column (Q) of the first decision on every sheet."""


def screen(file: Finished, sheet: str) -> int:
    """Returns how many pixels a laptop of 1366 pixels has for cells at 100 %."""
    folds = any(row.attrib.get("outlineLevel") for row in file.sheets[sheet].iter(f"{MAIN}row"))
    return LAPTOP - FRAME - FOLDS * folds


def with_columns(file: Finished) -> list[str]:
    """Returns the sheets on which members stand side by side: decisions, steps, updates, libraries."""
    return [sheet for sheet in file.sheets if file.shown[sheet].cell(NUMBER_ROW, FIRST).value == 1]


def response(file: Finished, sheet: str) -> int:
    """Returns the last column of the first group in which the mask is 1; where there is none, that of its last member."""
    page = file.shown[sheet]
    heads = [page.cell(NUMBER_ROW, column).value for column in range(FIRST, page.max_column + 1)]
    members = next((at for at, head in enumerate(heads) if not isinstance(head, int)), len(heads))
    rows = [row for row in range(NUMBER_ROW + 1, NUMBER_ROW + 5) if "mask" in str(page.cell(row, 3).value)]
    columns = range(FIRST, FIRST + members)
    return max((c for row in rows for c in columns if page.cell(row, c).value == 1), default=columns[-1])


@pytest.mark.parametrize("name", KINDS)
def test_names_and_the_whole_response_of_the_first_episode_are_seen_at_once(name: str) -> None:
    """Where columns are libraries, which are as wide as their names, names and the first four are."""
    file = finished(name)
    found = with_columns(file)
    assert len(found) >= 2
    far = {}
    for sheet in found:
        last = response(file, sheet)
        if file.shown[sheet].cell(NUMBER_ROW, 3).value in ("library  l", "preset  l"):
            last = FIRST + 3
        far[sheet] = width(file.sheets[sheet], 1, last) - screen(file, sheet)
    assert {sheet: over for sheet, over in far.items() if over > 0} == {}


@pytest.mark.parametrize("name", KINDS)
def test_what_stands_left_of_the_numbers_leaves_them_half_of_the_screen(name: str) -> None:
    file = finished(name)
    far = {sheet: width(file.sheets[sheet], 1, FIRST - 2) for sheet in with_columns(file)}
    assert {sheet: left for sheet, left in far.items() if left > 0.66 * LAPTOP} == {}


@pytest.mark.parametrize("name", ["default", "ten-libraries", "very-very-sleepy"])
def test_a_line_of_the_walk_is_seen_from_its_name_to_its_numbers(name: str) -> None:
    """Symbol, name, value, equation, and the equation with its numbers: columns A to F."""
    file = finished(name)
    assert width(file.sheets["Walk"], 1, 6) <= LAPTOP - FRAME


@pytest.mark.parametrize("name", KINDS)
def test_a_sheet_of_sentences_is_seen_in_its_whole_width(name: str) -> None:
    """A table with a column for each of eleven libraries cannot be; of Walk the links and the steps stand farther right."""
    file = finished(name)
    wide = {sheet: shown_width(file, sheet) for sheet in READ if sheet in file.sheets}
    assert {sheet: over for sheet, over in wide.items() if over > LAPTOP - FRAME} == {}
    assert "Start" in wide


def shown_width(file: Finished, sheet: str) -> int:
    """Returns how far right the texts of a sheet reach, in pixels; a title, a lead and a note may run over empty cells."""
    page, root = file.shown[sheet], file.sheets[sheet]
    reach = 0
    for cell in (cell for row in page.iter_rows() for cell in row if cell.value is not None):
        needs = 0 if cell.alignment.horizontal in ("right", "center") else needed(cell)
        reach = max(reach, width(root, 1, cell.column), width(root, 1, cell.column - 1) + needs)
    return reach


@pytest.mark.parametrize("name", KINDS)
def test_columns_of_one_kind_are_of_one_width(name: str) -> None:
    """Numbers that are compared stand in columns alike; no column of a sheet is hidden."""
    file = finished(name)
    for sheet in with_columns(file):
        page, wide = file.shown[sheet], pixels(file.sheets[sheet])
        numbered = [
            column
            for column in range(FIRST, page.max_column + 1)
            if isinstance(page.cell(NUMBER_ROW, column).value, int)
        ]
        assert len({wide[column] for column in numbered}) == 1, sheet
        assert not any(column.attrib.get("hidden") for column in file.sheets[sheet].iter(f"{MAIN}col")), sheet


def test_an_equation_too_long_for_its_columns_has_as_many_lines_as_it_needs() -> None:
    found = list(wrapped(finished("ten-libraries").path))
    assert [each for each in found if each.needs > each.has] == []
    assert len(found) >= 10


def test_equations_of_the_default_stand_on_one_line() -> None:
    assert list(wrapped(finished("default").path)) == []


def test_an_equation_cut_beside_weights_says_where_the_whole_of_it_stands() -> None:
    file = finished("default")
    rows = [row for row in file.shown["Checks"].iter_rows(max_col=4) if str(row[3].value).endswith("(see Contents)")]
    whole = {str(row[2].value): str(row[8].value) for row in file.shown["Contents"].iter_rows()}
    assert rows
    for row in rows:
        assert whole[row[2].value].startswith(row[3].value[:8])
        assert len(whole[row[2].value]) > len(row[3].value.partition(" …")[0])
