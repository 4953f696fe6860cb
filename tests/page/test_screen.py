"""On a small laptop the names of rows are seen with their numbers, and of Start without scrolling what one needs first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page.finished import MAIN, NUMBER_ROW, Finished, finished
from tests.page.fits import clipped, needed, wrapped
from tests.page.paper import height, pixels, width
from tests.page.workshop import BUILT_IN, MAINS
from tests.replayed import window_book, with_everything_logged

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


# Start on a small laptop: verdict, loss with its parts and the map are seen without scrolling, in every built-in workbook.


HIGH, WITH_RIBBON = 600, 500
"""Pixels that a screen of 768 leaves for cells, with the ribbon folded away and with it."""
FIRST_HIGH = {*MAINS.values(), "epochs"}
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
    assert [*clipped(finished(name).path, "Start")] == []


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
