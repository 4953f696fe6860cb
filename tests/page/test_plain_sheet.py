"""The sheets that write their cells at once give the same bytes as the writer that looks at every formula and cell."""

import zipfile
from pathlib import Path

import pytest
from xlsxwriter.worksheet import Worksheet

from blueprint.page.write import PlainSheet
from tests.page.workshop import made


@pytest.mark.parametrize("numbers", ["very-very-sleepy", "ten-libraries", "reinforce"])
def test_cells_are_the_writer_s_own(numbers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(numbers=numbers).save(short := tmp_path / "short.xlsx")
    monkeypatch.setattr(PlainSheet, "_write_cell", Worksheet._write_cell)
    monkeypatch.setattr(PlainSheet, "_prepare_formula", Worksheet._prepare_formula)
    monkeypatch.setattr(PlainSheet, "formula", Worksheet.write_formula)
    made(numbers=numbers).save(full := tmp_path / "full.xlsx")
    with zipfile.ZipFile(short) as one, zipfile.ZipFile(full) as other:
        assert one.namelist() == other.namelist()
        assert not [name for name in one.namelist() if one.read(name) != other.read(name)]
