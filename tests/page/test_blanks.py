"""A workbook with blanks: what stands in them, what waits for them, and what is said of them."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import openpyxl
import pytest

from blueprint import Book
from blueprint.notation import Axis, NotationError, block, typed
from blueprint.page.blanks import check_of, rectangles
from blueprint.page.engine import with_ironcalc
from blueprint.page.outline import Blank, Blueprint, on_one_sheet

t = Axis("t", "week")


@cache
def growing() -> Blueprint:
    """A plant that grows: a sum along the weeks, and one of the sum; the second cell waits where the first has a blank."""
    rain = typed("rain", (t,), "r", "rain of a week")
    height, area = block("height", (t,), "h", "height up to a week"), block("area", (t,), "a", "height by rain")
    height[t.first - 1] = 0
    height[t] = height[t - 1] + rain[t]
    area[t] = height[t] / rain[t]
    return on_one_sheet("Weeks", [rain, height, area], t, {rain: [1.5, 2.25, 4.0, 8.5]})


def with_blanks(*blanks: Blank, **more: object) -> Blueprint:
    return replace(growing(), blanks=blanks, **more)  # type: ignore[arg-type]


def blank(name: str, *cells: tuple[int, ...], **more: object) -> Blank:
    found = next(block for block in growing().blocks() if block.name == name)
    return Blank(f"{name}@{cells}", found, cells, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("blanks") / "sheet.xlsx"
    asked = blank("height", (1,), check=check_of([3.75])), blank("area", (0,), (3,), asks="formula", weight=2.0)
    Book(with_blanks(*asked, left_out={"twice": "it says height again"}, facts={"token": "v1.me"})).save(path)
    return path


def test_a_blank_is_an_empty_unlocked_cell_of_its_own_look_with_a_name_and_a_message(saved: Path) -> None:
    file = openpyxl.load_workbook(saved)
    assert file.sheetnames[:2] == ["Weeks", "Blanks"]
    assert {name: file.defined_names[name].attr_text for name in ("blank_01", "blank_02", "blueprint_token")} == {
        "blank_01": "Weeks!$R$8",
        "blank_02": "Weeks!$Q$9,Weeks!$T$9",
        "blueprint_token": "Weeks!$I$3",
    }
    page = file["Weeks"]
    for address in ("R8", "Q9", "T9"):
        cell = page[address]
        assert cell.value is None
        assert (cell.fill.fgColor.rgb, cell.border.left.style, cell.protection.locked) == ("FFFFF2CC", "dashed", False)
    rules = {str(rule.sqref): rule.prompt for rule in page.data_validations.dataValidation}
    assert rules["R8"] == "height up to a week: a number, to 4 decimals (1 point)"
    assert rules["Q9 T9"] == "height by rain: a formula that gives a number, to 4 decimals (2 points)"
    assert page["I3"].value == "v1.me"


def test_what_hangs_on_a_blank_has_its_formula_no_value_and_shows_that_it_waits(saved: Path) -> None:
    text = zipfile.ZipFile(saved).read("xl/worksheets/sheet1.xml").decode()
    for address, waits in {"S8": True, "T8": True, "R9": True, "S9": True, "Q8": False}.items():
        cell = text.partition(f'<c r="{address}"')[2].partition("</c>")[0]
        assert "<f>" in cell
        assert ("<v>" not in cell) is waits, address
    assert 'sqref="S8:T8 R9:S9"><cfRule type="expression" dxfId="2" priority="1" stopIfTrue="1">' in text
    assert "<formula>COUNT(blank_01)&lt;1</formula>" in text


def test_the_watch_of_a_row_says_nothing_of_what_is_left_to_the_reader(saved: Path) -> None:
    theirs = with_ironcalc(saved)
    assert theirs["Weeks", "D3"] == "0 of 2"
    assert theirs["Weeks", "A8"] == theirs["Weeks", "A9"] == ""
    assert theirs["Formulas", "E4"] == ""


@pytest.mark.parametrize(("cell", "sign"), [("R8", ""), ("S8", "!"), ("Q8", "!")])
def test_a_number_is_no_mistake_in_a_blank_and_one_beside_it(saved: Path, tmp_path: Path, cell: str, sign: str) -> None:
    file = openpyxl.load_workbook(saved)
    file["Weeks"][cell] = 3.75
    file.save(tmp_path / "edited.xlsx")
    assert with_ironcalc(tmp_path / "edited.xlsx")["Weeks", "A8"] == sign


def test_filled_in_every_cell_has_its_number_again_and_the_digits_agree(tmp_path: Path) -> None:
    path, heights = tmp_path / "full.xlsx", next(b for b in growing().blocks() if b.name == "height")
    asked = blank("height", (1,), check=check_of([3.75])), blank("height", (3,), check=check_of([1.0]))
    full = Book(with_blanks(*asked), held={heights: {(1,): 3.75, (3,): 16.25}})
    full.save(path)
    assert full.prove(path).failures == []
    theirs = with_ironcalc(path)
    assert theirs["Weeks", "D3"] == "2 of 2"
    assert (theirs["Blanks", "Q7"], theirs["Blanks", "Q8"]) == ("same", "other")


def test_the_sheet_of_blanks_lists_them_and_what_is_not_there(saved: Path) -> None:
    file = openpyxl.load_workbook(saved, data_only=True)
    rows = [[cell.value for cell in row[1:14]] for row in file["Blanks"]["A7:N8"]]
    assert rows[0] == [
        1,
        "Weeks!R8",
        "h",
        "height up to a week",
        "week 1",
        "h = h[t − 1] + r",
        "height@((1,),)",
        "a number",
        4,
        1,
        1,
        0,
        "empty",
    ]
    assert rows[1][:5] == [2, "Weeks!Q9", "a", "height by rain", "week 0 … 3"]
    assert rows[1][7:] == ["a formula", 4, 2, 2, 0, "empty"]
    assert [file["Blanks"]["B11"].value, file["Blanks"]["E11"].value] == ["twice", "it says height again"]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (("rain", (0,)), "rain is no computed number"),
        (("height",), "has no cells"),
    ],
)
def test_a_blank_that_is_none_is_refused(wrong: tuple[str, *tuple[tuple[int, ...], ...]], sentence: str) -> None:
    with pytest.raises(NotationError, match=sentence):
        Book(with_blanks(blank(*wrong))).save("never.xlsx")


def test_cells_become_rectangles_that_overlap_nowhere() -> None:
    assert rectangles([(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (1, 4)]) == [(1, 1, 2, 2), (1, 4, 1, 4), (3, 1, 3, 1)]
