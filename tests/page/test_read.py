"""Every block comes back from a saved copy, wherever people have moved it, as openpyxl shows it."""

from __future__ import annotations

from datetime import date, time, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart
from openpyxl.comments import Comment

from blueprint.book import Book
from blueprint.page.formulas import PROBE, expected
from blueprint.page.read import Opened, read
from blueprint.page.saved_file import Workbook
from tests.audit import spoil
from tests.page.basic import Change, edit
from tests.page.workshop import differing, made

BOOKS = ("default", "very-very-sleepy")

# LibreOffice writes 15 significant digits of numbers that it computed itself: 5e-15 relative measured, at most.
FIFTEEN_DIGITS = 1e-13

MOVED = [
    "For i = 0 To book.Sheets.Count - 1",
    "  book.Sheets.getByIndex(i).Rows.insertByIndex(2, 3)",
    "  book.Sheets.getByIndex(i).Columns.getByIndex(5).Width = 6000",
    "Next",
    'book.Sheets.getByName("Checks").Name = "My checks & more"',
    'book.Sheets.moveByName("Contents", 0)',
    'book.Sheets.moveByName("Inputs", book.Sheets.Count)',
    "book.calculateAll()",
]
"""What is done in LibreOffice: three rows above everything, a wide column, a new name, another order, new numbers."""

APOSTROPHE = ['book.Sheets.getByName("Checks").Name = "Don\'t panic"']


@pytest.fixture(scope="module")
def books() -> dict[str, Book]:
    return {name: made(numbers=name) for name in BOOKS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, books: dict[str, Book]) -> Path:
    folder = tmp_path_factory.mktemp("read")
    for name, book in books.items():
        book.save(folder / f"{name}.xlsx")
    return folder


@pytest.fixture(scope="module")
def moved(needs_libreoffice: None, folder: Path) -> dict[str, Path]:
    """Spoils all cached values, then moves everything and recalculates in LibreOffice."""
    targets = {name: folder / f"moved {name}.xlsx" for name in BOOKS}
    for name in BOOKS:
        spoil(folder / f"{name}.xlsx", folder / f"spoiled {name}.xlsx")
    changes = [Change(folder / f"spoiled {name}.xlsx", target, MOVED) for name, target in targets.items()]
    targets["apostrophe"] = folder / "apostrophe.xlsx"
    edit([*changes, Change(folder / "very-very-sleepy.xlsx", targets["apostrophe"], APOSTROPHE)], folder)
    return targets


@pytest.mark.parametrize("name", BOOKS)
def test_a_fresh_file_holds_every_block_to_the_last_bit(name: str, books: dict[str, Book], folder: Path) -> None:
    assert differing(books[name], read(folder / f"{name}.xlsx"), 0) == []


@pytest.mark.parametrize("name", BOOKS)
def test_every_block_is_found_where_it_was_moved_to(name: str, books: dict[str, Book], moved: dict[str, Path]) -> None:
    sheets = openpyxl.load_workbook(moved[name], read_only=True).sheetnames
    assert (sheets[0], sheets[-1]) == ("Contents", "Inputs")
    assert "My checks & more" in sheets
    assert differing(books[name], read(moved[name]), FIFTEEN_DIGITS) == []


def test_a_sheet_may_be_renamed_to_a_name_with_an_apostrophe(books: dict[str, Book], moved: dict[str, Path]) -> None:
    assert "Don't panic" in openpyxl.load_workbook(moved["apostrophe"], read_only=True).sheetnames
    assert differing(books["very-very-sleepy"], read(moved["apostrophe"]), FIFTEEN_DIGITS) == []


def test_the_moves_did_move_something(folder: Path, moved: dict[str, Path]) -> None:
    before, after = Opened(folder / "default.xlsx").places, Opened(moved["default"]).places
    assert {after[name].top - found.top for name, found in before.items()} == {3}
    assert after["check.total"].sheet == "My checks & more"


@pytest.mark.parametrize("name", BOOKS)
def test_typed_blocks_survive_openpyxl_which_loses_what_formulas_came_to(
    name: str, books: dict[str, Book], folder: Path
) -> None:
    path = folder / f"openpyxl {name}.xlsx"
    book = openpyxl.load_workbook(folder / f"{name}.xlsx")
    book.move_sheet("Contents", -len(book.sheetnames))
    for sheet in book:
        sheet.column_dimensions["F"].width = 40
    book.save(path)
    typed = {block.name for block in books[name].values.arrays if block.typed}
    lost = differing(books[name], read(path), 0)
    assert typed.isdisjoint(lost)
    assert len(typed) + len(lost) >= len(books[name].values.arrays) - 5  # a few hold only constants or empty words


