"""Someone types into blue cells of a delivered file: it then says what a workbook built from those numbers says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

import ironcalc
import pytest

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.page.read import Found
from blueprint.page.recalculate import TOLERANCE
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers
from tests.page.workshop import Array, blocks_in, differing, in_ironcalc, located

Typed = tuple[str, tuple[int, ...], float | str | None]
"""Block, index (edge cells counted, as `read` returns them), and what is typed there; None empties the cell."""


class Edit(NamedTuple):
    """What is typed into the file, and the same change of the numbers that another workbook is built from."""

    typed: list[Typed]
    same: Callable[[WeightNumbers], WeightNumbers]


def with_weight(key: str, at: tuple[int, ...], value: float) -> Callable[[WeightNumbers], WeightNumbers]:

    def change(numbers: WeightNumbers) -> WeightNumbers:
        weights = {name: weight.copy() for name, weight in numbers.weights.items()}
        weights[key][at] = value
        return replace(numbers, weights=weights)

    return change


def with_draw(at: tuple[int, int], value: float) -> Callable[[WeightNumbers], WeightNumbers]:

    def change(numbers: WeightNumbers) -> WeightNumbers:
        draws = numbers.draws.copy()
        draws[at] = value
        return replace(numbers, draws=draws)

    return change


def with_setting(**settings: float | str) -> Callable[[WeightNumbers], WeightNumbers]:
    return lambda numbers: replace(numbers, ppo=numbers.ppo | settings)


def with_first_prompt(words: str) -> Callable[[WeightNumbers], WeightNumbers]:
    """Changes the first prompt; the columns and the draws in them stay."""
    return lambda numbers: replace(numbers, prompts=(tuple(words.split()), *numbers.prompts[1:]))


# Cell 0 of a prompt is the start column; draw (0, 3) writes the first response word of episode 1.
EDITS = {
    "a weight of the old policy": Edit([("old.Y", (1, 5), 0.7)], with_weight("old.Y", (1, 5), 0.7)),
    "a weight of the update": Edit([("critic.delta.head.w", (2,), 1.5)], with_weight("critic.delta_w", (2,), 1.5)),
    "the bias of the reward model": Edit([("reward_model.head.b", (), 2.0)], with_weight("reward_model.b", (), 2.0)),
    "gamma": Edit([("gamma.yours", (), 0.95)], with_setting(gamma=0.95)),
    "lambda 0, which is no blank": Edit([("gae_lambda.yours", (), 0.0)], with_setting(gae_lambda=0.0)),
    "a draw that flips a word": Edit([("rollout.draw", (0, 3), 0.1)], with_draw((0, 3), 0.1)),
    "a draw that ends a response at once": Edit([("rollout.draw", (1, 3), 0.01)], with_draw((1, 3), 0.01)),
    "a draw by which a response is cut": Edit([("rollout.draw", (0, 6), 0.99)], with_draw((0, 6), 0.99)),
    "k2": Edit([("kl_estimator.yours", (), "k2")], with_setting(kl_estimator="k2")),
    "k3": Edit([("kl_estimator.yours", (), "k3")], with_setting(kl_estimator="k3")),
    "no whitening": Edit([("whiten_advantages.yours", (), "off")], with_setting(whiten_advantages="off")),
    "no update": Edit([("update_step.yours", (), 0.0)], with_setting(update_step=0.0)),
    "fewer words": Edit([("max_new_tokens", (), 2.0)], lambda numbers: replace(numbers, max_new_tokens=2)),
    "another prompt word": Edit([("given", (0, 2), "happy")], with_first_prompt("the old happy is")),
    "another first word": Edit([("given", (0, 0), "sleepy")], with_first_prompt("sleepy old dog is")),
    "a longer prompt": Edit([("given", (0, 4), "very")], with_first_prompt("the old dog is very")),
    "a shorter prompt": Edit([("given", (0, 3), None)], with_first_prompt("the old dog")),
    "another name for a word": Edit(
        [("vocabulary", (6,), "hungry")],
        lambda numbers: replace(numbers, vocabulary=(*numbers.vocabulary[:6], "hungry", *numbers.vocabulary[7:])),
    ),
}


@pytest.fixture(scope="module")
def numbers() -> WeightNumbers:
    return cast(WeightNumbers, load())


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory, numbers: WeightNumbers) -> Path:
    path = tmp_path_factory.mktemp("edited") / "book.xlsx"
    Book(blueprint_of(numbers)).save(path)
    return path


@pytest.fixture(scope="module")
def places(delivered: Path) -> dict[str, Found]:
    return located(delivered)


def type_in(model: ironcalc.Model, sheet: int, row: int, column: int, value: float | str | None) -> None:
    """Types a number or a word into a cell, or empties it."""
    match value:
        case None:
            model.clear_cell_contents(sheet, row, column)
        case str():
            model.update_cell_with_text(sheet, row, column, value)
        case _:
            model.update_cell_with_number(sheet, row, column, value)


def after(edits: list[Typed], path: Path, places: dict[str, Found]) -> dict[str, Array]:
    """Edits a file in the engine, which recalculates it, and returns every block."""
    model = in_ironcalc(path)
    sheets = {sheet["name"]: number for number, sheet in enumerate(model.get_worksheets_properties())}
    for name, index, value in edits:
        found = places[name]
        assert found.kind == "typed"
        row, column = next((row, column) for at, row, column in found.cells() if at == index)
        type_in(model, sheets[found.sheet], row, column, value)
    model.evaluate()
    return blocks_in(model, places)


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_file_says_what_a_fresh_book_says(
    name: str, delivered: Path, places: dict[str, Found], numbers: WeightNumbers
) -> None:
    edited = after(EDITS[name].typed, delivered, places)
    fresh, unedited = Book(blueprint_of(EDITS[name].same(numbers))), Book(blueprint_of(numbers))
    # A fresh book shows the first word of its own first response, and has columns for its own length; in an edited file
    # the choice and the columns stay as they were.
    assert set(differing(fresh, edited, TOLERANCE)) <= {"walk.decision", "max_new_tokens.high"}
    assert len(differing(unedited, edited, TOLERANCE)) > len(EDITS[name].typed)  # more than the typed block changed
