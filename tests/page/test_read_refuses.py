"""What is no workbook of ours, or was cut to pieces, is refused in one sentence that says where and what."""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from blueprint.page.read import Opened, ReadError, read
from blueprint.quoting import unquoted
from tests.page.basic import Change, edit
from tests.page.workshop import save_made
from tests.page.zips import with_parts

SMALL = ("sizes.vocabulary=3", "sizes.hidden=1", "sizes.embedding=1", "sizes.episodes=1", "sizes.max_new_tokens=1")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves a small workbook."""
    path = tmp_path_factory.mktemp("refused") / "small.xlsx"
    save_made(path, *SMALL)
    return path


def refusal(path: Path) -> str:
    """Returns the sentence with which a file is refused, without the folder."""
    with pytest.raises(ReadError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_what_is_not_there_or_no_file(small: Path) -> None:
    assert refusal(small.with_name("smal.xlsx")) == "smal.xlsx does not exist"
    (small.parent / "folder.xlsx").mkdir()
    assert refusal(small.parent / "folder.xlsx") == "folder.xlsx is a directory, not a workbook"
    assert "is a directory" in refusal(small.parent)


@pytest.mark.parametrize(
    "stands_for", ["Inputs!$D$9:Inputs!$E$9", "OFFSET(Inputs!$D$9,0,0)", "(Inputs!$D$9)", "=Inputs!$D$9", "5"]
)
def test_a_name_that_is_no_range_is_refused_as_it_stands(small: Path, tmp_path: Path, stands_for: str) -> None:
    content = zipfile.ZipFile(small).read("xl/workbook.xml")
    named = re.sub(rb'(name="total_loss">)[^<]*', rb"\g<1>" + stands_for.encode(), content)
    assert named != content
    path = with_parts(small, tmp_path / "named.xlsx", {"xl/workbook.xml": named})
    assert refusal(path) == f"named.xlsx: total_loss should be a range of cells, but is {unquoted(stands_for)}"


def test_a_workbook_may_have_any_name(small: Path, tmp_path: Path) -> None:
    (tmp_path / "workbook").write_bytes(small.read_bytes())
    assert read(tmp_path / "workbook").keys() == read(small).keys()


def damaged(small: Path, path: Path, kind: str) -> None:
    """Writes something that is no sound workbook."""
    match kind:
        case "text":
            path.write_text("1,2,3\n")
        case "nothing":
            path.touch()
        case "half":
            path.write_bytes(small.read_bytes()[:20_000])
        case "another archive":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("a.txt", "a")
        case "half a sheet":
            with zipfile.ZipFile(small) as source, zipfile.ZipFile(path, "w") as archive:
                for name in source.namelist():
                    archive.writestr(name, source.read(name)[: 500 if name.endswith("sheet3.xml") else None])


@pytest.mark.parametrize("kind", ["text", "nothing", "half", "another archive", "half a sheet"])
def test_what_is_no_workbook(small: Path, tmp_path: Path, kind: str) -> None:
    damaged(small, tmp_path / "damaged.xlsx", kind)
    assert refusal(tmp_path / "damaged.xlsx").startswith("damaged.xlsx is no workbook in xlsx format")


def test_somebody_elses_workbook(tmp_path: Path) -> None:
    openpyxl.Workbook().save(tmp_path / "theirs.xlsx")
    assert refusal(tmp_path / "theirs.xlsx") == (
        "theirs.xlsx has no range called blueprint_contents: it is no blueprint workbook, or the name was deleted"
    )


def delete_name(book: Any) -> None:
    del book.defined_names["old_p"]


def narrow_name(book: Any) -> None:
    text = book.defined_names["old_p"].attr_text
    book.defined_names["old_p"].attr_text = text[: text.index(":")]


def lying(shape: str) -> Callable[[Any], None]:
    """Says on Contents that the first block lies otherwise; nothing of that size may be made."""

    def change(book: Any) -> None:
        book["Contents"].cell(5, 14).value = shape

    return change


EDITS: dict[str, tuple[Callable[[Any], None], tuple[str, ...]]] = {
    "a name deleted": (delete_name, ("no range called old_p", "the name was deleted")),
    "a name narrowed": (narrow_name, ("old.p should stand on 3 rows", "its range is Old policy, 1 rows")),
    "Contents deleted": (lambda book: book.remove(book["Contents"]), ("Contents",)),
    "a sheet deleted": (lambda book: book.remove(book["Reference"]), ("Reference",)),
    "a sheet renamed behind the names' back": (
        lambda book: setattr(book["Reference"], "title", "Anchor"),
        ("Reference",),
    ),
    "a column of Contents deleted": (lambda book: book["Contents"].delete_cols(3), ("Contents", "(meaning)")),
    "a billion cells in one": (lying("n→999999999/0"), ("'n→999999999/0' says not how a block lies",)),
    "a billion cells upon each other": (
        lying("n→1000 t→1000 v→1000 w→1"),
        ("should stand on 1 rows and 2998 columns",),
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_copy_that_openpyxl_has_cut(small: Path, tmp_path: Path, name: str) -> None:
    change, parts = EDITS[name]
    book = openpyxl.load_workbook(small, data_only=True)
    change(book)
    book.save(tmp_path / "cut.xlsx")
    sentence = refusal(tmp_path / "cut.xlsx")
    assert sentence.startswith("cut.xlsx")
    assert [part for part in parts if part not in sentence] == []


def test_cells_that_lie_upon_each_other(small: Path, tmp_path: Path) -> None:
    """Two axes side by side in one row, of which every cell is in the range: five cells along each are 25 in nine."""
    name, wide = next(
        (each.name, each.shape[0].cells)
        for each in Opened(small).places.values()
        if len(each.shape) == 1 and each.shape[0].right == 1 and each.shape[0].cells % 2 and each.shape[0].cells > 1
    )
    book = openpyxl.load_workbook(small, data_only=True)
    row = next(row for row in book["Contents"].iter_rows(min_row=5) if row[0].value == name)
    row[13].value = f"n→{wide // 2 + 1} t→{wide // 2 + 1}"
    book.save(tmp_path / "upon.xlsx")
    assert refusal(tmp_path / "upon.xlsx") == (
        f"upon.xlsx: the Contents sheet says that {name} lies as {row[13].value!r}, which puts cells upon each other"
    )


@pytest.mark.parametrize("typed", ["ten", "#REF!"])
def test_a_word_among_numbers(small: Path, tmp_path: Path, typed: str) -> None:
    place = Opened(small).places["rollout.draw"]
    book = openpyxl.load_workbook(small, data_only=True)
    book[place.sheet].cell(place.top, place.left).value = typed
    book.save(tmp_path / "word.xlsx")
    sentence = refusal(tmp_path / "word.xlsx")
    assert "'Old policy'!" in sentence
    assert "(rollout.draw): found" in sentence
    assert "expected a number" in sentence
    assert typed in sentence


WHY = "rows or columns inside it were added or deleted"
CUTS = {
    "row deleted": ("{sheet}.Rows.removeByIndex({top}, 1)", "{home}, 2 rows and {width} columns: " + WHY),
    "row inserted": ("{sheet}.Rows.insertByIndex({top}, 1)", "{home}, 4 rows and {width} columns: " + WHY),
    "Contents deleted": ('{all}.removeByName("Contents")', "the cells of blueprint_contents were deleted"),
    "Contents cut": ('{all}.getByName("Contents").Columns.removeByIndex(2, 1)', "Contents"),
    "sheet deleted": ('{all}.removeByName("Loss")', "the cells of loss_reads were deleted"),
    "name deleted": ('book.NamedRanges.removeByName("old_p")', "has no range called old_p"),
}
"""What is done in LibreOffice to the small workbook, in Basic, and what is then said."""


@pytest.fixture(scope="module")
def cut(needs_libreoffice: None, small: Path) -> dict[str, tuple[Path, str]]:
    """Makes all cuts in one run; returns each copy and what its refusal should say."""
    block = Opened(small).places["old.p"]
    width = 1 + sum((along.cells - 1) * along.right for along in block.shape)
    names = {"home": block.sheet, "top": block.top, "width": width, "all": "book.Sheets"}
    names["sheet"] = f'book.Sheets.getByName("{block.sheet}")'
    changes = [
        Change(small, small.with_name(f"{name}.xlsx"), [line.format(**names)]) for name, (line, _) in CUTS.items()
    ]
    edit(changes, small.parent)
    return {name: (small.with_name(f"{name}.xlsx"), said.format(**names)) for name, (_, said) in CUTS.items()}


@pytest.mark.parametrize("name", CUTS)
def test_a_copy_that_was_cut_in_libreoffice(cut: dict[str, tuple[Path, str]], name: str) -> None:
    path, said = cut[name]
    sentence = refusal(path)
    assert sentence.startswith(path.name)
    assert said in sentence


def test_a_file_of_another_layout_or_with_fewer_contents_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "sleepy.xlsx"
    for name, value, sentence in (
        ("blueprint layout", "1", "was written in layout 1, this program knows 2: use its version"),
        ("blueprint blocks", "999", r"the Contents sheet lists \d+ blocks, not 999: rows of it were deleted"),
    ):
        save_made(target, numbers="very-very-sleepy")
        book = openpyxl.load_workbook(target)
        next(prop for prop in book.custom_doc_props.props if prop.name == name).value = value
        book.save(target)
        with pytest.raises(ReadError, match=sentence):
            read(target)
