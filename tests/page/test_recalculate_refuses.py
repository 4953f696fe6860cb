"""Whatever is no sound workbook, and every missing engine, is refused in one sentence."""

import sys
import zipfile
from pathlib import Path

import ironcalc
import pytest
import xlsxwriter

from blueprint.page.engine import EngineMissing, with_ironcalc
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