@pytest.mark.parametrize("name", BOOKS)
def test_blocks_are_found_by_name_kind_and_content(name: str, books: dict[str, Book], folder: Path) -> None:
    found = Opened(folder / f"{name}.xlsx").places
    for block in books[name].values.arrays:
        there = found[block.name]
        assert (there.kind == "typed", there.words) == (block.typed, block.text)
        assert [along.letter for along in there.shape] == [axis.letter for axis in block.axes]


@pytest.mark.parametrize("name", BOOKS)
def test_pandas_and_openpyxl_see_what_every_formula_comes_to(name: str, books: dict[str, Book], folder: Path) -> None:
    """Previews, mail programs and data frames read cached values only; an empty word reads as nothing there.

    One formula has none: it asks whether the program that shows the file knows FORMULATEXT.
    """
    path = folder / f"{name}.xlsx"
    frames = pd.read_excel(path, sheet_name=None, header=None, dtype=object, keep_default_na=False, na_values=[])
    cached = openpyxl.load_workbook(path, data_only=True)
    for (sheet, cell), value in expected(books[name].layout).items():
        shown = cached[sheet][cell]
        if (sheet, shown.row - 1, shown.column - 1) == PROBE:
            assert shown.value is None
            continue
        assert (shown.value or "") == (value or "") or shown.value == value, f"{sheet}!{cell}"
        if value != "":
            assert frames[sheet].iat[shown.row - 1, shown.column - 1] == value, f"{sheet}!{cell}"


# A file that is opened for what it says shows in every cell what openpyxl shows, which reads all of it.


WORKBOOKS = Path(__file__).parents[2] / "workbooks"


def odd(path: Path) -> Path:
    """Saves a workbook of everything that a cell may hold, and of things beside them."""
    book = openpyxl.Workbook()
    page = book.active
    looks = CellRichText("two ", TextBlock(InlineFont(b=True), "looks"))
    for row in ([1, 2.5, -0.0, 1e300, 10**20], ["a", " b ", "", "ä\n", "_x005F_"], [True, False, "#N/A", None, "=1+1"],
                [date(2026, 2, 1), time(12, 30), timedelta(days=40), looks, "=A1*2"]):  # fmt: skip
        page.append(row)
    page.merge_cells("A8:C9")
    page["A8"].hyperlink = "https://example.com"
    page["B1"].hyperlink, page["A1"].hyperlink = "#Sheet!A1", "#'My notes'!B2"
    page["C1"].comment = Comment("a note", "me")
    page.add_chart(BarChart(), "H2")
    book.create_sheet("My notes")["B2"] = "there"
    book.create_chartsheet("A chart").add_chart(BarChart())
    book.defined_names["here"] = openpyxl.workbook.defined_name.DefinedName("here", attr_text="Sheet!$A$1")
    book.save(path)
    return path


def links(page: Any) -> dict[int, list[str]]:
    """Returns where the links of a sheet lead, by row."""
    found: dict[int, list[str]] = {}
    for cell in (cell for row in page.iter_rows() for cell in row if cell.hyperlink and cell.hyperlink.location):
        found.setdefault(cell.row, []).append(cell.hyperlink.location)
    return found


@pytest.mark.parametrize("name", ["odd", "kl-controller", "classic"])
def test_it_says_what_openpyxl_says(tmp_path: Path, name: str) -> None:
    path = odd(tmp_path / "odd.xlsx") if name == "odd" else WORKBOOKS / f"{name}.xlsx"
    ours, theirs, texts = Workbook(path), openpyxl.load_workbook(path, data_only=True), openpyxl.load_workbook(path)
    assert ours.sheets == theirs.sheetnames
    assert ours.cells.keys() == {page.title for page in theirs.worksheets}
    for page in theirs.worksheets:
        sheet, cells = ours.cells[page.title], [cell for row in page.iter_rows() for cell in row]
        shown = {(cell.row, cell.column): cell.value for cell in cells if cell.value is not None}
        said = {at: value for at, value in sheet.values.items() if value is not None}
        assert {at: (type(each), each) for at, each in said.items()} == {
            at: (type(each), each) for at, each in shown.items()
        }
        assert sheet.links == links(page)
        formulas = (cell for row in texts[page.title].iter_rows() for cell in row if cell.data_type == "f")
        assert sheet.formulas == {(cell.row, cell.column): cell.value[1:] for cell in formulas}
    assert ours.names == {name.casefold(): each.attr_text for name, each in theirs.defined_names.items()}
    assert ours.facts == {each.name: str(each.value) for each in theirs.custom_doc_props.props}
    assert ours.properties == theirs.properties
