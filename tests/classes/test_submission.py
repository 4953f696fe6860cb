"""Files as students hand them in: whose they are, and what stands in their blanks, whatever program wrote them."""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from openpyxl import load_workbook

from blueprint.classes.key import Key
from blueprint.classes.saved_workbook import Shown
from blueprint.classes.submission import given_in, read_submission
from tests.classes.handing_in import Asked, hand_in, key_of, right

ASKED: list[Asked] = [
    ("td_errors", [(0, 0)], "number"),
    ("advantages", [(0, 0), (0, 1), (0, 2)], "formula"),
    ("surrogate", [(1,)], "number"),
]


@pytest.fixture(scope="module")
def key() -> Key:
    return key_of("very-very-sleepy", ASKED, {"4711": {}, 'O\'Neil, "Zoë"': {}})


@pytest.fixture(scope="module")
def handed(key: Key, tmp_path_factory: pytest.TempPathFactory) -> Path:
    answers = right(key, key.students[0])
    answers |= {"b01": ["0,5"], "b02": ["=1+1→0.25", "=2*3", None]}
    return hand_in(tmp_path_factory.mktemp("in") / "a.xlsx", key, key.students[0], answers)


def test_numbers_texts_formulas_and_empty_cells_are_read(key: Key, handed: Path) -> None:
    found = read_submission(handed, key)
    assert found.refused == ""
    assert found.tokens == {"property": key.students[0].token, "name": key.students[0].token}
    assert [each.number for each in found.answers["b01"]] == [0.5]
    assert [each.number for each in found.answers["b02"]] == [0.25, 6, None]
    assert [each.formula for each in found.answers["b02"]] == ["1+1", "2*3", None]
    assert found.answers["b03"][0].number == right(key, key.students[0])["b03"][0]


def test_any_of_the_three_places_is_enough(key: Key, tmp_path: Path) -> None:
    who = key.students[1]
    path = hand_in(tmp_path / "b.xlsx", key, who, right(key, who), property=False)
    assert set(read_submission(path, key).tokens.values()) == {who.token}
    _change(path, lambda name, text: text.replace("blueprint_token", "other_name"))
    assert read_submission(path, key).tokens == {}
    row = f'<row r="999"><c r="B999" t="inlineStr"><is><t>File {who.token}.</t></is></c></row></sheetData>'
    _change(path, lambda name, text: text.replace("</sheetData>", row) if name.endswith("/sheet1.xml") else text)
    assert read_submission(path, key).tokens == {"cell": who.token}


def _change(path: Path, change: Callable[[str, str], str]) -> None:
    with zipfile.ZipFile(path) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in parts.items():
            target.writestr(name, change(name, content.decode()) if name.endswith((".xml", ".rels")) else content)


@pytest.mark.parametrize(
    ("shown", "number"),
    [
        (Shown(0.5), 0.5),
        (Shown("0,5"), 0.5),
        (Shown(" −1.25 "), -1.25),
        (Shown("1,234"), 1.234),
        (Shown("12,5 %"), 0.125),
        (Shown("1e-3"), 0.001),
        (Shown("0.5 nats"), 0.5),
        (Shown("≈ 0.5"), 0.5),
        (Shown("~ −0,5 nats"), -0.5),
        (Shown("17/100"), 0.17),
        (Shown("−17 / 100"), -0.17),
        (Shown("1.2·10^-1"), 0.12),
        (Shown("1,2 × 10⁻¹"), 0.12),
        (Shown("1.2 x 10^(-1)"), 0.12),
        (Shown("10^-2"), 0.01),
        (Shown("٠٫٥"), 0.5),
        (Shown("۰٫۵"), 0.5),
        (Shown("−０．５"), -0.5),
        (Shown("５０ ％"), 0.5),
        (Shown("0.5 bits"), "found '0.5 bits', expected a number"),
        (Shown("1/0"), "found '1/0', which divides by 0: expected a number"),
        (Shown("1/2/3"), "found '1/2/3', expected a number"),
        (Shown("1e5·10^2"), "found '1e5·10^2', expected a number"),
        (Shown("10^400"), "found a number that is too large, or none: expected one below 1e+308"),
        (Shown("≈"), "found '≈', expected a number"),
        (Shown(True), "found TRUE, expected a number: write 1 or 0"),
        (Shown("about 3"), "found 'about 3', expected a number"),
        (Shown("=A1*2"), "found the formula '=A1*2' as text, which was never computed: type it anew"),
        (Shown("#DIV/0!", "1/0"), "found the error #DIV/0!, expected a number: type one"),
        (
            Shown("1.234,5"),
            "found '1.234,5', expected a number: write it without signs between thousands, such as 1234.5",
        ),
        (Shown(float("inf")), "found a number that is too large, or none: expected one below 1e+308"),
        (Shown(None), ""),
        (Shown("  "), ""),
    ],
)
def test_what_a_student_may_mean(shown: Shown, number: float | str) -> None:
    given = given_in(shown)
    assert (given.number if isinstance(number, float) else given.problem) == number
    assert (given.number is None) == isinstance(number, str)


