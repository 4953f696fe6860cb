"""Gnumeric computes our number in every formula cell of every built-in workbook, and of a worksheet; Start says OK.

Before it sees a file, every number in it is replaced by 777.25: what it finds right it has computed.
"""

import re
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from openpyxl.utils.cell import get_column_letter

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.page import grid
from blueprint.page.engine import Cells, EngineMissing, with_ironcalc
from blueprint.page.formulas import NOT_ALL_SEEN, OVERWRITTEN, PROBE_CELL, REPLACED, VERDICT, expected, waiting_in
from blueprint.page.recalculate import compare
from blueprint.workbooks.registry import blueprint_of, kinds
from blueprint.worksheets import worksheet
from tests.audit import spoil
from tests.checking.cells import change
from tests.page import gnumeric
from tests.page.watching import watched
from tests.page.workshop import made, save_made

BUILT_IN = sorted(name for kind in kinds() for name in kind.built_in())
BOOKS: dict[str, Callable[[], Book]] = {
    "a worksheet": lambda: worksheet(blueprint_of(load("default", [])), 12).book,
    "every convention live": lambda: made("conventions=live", "compare=trl_1.12,verl"),
}
PROBE = PROBE_CELL.partition("!")[2].replace("$", "")
pytestmark = pytest.mark.usefixtures("needs_gnumeric")


def due(book: Book) -> Cells:
    """Returns what Gnumeric must compute: our numbers, and that it has no FORMULATEXT, with the line that says so."""
    says = {(sheet, grid.address(row, VERDICT + 4)): NOT_ALL_SEEN for sheet, row, _ in book.layout.judged}
    return {**expected(book.layout), ("Formulas", PROBE): 0.0, **says}


def computed(book: Book, folder: Path) -> Cells:
    """Returns what Gnumeric computes of a book whose numbers are spoiled, without what waits for blanks."""
    book.save(folder / "book.xlsx")
    waiting = waiting_in(book.layout)
    count = spoil(folder / "book.xlsx", folder / "spoiled.xlsx", waits=bool(waiting))
    (cells,) = gnumeric.with_gnumeric([folder / "spoiled.xlsx"])
    assert len(cells) == count
    return {cell: value for cell, value in cells.items() if cell not in waiting}


@pytest.mark.parametrize("name", [*BUILT_IN, *BOOKS])
def test_gnumeric_computes_our_numbers_in_every_formula_cell(name: str, tmp_path: Path) -> None:
    book = BOOKS[name]() if name in BOOKS else made(numbers=name)
    cells = computed(book, tmp_path)
    proof = compare(due(book), cells)
    assert [str(failure) for failure in proof.failures] == []
    assert proof.total == len(cells) > 200
    assert [cells[sheet, grid.address(row, VERDICT)] for sheet, row, _ in book.layout.judged] in ([], ["OK"])
    assert [value for value in cells.values() if isinstance(value, str) and re.search(r"\d{16}|\.\d{15}", value)] == []


def test_it_is_an_option_that_makes_gnumeric_recalculate(tmp_path: Path) -> None:
    save_made(tmp_path / "book.xlsx", numbers="very-very-sleepy")
    spoil(tmp_path / "book.xlsx", tmp_path / "spoiled.xlsx")
    (cells,) = gnumeric.with_gnumeric([tmp_path / "spoiled.xlsx"], options=())
    assert set(cells.values()) == {777.25}


def test_a_number_typed_over_a_formula_is_seen_by_its_value(tmp_path: Path) -> None:
    """Gnumeric has no FORMULATEXT, so no cell is called overwritten; that it has another value is seen all the same."""
    file = watched("very-very-sleepy")
    spots = [spot for spot in file.some(60, seed=3) if not isinstance(file.value(spot), str)][:6]
    copies = [tmp_path / f"{number}.xlsx" for number, _ in enumerate(spots)]
    for copy, (sheet, row, column) in zip(copies, spots, strict=True):
        change(file.path, copy, sheet, {f"{get_column_letter(column)}{row}": (None, 0.5)})
    for spot, cells in zip(spots, gnumeric.with_gnumeric(copies), strict=True):
        margin = [value for (_, cell), value in cells.items() if re.fullmatch(r"A\d+", cell)]
        assert OVERWRITTEN not in margin
        assert (REPLACED in margin, cells["Formulas", "D4"]) == (True, "LOOK"), spot
        assert cells["Start", f"D{file.start}"] == "LOOK"


def test_errors_words_and_truths_are_read_as_such(tmp_path: Path) -> None:
    written = {"A1": "=1/0", "A2": '=IF(2>1,"cat","")', "A3": "=2>1", "A4": "=NOSUCH(1)", "A5": '=""'}
    with xlsxwriter.Workbook(tmp_path / "book.xlsx") as workbook:
        for cell, formula in written.items():
            workbook.add_worksheet(f"S & {cell}").write_formula(cell, formula, None, 777.25)
    (cells,) = gnumeric.with_gnumeric([tmp_path / "book.xlsx"])
    assert {cell: value or "" for (_, cell), value in cells.items()} == {
        "A1": "#DIV/0!", "A2": "cat", "A3": True, "A4": "#NAME?", "A5": "",
    }  # fmt: skip
    assert with_ironcalc(tmp_path / "book.xlsx")["S & A3", "A3"] is True


def test_what_is_no_workbook_and_a_missing_program_are_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openpyxl.Workbook().save(tmp_path / "book.xlsx")
    with pytest.raises(RuntimeError, match=r"There is no file .*bok\.xlsx; did you mean book\.xlsx\?"):
        gnumeric.with_gnumeric([tmp_path / "bok.xlsx"])
    monkeypatch.setattr(gnumeric, "WRITES", "no such format")
    with pytest.raises(RuntimeError, match=r"Gnumeric wrote no result for .*book\.xlsx; it said: .*no such format"):
        gnumeric.with_gnumeric([tmp_path / "book.xlsx"])
    monkeypatch.setattr(gnumeric, "PROGRAM", "no-such-program")
    with pytest.raises(EngineMissing, match="Gnumeric is not installed"):
        gnumeric.with_gnumeric([tmp_path / "book.xlsx"])


def test_a_workbook_that_gnumeric_only_opens_has_no_marks(tmp_path: Path) -> None:
    """It trusts the values that it finds; told that it had FORMULATEXT, it would mark every row, and `check` accuse it of that."""
    save_made(tmp_path / "book.xlsx", numbers="kl-controller")
    (cells,) = gnumeric.with_gnumeric([tmp_path / "book.xlsx"], options=())
    assert cells["Formulas", PROBE] == 0
    assert {value for (_, cell), value in cells.items() if cell[0] == "A" and cell[1].isdigit()} <= {"", REPLACED}
