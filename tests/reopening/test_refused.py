"""What is refused of a saved workbook, in a sentence each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.page.grid import Address
from blueprint.page.read import ReadError
from blueprint.reopening import SavedBook, book_of
from tests.page.workshop import made
from tests.reopening.typing_in import places, refusal, typed_into


def test_what_cannot_be_computed_with_is_refused_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    source, target = folder / "default.xlsx", tmp_path / "damaged.xlsx"
    cell = made().show("gamma.yours").cell
    typed_into(source, target, "gamma.yours", (), "a lot")
    assert refusal(target) == f"{cell} (gamma.yours): found 'a lot', expected a number"
    cell = made().show("given", n=1, t=2).cell
    typed_into(source, target, "given", (0, 2), "cat")
    words = "<eos>, the, old, dog, is, very, sleepy, happy"
    assert refusal(target) == f"{cell} (given): found 'cat', expected one of {words}"
    typed_into(source, target, "given", (0, 2), "sleepyy")
    assert refusal(target) == f"{cell} (given): found 'sleepyy', did you mean sleepy?"
    typed_into(source, target, "given", (0, 2), 5)
    assert refusal(target) == f"{cell} (given): found 5, expected a word"


@pytest.mark.parametrize(
    ("name", "at", "formula"),
    [("gamma.yours", (), "=1/2"), ("reward_model.head.b", (), "=-1+2"), ("kl_estimator.yours", (), '="k"&"2"'),
     ("given", (0, 3), '="is"'), ("rollout.draw", (0, 3), "=1/3")],
)  # fmt: skip
def test_a_typed_formula_without_its_value_is_refused(
    folder: Path, tmp_path: Path, name: str, at: tuple[int, ...], formula: str
) -> None:
    path = typed_into(folder / "default.xlsx", tmp_path / "typed.xlsx", name, at, formula)
    found = places(folder / "default.xlsx")[name]
    row, column = next((row, column) for here, row, column in found.cells() if here == at)
    cell = Address(found.sheet, row, column)
    assert refusal(path) == (
        f"{cell} ({name}): {formula} was saved without recalculation; open and save it in a spreadsheet program"
    )


def test_a_blank_draw_is_refused_as_nothing_is_found_for_it(folder: Path, tmp_path: Path) -> None:
    path = typed_into(folder / "default.xlsx", tmp_path / "blank.xlsx", "rollout.draw", (1, 2), None)
    cell = made().show("rollout.draw", n=2, t=3).cell
    assert refusal(path) == f"{cell} (rollout.draw): blank, but it is searched for: type a number"


def test_a_file_of_another_kind_is_refused_in_a_sentence(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.xlsx") == "does not exist"
    (tmp_path / "text.xlsx").write_text("text", encoding="utf-8")
    assert refusal(tmp_path / "text.xlsx").startswith("is no workbook in xlsx format")


def test_a_block_that_the_file_lacks_is_named(folder: Path) -> None:
    path = folder / "default.xlsx"
    of = book_of(path)
    del of.file.places["gamma.preset"]
    with pytest.raises(ReadError) as refused:
        of.file.array("gamma.preset")
    assert str(refused.value) == f"{path} has no block gamma.preset: it was made by another version of this program"
    del of.file.places["ratio"]
    assert isinstance(of, SavedBook)
    told = of.explain("ratio", n=1, t=4)
    assert (told.cell, told.said) == ("", None)
    assert np.isfinite(float(told.value))
