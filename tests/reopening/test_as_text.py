"""Somebody else's cells: numbers as text, errors, dates, formulas; understood and told, or refused by cell."""

from __future__ import annotations

import re
import zipfile
from datetime import date
from pathlib import Path

import pytest

from blueprint.inputs.setting import OFF
from blueprint.page.read import ReadError, read
from blueprint.reopening import back_from, book_of, numbers_in
from tests.page.zips import with_parts
from tests.reopening.typing_in import places, typed_into


def refusal(path: Path) -> str:
    """Returns the sentence with which a file is refused, without its path."""
    with pytest.raises(ReadError) as refused:
        book_of(path)
    return str(refused.value).removeprefix(f"{path}, ")


@pytest.mark.parametrize(
    ("text", "number"), [("0,5", 0.5), ("0.5", 0.5), (" 0.5 ", 0.5), ("5e-1", 0.5), ("0,5\u00a0", 0.5)]
)
def test_a_number_as_text_counts_and_is_told(folder: Path, tmp_path: Path, text: str, number: float) -> None:
    path = typed_into(folder / "default.xlsx", tmp_path / "text.xlsx", "gamma.yours", (), text)
    of = book_of(path)
    told = f"typed as text {text!r}, counted as 0.5; to the sheet itself it is no number"
    assert of.explain("gamma").value == number
    assert of.explain("gamma.yours").head[-1] == told
    assert of.remarks() == [f"{path}, {of.file.address('gamma.yours', ())} (gamma.yours): {told}"]
    assert back_from(path).numbers.ppo == {"gamma": 0.5}
    assert float(read(path)["gamma.yours"]) == 0.5


REFUSED = [
    ("1,234", "found '1,234', which may mean 1.234 or 1234: write one of these"),
    ("abc", "found 'abc', expected a number"),
    ("#N/A", "found the error #N/A, expected a number: type one"),
    (True, "found TRUE, expected a number: write 1 or 0"),
    (date(2026, 2, 1), "found the date or time 2026-02-01 00:00:00, expected a number: format the cell as a number, "
     "and type it again"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "sentence"), REFUSED)
def test_what_is_no_number_is_refused_by_cell(folder: Path, tmp_path: Path, value: object, sentence: str) -> None:
    path = typed_into(folder / "default.xlsx", tmp_path / "odd.xlsx", "old.E", (1, 2), value)
    cell = book_of(folder / "default.xlsx").file.address("old.E", (1, 2))
    assert refusal(path) == f"{cell} (old.E): {sentence}"
    with pytest.raises(ReadError, match=re.escape(f"{cell} (old.E): {sentence}")):
        read(path)


@pytest.mark.parametrize("value", ["#N/A", "#DIV/0!"])
def test_an_error_among_words_is_refused_by_cell(folder: Path, tmp_path: Path, value: str) -> None:
    path = typed_into(folder / "default.xlsx", tmp_path / "odd.xlsx", "vocabulary", (2,), value)
    cell = book_of(folder / "default.xlsx").file.address("vocabulary", (2,))
    assert refusal(path) == f"{cell} (vocabulary): found the error {value}, expected a word: type one"


@pytest.mark.parametrize("word", ["off", "OFF"])
def test_a_limit_is_switched_off_by_its_word(kinds: Path, tmp_path: Path, word: str) -> None:
    path = typed_into(kinds / "live.xlsx", tmp_path / "off.xlsx", "loss.clip_range_high.yours", (), word)
    book = book_of(path)
    assert book.values.cell(book.blocks["loss.clip_range_high"]) == "off"
    assert numbers_in(path).ppo["loss.clip_range_high"] == OFF
    assert book.remarks() == []


def test_what_older_versions_wrote_for_off_is_read_as_off_and_told(kinds: Path, tmp_path: Path) -> None:
    path = typed_into(kinds / "live.xlsx", tmp_path / "old.xlsx", "loss.dual_clip.yours", (), 1e9)
    book = book_of(path)
    assert book.values.cell(book.blocks["loss.dual_clip"]) == "off"
    assert numbers_in(path).ppo["loss.dual_clip"] == OFF
    cell = book.file.where("loss.dual_clip.yours", ())
    assert book.remarks() == [f"{cell}: typed as 1000000000, which older versions wrote for off, read as off"]


def test_another_word_for_a_limit_is_refused_by_cell(kinds: Path, tmp_path: Path) -> None:
    path = typed_into(kinds / "live.xlsx", tmp_path / "of.xlsx", "reward.score_clip.yours", (), "of")
    assert refusal(path).endswith(" (reward.score_clip.yours): found 'of', expected a number, or off")
    path = typed_into(kinds / "live.xlsx", tmp_path / "no.xlsx", "gamma.yours", (), "off")
    assert refusal(path).endswith(" (gamma.yours): found 'off', expected a number")


def with_formula(source: Path, target: Path, name: str, at: tuple[int, ...], formula: str, value: str) -> Path:
    """Writes a copy in which a typed number is a formula with a saved value, as a spreadsheet program saves it."""
    found = places(source)[name]
    cell = book_of(source).file.address(name, at).rpartition("!")[2]
    number = book_of(source).sheets.index(found.sheet) + 1
    part = f"xl/worksheets/sheet{number}.xml"
    old = zipfile.ZipFile(source).read(part).decode()
    new = re.sub(
        rf'(<c r="{cell}"(?: s="\d+")?)(?: t="\w+")?(?:/>|>.*?</c>)',
        rf"\1><f>{formula}</f><v>{value}</v></c>",
        old,
        count=1,
    )
    assert new != old
    return with_parts(source, target, {part: new.encode()})


def test_a_formula_in_a_typed_cell_counts_by_its_saved_value_and_is_told(folder: Path, tmp_path: Path) -> None:
    path = with_formula(folder / "default.xlsx", tmp_path / "half.xlsx", "gamma.yours", (), "1/2", "0.5")
    of = book_of(path)
    told = "typed as the formula =1/2, of which the saved value counts"
    assert of.explain("gamma").value == 0.5
    assert of.explain("gamma.yours").head[-1] == told
    assert of.remarks() == [f"{path}, {of.file.address('gamma.yours', ())} (gamma.yours): {told}"]
    weight = with_formula(
        folder / "default.xlsx", tmp_path / "weight.xlsx", "old.E", (2, 1), "SQRT(2)", "1.4142135623730951"
    )
    assert (
        book_of(weight).remarks()[0].endswith("(old.E): typed as the formula =SQRT(2), of which the saved value counts")
    )


def test_an_untouched_file_has_nothing_to_remark(folder: Path, kinds: Path) -> None:
    for path in (*folder.glob("*.xlsx"), *kinds.glob("*.xlsx")):
        assert book_of(path).remarks() == []
