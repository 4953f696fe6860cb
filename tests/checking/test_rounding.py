"""Large numbers on the way: rounding is no difference, and a difference is none of rounding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import openpyxl
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

import blueprint as bp
from blueprint.book import Book
from blueprint.checking.deviations import allowed_of, carried
from blueprint.workbooks.common import t
from tests.checking.running import judged
from tests.page.workshop import made
from tests.replayed import window_book

if TYPE_CHECKING:
    from blueprint.checking.checked_file import Checked

Typed = dict[str, float]
LARGE: dict[str, tuple[Callable[[], Book], Typed]] = {
    "the largest that validation allows": (
        lambda: made(numbers="ten-libraries"),
        {"old_critic.values": -1e6, "reference.logits": 1e6},
    ),
    "a value in a dump": (lambda: window_book("verl"), {"old_critic.values": -1e10}),
    "a value": (lambda: made(numbers="very-very-sleepy"), {"old_critic.values": -1e10}),
}


def with_typed(book: Book, typed: Typed) -> Book:
    """Types a number into the second word of rows."""
    rows = {name: np.array(book.values.arrays[book.blocks[name]]) for name in typed}
    for name, value in typed.items():
        rows[name][tuple(1 if axis == 1 else 0 for axis in range(rows[name].ndim))] = value
    return Book(book.blueprint.with_typed({name: row.tolist() for name, row in rows.items()}))


@pytest.mark.parametrize("said", LARGE)
def test_rounding_of_large_numbers_is_no_difference(tmp_path: Path, said: str) -> None:
    make, typed = LARGE[said]
    with_typed(make(), typed).save(tmp_path / "a.xlsx")
    verdict = judged(tmp_path / "a.xlsx")
    assert verdict.firsts == ()
    assert verdict.agrees


def test_a_difference_beside_a_large_number_is_still_one(tmp_path: Path) -> None:
    """−1e10 leaves a return of 1 with the rounding of 1e10; a return that is wrong by 0.01 is wrong."""
    with_typed(made(numbers="very-very-sleepy"), {"old_critic.values": -1e10}).save(tmp_path / "a.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    sheet = book["Reward & advantage"]
    assert sheet["R26"].value == "=R25+R23"
    sheet["R26"].value = "=R25+R23+0.01"
    book.save(tmp_path / "b.xlsx")
    verdict = judged(tmp_path / "b.xlsx")
    assert [first.name for first in verdict.firsts] == ["returns"]


def test_an_ordinary_file_is_held_to_what_it_was() -> None:
    row = np.array([1.0, -3.0])
    assert allowed_of(row, 1e-12, 0.0) == 4e-12
    assert allowed_of(row, 1e-12, 1e-4) == 1e-4


def test_large_ids_of_words_are_rounded_by_nothing() -> None:
    """An id of 50,257 leaves what follows from it as it is; a number of that size is rounded."""
    place, found = SimpleNamespace(kind="typed", shape=(t,)), {}
    for last in (50_257.0, 50_256.5):
        file = SimpleNamespace(
            places={"row": place}, arrays={"row": np.array([0.0, last])}, followers=lambda name: {f"of {name}"}
        )
        found[last] = carried(cast("Checked", file), {}, 1e-9)
    assert found == {50_257.0: {}, 50_256.5: {"of row": pytest.approx(1e-11 * 50_256.5)}}


def test_rounding_that_an_optimiser_divides_is_no_difference(tmp_path: Path) -> None:
    """With two equal responses and no score, terms of a gradient cancel to 0 or to rounding, and AdamW divides that by ε."""
    numbers = {
        "level": "weights",
        "seed": 6,
        "sizes": {"hidden": 2, "max_new_tokens": 2},
        "text": {"vocabulary": ["<eos>", "a"], "prompts": ["a", "a"]},
        "rollout": {"draws": [[0.5, 0.5], [0.5, 0.5]]},
        "reward_model": {"w": [0.0, 0.0]},
        "update": {"by": "adamw", "epochs": 1},
    }
    bp.build(numbers).save(tmp_path / "cancelled.xlsx")
    (verdict,) = bp.check(tmp_path / "cancelled.xlsx").verdicts
    direction = next(line for line in verdict.lines if line.name == "update1.direction.policy.W")
    assert verdict.agrees
    assert direction.largest <= direction.allowed  # on some processors the terms cancel to 0 here and there alike
    assert 1e-10 < direction.allowed < 1e-5
    assert all(line.allowed < 1e-6 for line in verdict.lines if line.name != direction.name)