def test_rows_and_sheets_may_have_moved(key: Key, handed: Path, tmp_path: Path) -> None:
    """As programs do it: with ten rows above, every address and every range moves, and a sheet is called otherwise."""
    path = tmp_path / "moved.xlsx"
    path.write_bytes(handed.read_bytes())

    def moved(name: str, text: str) -> str:
        if name == "xl/workbook.xml":
            down = re.sub(r"('Reward &amp; advantage'!)([^<]*)", lambda m: m[1] + _down(m[2]), text)
            return down.replace("Reward &amp; advantage", "Mein Blatt, &apos;neu&apos;").replace("&apos;", "''")
        return _down(text, r'(?<=r=")([A-Z]*)(\d+)(?=")') if name == "xl/worksheets/sheet6.xml" else text

    _change(path, moved)
    _change(
        path,
        lambda name, text: (
            re.sub(r'(<sheet name="[^"]*)\'\'([^"]*)\'\'', r"\1'\2'", text) if "workbook" in name else text
        ),
    )
    found = read_submission(path, key)
    assert found.refused == ""
    assert found.answers["b01"] == read_submission(handed, key).answers["b01"]
    assert [each.number for each in found.answers["b02"]][:1] == [0.25]


def _down(text: str, cell: str = r"(\$[A-Z]+\$)(\d+)") -> str:
    return re.sub(cell, lambda m: f"{m[1]}{int(m[2]) + 10}", text)


def test_other_programs_files_are_read(key: Key, handed: Path, tmp_path: Path) -> None:
    """openpyxl writes texts inline or shared, drops what formulas came to, and keeps numbers as they are."""
    book = load_workbook(handed)
    book.save(tmp_path / "o.xlsx")
    found = read_submission(tmp_path / "o.xlsx", key)
    assert found.refused == ""
    assert [each.number for each in found.answers["b02"]] == [2, 6, None]  # computed anew: 1+1 is not 0.25
    assert found.answers["b01"][0].number == 0.5
    assert set(found.tokens.values()) == {key.students[0].token}


def _many_rows(text: str) -> str:
    return text.replace("</sheetData>", "<row/>" * 1_400_000 + "</sheetData>")


HOSTILE: dict[str, tuple[Callable[[str, str], str], str]] = {
    "a call": (
        lambda name, text: text.replace("<f>1+1</f>", "<f>cmd|'/c calc'!A1</f>"), "calls another program: take it out"
    ),
    "DDE": (lambda name, text: text.replace("<f>1+1</f>", '<f>DDE("x","y","z")</f>'), "calls another program"),
    "entities": (
        lambda name, text: text.replace("<workbook ", '<!DOCTYPE a [<!ENTITY b "c">]><workbook '), "declares entities"
    ),
    "torn": (lambda name, text: text[:-20] if name == "xl/workbook.xml" else text, "is no workbook in xlsx format"),
    "rows": (
        lambda name, text: _many_rows(text) if name.endswith("/sheet2.xml") else text, "as none of a worksheet has"
    ),
    "cells gone": (lambda name, text: re.sub(r'(name="blank_02">)[^<]*', r"\1#REF!", text), "are gone, or were torn apart"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_refused_in_a_sentence(key: Key, handed: Path, tmp_path: Path, what: str) -> None:
    change, says = HOSTILE[what]
    path = tmp_path / "h.xlsx"
    path.write_bytes(handed.read_bytes())
    _change(path, change)
    found = read_submission(path, key)
    assert says in found.refused
    assert "\n" not in found.refused
    assert str(tmp_path) not in found.refused


@pytest.mark.parametrize(
    ("part", "says"),
    [("xl/vbaProject.bin", "holds macros"), ("xl/externalLinks/externalLink1.xml", "reads other files")],
)
def test_macros_and_links_to_other_files_are_refused_by_student(
    key: Key, handed: Path, tmp_path: Path, part: str, says: str
) -> None:
    path = tmp_path / "m.xlsx"
    path.write_bytes(handed.read_bytes())
    with zipfile.ZipFile(path, "a") as target:
        target.writestr(part, b"x")
    found = read_submission(path, key)
    assert says in found.refused
    assert found.tokens["property"] == key.students[0].token


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            b"",
            "is no workbook in xlsx format (it is empty): hand in the worksheet that you were given, as a spreadsheet",
        ),
        (b"no zip", "is no workbook in xlsx format"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is protected by a password, or in the old xls format"),
        (b"PK\x03\x04torn", "its end is missing"),
    ],
)
def test_what_is_no_workbook_is_refused(key: Key, tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "n.xlsx").write_bytes(content)
    assert says in read_submission(tmp_path / "n.xlsx", key).refused


def test_a_sheet_that_is_gone_is_named(key: Key, handed: Path) -> None:
    book = load_workbook(handed)
    book.remove(book[key.blanks[-1].sheet])
    book.save(handed.parent / "torn.xlsx")
    said = read_submission(handed.parent / "torn.xlsx", key).refused
    assert re.fullmatch(
        rf"it has no sheet {key.blanks[-1].sheet}, where blank \d+ \(.+\) was: copy the answers into a fresh file", said
    )
