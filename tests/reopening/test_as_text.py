"""Somebody else's cells: numbers as text, errors, dates, formulas; understood and told, or refused by cell."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from blueprint.inputs.catalogue import OFF
from blueprint.page.read import ReadError, read
from blueprint.reopening import back_from, book_of
from tests.checking.cells import change_sheets
from tests.reopening.typing_in import all_typed_into, places, refusal, typed_and_saved, typed_into, untouched

TEXTS = {"gamma": "0,5", "gae_lambda": "0.5", "kl_coef": " 0.5 ", "clip_range": "5e-1", "vf_coef": "0,5\u00a0"}
"""By setting a text that is typed for 0.5."""


def test_a_number_as_text_counts_and_is_told(folder: Path, tmp_path: Path) -> None:
    typed = {f"{key}.yours": text for key, text in TEXTS.items()}
    path = all_typed_into(folder / "default.xlsx", tmp_path / "text.xlsx", typed)
    of, cells = book_of(path), read(path)
    told = {
        key: f"typed as text {text!r}, counted as 0.5; to the sheet itself it is no number"
        for key, text in TEXTS.items()
    }
    for key, said in told.items():
        assert of.explain(key).value == 0.5
        assert of.explain(f"{key}.yours").head[-1] == said
        assert float(cells[f"{key}.yours"]) == 0.5
    where = {key: of.file.address(f"{key}.yours", ()) for key in TEXTS}
    assert set(of.remarks()) == {f"{path}, {where[key]} ({key}.yours): {said}" for key, said in told.items()}
    assert back_from(path).numbers.ppo == dict.fromkeys(TEXTS, 0.5)


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
    typed = typed_and_saved if isinstance(value, date) else typed_into  # a date is a number in the style of a date
    path = typed(folder / "default.xlsx", tmp_path / "odd.xlsx", "old.E", (1, 2), value)
    cell = untouched(folder / "default.xlsx").file.address("old.E", (1, 2))
    assert refusal(path) == f"{cell} (old.E): {sentence}"
    with pytest.raises(ReadError, match=re.escape(f"{cell} (old.E): {sentence}")):
        read(path)


@pytest.mark.parametrize("value", ["#N/A", "#DIV/0!"])
def test_an_error_among_words_is_refused_by_cell(folder: Path, tmp_path: Path, value: str) -> None:
    path = typed_into(folder / "default.xlsx", tmp_path / "odd.xlsx", "vocabulary", (2,), value)
    cell = untouched(folder / "default.xlsx").file.address("vocabulary", (2,))
    assert refusal(path) == f"{cell} (vocabulary): found the error {value}, expected a word: type one"


def test_a_limit_is_switched_off_by_its_word(kinds: Path, tmp_path: Path) -> None:
    typed = {"loss.clip_range_high": "off", "reward.score_clip": "OFF"}
    edits = {f"{key}.yours": value for key, value in typed.items()}
    path = all_typed_into(kinds / "live.xlsx", tmp_path / "off.xlsx", edits)
    book, back = book_of(path), back_from(path)
    assert [book.values.cell(book.blocks[key]) for key in typed] == ["off"] * 2
    assert [back.numbers.ppo[key] for key in typed] == [OFF] * 2
    assert back.remarks == book.remarks() == []


def test_another_word_for_a_limit_is_refused_by_cell(kinds: Path, tmp_path: Path) -> None:
    path = typed_into(kinds / "live.xlsx", tmp_path / "of.xlsx", "reward.score_clip.yours", (), "of")
    assert refusal(path).endswith(" (reward.score_clip.yours): found 'of', expected a number, or off")
    path = typed_into(kinds / "live.xlsx", tmp_path / "no.xlsx", "gamma.yours", (), "off")
    assert refusal(path).endswith(" (gamma.yours): found 'off', expected a number")


def test_a_formula_in_a_typed_cell_counts_by_its_saved_value_and_is_told(folder: Path, tmp_path: Path) -> None:
    path, found = folder / "default.xlsx", places(folder / "default.xlsx")
    gamma, weight = found["gamma.yours"], found["old.E"]
    half, root = {gamma.cell(()): ("1/2", 0.5)}, {weight.cell((2, 1)): ("SQRT(2)", 1.4142135623730951)}
    change_sheets(path, tmp_path / "half.xlsx", {gamma.sheet: half, weight.sheet: root})
    of = book_of(tmp_path / "half.xlsx")
    told = [
        "typed as the formula =1/2, of which the saved value counts",
        "typed as the formula =SQRT(2), of which the saved value counts",
    ]
    assert of.explain("gamma").value == 0.5
    assert of.values.arrays[of.blocks["old.E"]][2, 1] == 1.4142135623730951
    assert of.explain("gamma.yours").head[-1] == told[0]
    cells = (of.file.where("gamma.yours", ()), of.file.where("old.E", (2, 1)))
    assert set(of.remarks()) == {f"{cell}: {said}" for cell, said in zip(cells, told, strict=True)}
