"""Every formula of a file against those of a fresh workbook: what was overwritten is named, whoever saved the file."""

from __future__ import annotations

import json
import random
import re
import zipfile
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import pytest
from openpyxl.formula.translate import Translator
from openpyxl.utils import get_column_letter

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.checking.checked_file import ANOTHER_VERSION, Compared, against_fresh, formulas_of
from blueprint.page.grid import ONE_PAGE, is_of_one_page
from blueprint.page.read import Opened
from blueprint.page.saved_file import Written
from blueprint.reopening.fresh import Like
from tests.checking.cells import change
from tests.checking.running import run
from tests.page.basic import Change, edit
from tests.page.workshop import made
from tests.reopening.kinds import book_of_kind

BOOKS: dict[str, Callable[[], Book]] = {
    "default": made,
    "ten-libraries": lambda: book_of_kind("logits"),
    "very-very-sleepy": lambda: made(numbers="very-very-sleepy"),
    "classic": lambda: made(numbers="classic"),
    "kl-controller": lambda: made(numbers="kl-controller"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Saves a book of a kind when it is first asked for."""
    room = tmp_path_factory.mktemp("formulas")

    def path(kind: str) -> Path:
        file = room / f"{kind}.xlsx"
        if not file.exists():
            BOOKS[kind]().save(file)
        return file

    return path


class Bench(NamedTuple):
    """A workbook taken apart, so that its formulas can be overwritten without saving it."""

    file: Opened
    like: Like
    written: Written

    def compared(self, edits: dict[tuple[str, int, int], str | None], version: str = "") -> Compared:
        """Compares it after edits: other formulas, or none; version: the fingerprint that it has, if it has one."""
        written = deepcopy(self.written)
        for (sheet, row, column), text in edits.items():
            written[sheet].pop((row, column))
            if text is not None:
                written[sheet][row, column] = text
        return against_fresh(self.like, self.file.places, written, lambda cell: self.file.value(*cell), version)

    def cells(self) -> list[tuple[str, int, int]]:
        """Lists every formula but those of One page, whose columns follow from the numbers; its own marks watch these."""
        return [
            (sheet, *cell)
            for sheet, cells in self.written.items()
            for cell, text in cells.items()
            if not is_of_one_page(sheet, text)
        ]


def bench(path: Path) -> Bench:
    """Takes a workbook apart."""
    file = Opened(path)
    return Bench(file, Like(file), file.written)


@pytest.fixture(scope="module")
def default(saved: Callable[[str], Path]) -> Bench:
    """The default workbook."""
    return bench(saved("default"))


def named(cell: tuple[str, int, int]) -> str:
    """Names a cell as a message does."""
    return f"{cell[0]}!{get_column_letter(cell[2])}{cell[1]}"


def compared(path: Path) -> Compared:
    """Compares the formulas of a file."""
    return formulas_of(Opened(path))


def intact(result: Compared) -> bool:
    """Says whether all formulas were compared and none is another."""
    return (result.others, result.open, result.why) == ((), 0, "") and result.expected > 200


@pytest.mark.parametrize("kind", BOOKS)
def test_a_file_as_it_was_made_has_the_formulas_of_a_fresh_one(saved: Callable[[str], Path], kind: str) -> None:
    path = saved(kind)
    result = compared(path)
    assert intact(result), result.others[:3]
    written = Opened(path).written
    assert result.expected == sum(
        not is_of_one_page(sheet, text) for sheet, cells in written.items() for text in cells.values()
    )


OVERWRITTEN: dict[str, Callable[[str], str | None]] = {
    "another formula of the same value": lambda text: f"({text})+0",
    "a number": lambda text: None,
    "the formula of the cell beside it": lambda text: Translator(f"={text}", "F6").translate_formula("G6")[1:],
    "a constant formula": lambda text: "0.5",
}


@pytest.mark.parametrize("how", OVERWRITTEN)
def test_two_hundred_formulas_overwritten_at_random_are_all_named(default: Bench, how: str) -> None:
    """On all sheets; of formulas that read whole rows, or names, the one beside it is the same."""
    texts = {cell: OVERWRITTEN[how](default.written[cell[0]][cell[1:]]) for cell in default.cells()}
    others = [cell for cell, text in texts.items() if text != default.written[cell[0]][cell[1:]]]
    by_sheet = {cell[0]: cell for cell in reversed(others)}
    picked = dict.fromkeys([*by_sheet.values(), *random.Random(5).sample(others, 200)])
    assert len(by_sheet) > 12
    result = default.compared({cell: texts[cell] for cell in picked})
    assert {other.cell for other in result.others} == set(map(named, picked))
    assert result.open == 0


def test_one_at_a_time_is_named_with_what_should_stand_there(default: Bench) -> None:
    for cell in random.Random(6).sample(default.cells(), 10):
        text = default.written[cell[0]][cell[1:]]
        (other,) = default.compared({cell: "1+1"}).others
        assert (other.cell, other.stands) == (named(cell), "=1+1")
        assert other.meant.startswith("=" + text.replace("_xlfn.", "")[:300])


def test_a_watch_that_was_overwritten_accuses_no_other_watch(saved: Callable[[str], Path]) -> None:
    """What the others expect hangs on which limits were off when the file was made, as the watches alone tell."""
    each = bench(saved("ten-libraries"))
    watches = [(s, r, c) for s, r, c in each.cells() if c == 1 and "=(" in each.written[s][r, c] and s == "Conventions"]
    assert len(watches) > 10
    for cell in watches[::6]:
        assert [other.cell for other in each.compared({cell: "1+1"}).others] == [named(cell)]


def test_limits_that_were_typed_since_accuse_nothing(saved: Callable[[str], Path]) -> None:
    each = bench(saved("ten-libraries"))
    assert against_fresh(each.like, each.file.places, each.written, lambda cell: 2.0).others == ()
    cell = next(iter(each.cells()))
    edited = each.written | {cell[0]: each.written[cell[0]] | {cell[1:]: "1+1"}}
    others = against_fresh(each.like, each.file.places, edited, lambda cell: 2.0).others
    assert [other.cell for other in others] == [named(cell)]


def test_a_file_that_libreoffice_edited(saved: Callable[[str], Path], tmp_path: Path, needs_libreoffice: None) -> None:
    """Sheets renamed, rows and columns inserted: nothing is accused but what was overwritten, where it went."""
    source, room = saved("default"), tmp_path / "room"
    room.mkdir()
    inserted = [
        ("Loss", "Rows", 20, 2), ("Loss", "Columns", 3, 1), ("Walk", "Rows", 30, 1), ("Delivered", "Rows", 30, 2),
        ("Checks", "Rows", 0, 1),
    ]  # fmt: skip
    renamed = ("Walk", "Charts", "Delivered", "Formulas", "Start")
    total = Opened(source).places["total_loss"]
    edits = [
        *(f'book.Sheets.getByName("{sheet}").{lines}.insertByIndex({at}, {n})' for sheet, lines, at, n in inserted),
        'book.Sheets.getByName("Walk").getCellRangeByName("D20").Value = 0.5',
        f'book.Sheets.getByName("Loss").getCellByPosition({total.left}, {total.top + 1}).Formula = "=1+1"',
        *(f'book.Sheets.getByName("{sheet}").Name = "My {sheet}"' for sheet in renamed),
    ]
    edit([Change(source, tmp_path / "edited.xlsx", edits)], room)
    result = compared(tmp_path / "edited.xlsx")
    assert {other.cell for other in result.others} == {"My Walk!D20", named(("Loss", total.top + 2, total.left + 1))}
    assert 0 < result.open < 20


def test_a_formula_shared_with_its_neighbours_is_read_in_each_cell(
    saved: Callable[[str], Path], tmp_path: Path
) -> None:
    """So Excel writes them: the text stands in the first cell alone."""
    path = saved("very-very-sleepy")
    sheet, row, first = next(
        (sheet, row, column)
        for sheet, cells in Opened(path).written.items()
        for (row, column), text in cells.items()
        if column > 1 and cells.get((row, column + 1)) == beside(text) and sheet != ONE_PAGE
    )
    cells = [f"{get_column_letter(first + i)}{row}" for i in (0, 1)]
    text = Opened(path).written[sheet][row, first]
    change(path, tmp_path / "plain.xlsx", sheet, {cells[0]: ("FIRST", 1), cells[1]: ("SECOND", 1)})
    shared = tmp_path / "shared.xlsx"
    replaced(
        tmp_path / "plain.xlsx", shared, "<f>FIRST</f>", f'<f t="shared" ref="{":".join(cells)}" si="0">{text}</f>'
    )
    replaced(shared, tmp_path / "both.xlsx", "<f>SECOND</f>", '<f t="shared" si="0"/>')
    assert [other.cell for other in compared(shared).others] == [f"{sheet}!{cells[1]}"]
    assert compared(tmp_path / "both.xlsx").others == ()


@pytest.mark.parametrize("instead", [None, "1+1"])
def test_a_formula_of_one_page_that_was_overwritten_is_named_by_its_mark(
    saved: Callable[[str], Path], tmp_path: Path, instead: str | None
) -> None:
    """As a spreadsheet saves it, with its mark computed again; as it was made nothing is marked."""
    path, mark = saved("default"), "≠" if instead else "!"
    watch = Opened(path).written[ONE_PAGE][6, 1]
    change(path, tmp_path / "other.xlsx", ONE_PAGE, {"H6": (instead, 2.0), "A6": (watch, mark)})
    assert [other.cell for other in compared(tmp_path / "other.xlsx").others] == [f"{ONE_PAGE}!A6"]
    assert compared(path).others == ()


def beside(text: str) -> str:
    """Returns a formula as it reads one column to the right; one that reads the same there is none."""
    moved = str(Translator(f"={text}", "F6").translate_formula("G6"))[1:]
    return moved if moved != text and not re.search("[<>&]", text) else ""


def replaced(source: Path, target: Path, old: str, new: str) -> None:
    """Writes a copy in which one text of a part is another."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for part in archive.infolist():
            content = archive.read(part)
            copy.writestr(part, content.replace(old.encode(), new.encode()))


def test_the_command_names_cells_and_exits_with_1(saved: Callable[[str], Path], tmp_path: Path) -> None:
    change(saved("default"), tmp_path / "walk.xlsx", "Walk", {"D20": (None, 0.5)})
    code, out, _ = run(tmp_path / "walk.xlsx")
    assert code == 1
    assert re.search(r"walk\.xlsx  differs in a formula: Walk!D20  (\d+) of \1 quantities", out)
    assert re.search(r"^Walk!D20: found 0\.5, a fresh workbook has =INDEX\(.*,chosen_place\)$", out, re.MULTILINE)
    code, out, _ = run(tmp_path / "walk.xlsx", "--json")
    told = json.loads(out)["files"][0]
    assert (code, told["agrees"], told["first"]) == (1, False, [])
    assert [other["cell"] for other in told["formulas"]["other"]] == ["Walk!D20"]
    assert told["formulas"]["compared"] == told["formulas"]["expected"] > 8_000


def test_a_file_of_another_version_is_not_accused(default: Bench) -> None:
    places = dict(list(default.file.places.items())[::2])
    result = against_fresh(default.like, places, default.written, lambda cell: None)
    assert (result.others, result.why) == ((), ANOTHER_VERSION)
    fresh = default.like.fresh()
    for version in (fresh.fingerprint, ""):
        assert default.compared({}, version).expected == len(default.cells())
    assert default.compared({default.cells()[0]: "1+1"}, "older").why == ANOTHER_VERSION
