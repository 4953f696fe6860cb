"""A file that is opened for what it says shows in every cell what openpyxl shows, which reads all of it."""

from __future__ import annotations

from datetime import date, time, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart
from openpyxl.comments import Comment

from blueprint.page.saved_file import Workbook

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
    assert {name: each.attr_text for name, each in ours.names.items()} == {
        name: each.attr_text for name, each in theirs.defined_names.items()
    }
    assert ours.facts == {each.name: str(each.value) for each in theirs.custom_doc_props.props}
    assert ours.properties == theirs.properties
