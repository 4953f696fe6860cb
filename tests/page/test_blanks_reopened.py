"""A workbook with blanks in LibreOffice: what it shows, keeps, and calculates when blanks are filled in."""

from __future__ import annotations

from dataclasses import replace

import openpyxl
import pytest

from blueprint import Book
from blueprint.notation import Axis, block, log, typed
from blueprint.page.outline import Blank, on_one_sheet
from tests.page.basic import Change, edit
from tests.page.soffice import libreoffice

pytestmark = pytest.mark.skipif(libreoffice() is None, reason="LibreOffice is not installed")
t = Axis("t", "week")
RAIN, HEIGHT, SLOPE = (
    typed("rain", (t,), "r", "rain of a week"),
    block("height", (t,), "h", "height up to a week"),
    block("slope", (t,), "s", "logarithm of the height"),
)
HEIGHT[t.first - 1] = 0
HEIGHT[t] = HEIGHT[t - 1] + RAIN[t]
SLOPE[t] = log(HEIGHT[t])
"""Of an empty cell it is an error."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, openpyxl.Workbook]:
    """The workbook as LibreOffice saves it: untouched, half filled in, and filled in."""
    folder = tmp_path_factory.mktemp("reopened")
    blueprint = on_one_sheet("Weeks", [RAIN, HEIGHT, SLOPE], t, {RAIN: [1.5, 2.25, 4.0, 8.5]})
    asked = Blank("first", HEIGHT, ((0,),)), Blank("two", HEIGHT, ((1,), (3,)), asks="formula", check=50)
    Book(replace(blueprint, blanks=asked)).save(folder / "sheet.xlsx")
    page = 'page = book.Sheets.getByName("Weeks")'
    first = [page, 'page.getCellRangeByName("Q8").Value = 1.5']
    lines = {
        "untouched": [page],
        "half": first,
        "done": [
            *first,
            'page.getCellRangeByName("R8").Formula = "=Q8+R7"',
            'page.getCellRangeByName("T8").Value = 16.25',
        ],
    }
    changes = [Change(folder / "sheet.xlsx", folder / f"{name}.xlsx", some) for name, some in lines.items()]
    (folder / "room").mkdir()
    edit(changes, folder / "room")
    return {name: openpyxl.load_workbook(folder / f"{name}.xlsx", data_only=True) for name in lines}


def test_names_messages_and_rules_are_kept(files: dict[str, openpyxl.Workbook]) -> None:
    file = files["untouched"]
    assert file.defined_names["blank_02"].attr_text == "Weeks!$R$8,Weeks!$T$8"
    assert {str(rule.sqref) for rule in file["Weeks"].data_validations.dataValidation} >= {"Q8", "R8 T8"}
    rules = {frozenset(str(found.sqref).split()): found.rules[0] for found in file["Weeks"].conditional_formatting}
    one, two = rules[frozenset(["Q9"])], rules[frozenset(["S8", "R9:T9"])]
    assert one.formula == ["COUNT(blank_01)<1"]
    assert two.formula == ["COUNT(blank_02)<2"]
    for rule in (one, two):
        assert "…" in rule.dxf.numFmt.formatCode
        # An error, to which no number format applies, is not seen either.
        assert rule.dxf.font.color.rgb == rule.dxf.fill.bgColor.rgb


def test_what_waits_is_calculated_when_its_blanks_are_filled_in(files: dict[str, openpyxl.Workbook]) -> None:
    assert [files[name]["Weeks"]["D3"].value for name in files] == ["0 of 2", "1 of 2", "2 of 2"]
    done = files["done"]["Weeks"]
    assert [done[cell].value for cell in ("R8", "S8", "T8")] == [3.75, 7.75, 16.25]
    assert [done[cell].value for cell in ("A8", "A9")] == [None, None]
    assert files["done"]["Blanks"]["Q8"].value == "other"
    assert files["untouched"]["Weeks"]["Q9"].data_type == "e"
    states = [[files[name]["Blanks"][cell].value for cell in ("N7", "N8")] for name in files]
    assert states == [["empty", "empty"], ["filled in", "empty"], ["filled in", "filled in"]]
