"""Whatever is no sound workbook, every missing engine, and whatever end a process apart comes to is one sentence."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import ironcalc
import pytest
import xlsxwriter

from blueprint.page import engine
from blueprint.page.engine import EngineMissing, recalculated_apart, with_ironcalc
from blueprint.page.recalculate import prove
from tests.page import soffice


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Writes a sound workbook with one formula."""
    with xlsxwriter.Workbook(tmp_path / "book.xlsx") as workbook:
        workbook.add_worksheet("S").write_formula("A1", "=1+2", None, 3)
    return tmp_path / "book.xlsx"


def damaged(book: Path, kind: str) -> Path:
    """Returns something that is no sound workbook."""
    path = book.with_name("damaged.xlsx")
    match kind:
        case "missing":
            return book.with_name("bok.xlsx")
        case "folder":
            return book.parent
        case "text":
            path.write_text("1,2,3\n")
        case "half":
            path.write_bytes(book.read_bytes()[:2000])
        case "other archive":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("a.txt", "a")
        case "half a sheet":
            with zipfile.ZipFile(book) as source, zipfile.ZipFile(path, "w") as archive:
                for name in source.namelist():
                    archive.writestr(name, source.read(name)[: 500 if name.endswith("sheet1.xml") else None])
    return path


DAMAGES = {
    "missing": "There is no file .*bok.xlsx; did you mean book.xlsx?",
    "folder": "is a folder; name the .xlsx file in it",
    "text": "damaged.xlsx is no .xlsx workbook",
    "half": "damaged.xlsx is no .xlsx workbook, or only part of one",
    "other archive": "damaged.xlsx cannot be read as a workbook",
    "half a sheet": "damaged.xlsx cannot be read as a workbook",
}


@pytest.mark.parametrize(("kind", "sentence"), DAMAGES.items())
def test_ironcalc_refuses_in_one_sentence(book: Path, kind: str, sentence: str) -> None:
    with pytest.raises(RuntimeError, match=sentence) as caught:
        with_ironcalc(damaged(book, kind))
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("needs_libreoffice")
@pytest.mark.parametrize(("kind", "sentence"), DAMAGES.items())
def test_libreoffice_refuses_in_one_sentence(book: Path, kind: str, sentence: str) -> None:
    with pytest.raises(RuntimeError, match=sentence) as caught:
        soffice.with_libreoffice([book, damaged(book, kind)])
    assert "\n" not in str(caught.value)


def test_a_panic_of_ironcalc_is_a_sentence_too(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ironcalc, "load_from_xlsx", lambda path: ironcalc.test_panic())
    with pytest.raises(RuntimeError, match="cannot be read as a workbook"):
        with_ironcalc(book)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, SystemExit])
def test_an_interruption_stays_an_interruption(book: Path, monkeypatch: pytest.MonkeyPatch, fault: type) -> None:
    def interrupt(path: str) -> None:
        raise fault

    monkeypatch.setattr(ironcalc, "load_from_xlsx", interrupt)
    with pytest.raises(fault):
        with_ironcalc(book)


def test_a_missing_engine_is_said_in_one_sentence(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ironcalc", None)
    monkeypatch.setattr(soffice, "libreoffice", lambda: None)
    with pytest.raises(EngineMissing, match="ironcalc is not installed; get it with `pip install ironcalc`"):
        prove(book, {})
    with pytest.raises(EngineMissing, match="LibreOffice is not installed"):
        soffice.with_libreoffice([book])


# Somebody else's formulas are computed in a process of its own: whatever end it comes to is a sentence.


STOPPED = "the engine was stopped: its formulas are nested too deeply, or take more than 20 seconds or 1 GB"


def written(path: Path, *formulas: str) -> Path:
    """Writes a workbook of formulas, whose sheet reaches down to its last row."""
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("S")
        for row, formula in enumerate(formulas):
            sheet.write_formula(row, 3, formula, None, 7)
        sheet.write_number(0, 0, 2)
        sheet.write_number(1_048_575, 2, 1)
    return path


def test_it_computes_what_the_engine_computes(tmp_path: Path) -> None:
    path = written(tmp_path / "book.xlsx", "=A1/3", '="γ"&A1', "=1/0", "=A1=2", '=IF(A1>9,1,"")', "=1e300*1e300")
    assert recalculated_apart(path) == with_ironcalc(path)
    assert recalculated_apart(path)["S", "D1"] == 2 / 3


@pytest.mark.parametrize("blank", ['<c r="A1" t="n" />', '<c r="A1" t="n"/>', '<c r="A1" t="n"></c>', '<c r="A1"/>'])
def test_a_blank_cell_is_no_0_however_openpyxl_writes_it(tmp_path: Path, blank: str) -> None:
    """With lxml, which openpyxl uses where it is installed, the cell has two tags."""
    path = written(tmp_path / "book.xlsx", '=IF(A1="","blank","a number")')
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(tmp_path / "blank.xlsx", "w") as target:
        for part in source.namelist():
            text = source.read(part).decode()
            assert ('<c r="A1"><v>2</v></c>' in text) == (part == "xl/worksheets/sheet1.xml")
            target.writestr(part, text.replace('<c r="A1"><v>2</v></c>', blank))
    assert recalculated_apart(tmp_path / "blank.xlsx") == {("S", "D1"): "blank"}


def test_what_the_engine_refuses_is_said(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    path.write_bytes(b"1,2")
    with pytest.raises(RuntimeError, match=r"book\.xlsx is no \.xlsx workbook, or only part of one"):
        recalculated_apart(path)


def test_brackets_that_overflow_the_stack_end_nothing_but_that_process(tmp_path: Path) -> None:
    path = written(tmp_path / "deep.xlsx", "=" + "(" * 4000 + "1" + ")" * 4000)
    with pytest.raises(RuntimeError) as refused:
        recalculated_apart(path)
    assert str(refused.value) == STOPPED


@pytest.mark.skipif(sys.platform == "win32", reason="Windows bounds no process's time and memory")
@pytest.mark.parametrize(("bound", "least"), [("SECONDS", 1), ("MEMORY", 50_000_000)])
def test_products_over_whole_sheets_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, least: int
) -> None:
    """With lower bounds than they are, so that the test is quick."""
    lines = "from blueprint.page import engine", "import sys", f"engine.{bound} = {least}"
    code = "\n".join([*lines, "engine.main(*sys.argv[1:])"])
    monkeypatch.setattr(engine, "_COMMAND", ("-c", code))
    assert len(recalculated_apart(written(tmp_path / "small.xlsx", "=1+1", "=D1+1"))) == 2
    path = written(tmp_path / "wide.xlsx", *(f"=SUMPRODUCT(A:C,A:C)*{i}" for i in range(20)))
    with pytest.raises(RuntimeError) as refused:
        recalculated_apart(path)
    assert str(refused.value) == STOPPED


def test_a_module_that_lies_beside_the_workbook_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ironcalc.py").write_text("open('run', 'w')", encoding="utf-8")
    (tmp_path / "json.py").write_text("open('run', 'w')", encoding="utf-8")
    path = written(tmp_path / "book.xlsx", "=1+1")
    monkeypatch.chdir(tmp_path)
    assert recalculated_apart(path) == {("S", "D1"): 2.0}
    assert not os.path.exists("run")
