"""Saved workbooks of fine-tuning: torch agrees with every number, a wrong one is named, numbers come back, steps lower the loss."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint import Book
from blueprint.checking.causes import Cause
from blueprint.inputs import NumbersError, load
from blueprint.reopening import back_from
from blueprint.workbooks import blueprint_of
from tests.checking.cells import change
from tests.checking.running import judged
from tests.checking.test_check_live import cell_of
from tests.page.workshop import located, made, save_made
from tests.rows import Array, arrays


def built(name: str, *overrides: str) -> dict[str, Array]:
    """Returns the rows of built-in numbers."""
    return arrays(Book(blueprint_of(load(name, overrides))))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the workbook with steps."""
    return save_made(tmp_path_factory.mktemp("sft") / "sft.xlsx", numbers="sft")


def test_every_quantity_of_every_step_agrees(saved: Path) -> None:
    verdict = judged(saved)
    computed = {each for each, found in located(saved).items() if found.kind != "typed"}
    assert {line.name for line in verdict.lines} == computed
    assert verdict.agrees
    assert {"policy.E.grad", "update1.direction.policy.W", "epoch2.policy.Y", "epoch2.label.weight"} <= computed


@pytest.mark.parametrize(
    ("block", "at"),
    [("loss.of_token", (1, 2)), ("policy.W.grad", (0, 1))],
)
def test_a_number_typed_over_a_formula_is_named_first(
    saved: Path, tmp_path: Path, block: str, at: tuple[int, ...]
) -> None:
    found = located(saved)[block]
    cell = cell_of(saved, found, at)
    change(saved, tmp_path / "a.xlsx", found.sheet, {cell: (None, 0.3751)})
    first = judged(tmp_path / "a.xlsx").firsts[0]
    assert (first.name, first.cell, first.sheet, first.cause) == (block, f"{found.sheet}!{cell}", 0.3751, Cause.FORMULA)


@pytest.mark.parametrize(
    ("name", "overrides"),
    [("sft", ("update.epochs=1", "sft.microbatches=2")), ("sft-batch", ("preset=verl_b178a3c", "sft.packing=wrapped"))],
)
def test_numbers_come_back_from_a_file(name: str, overrides: tuple[str, ...], tmp_path: Path) -> None:
    save_made(tmp_path / "a.xlsx", *overrides, numbers=name)
    again, before = back_from(tmp_path / "a.xlsx").numbers, made(*overrides, numbers=name)
    rows = Book(blueprint_of(again)).values.arrays
    found = {block.name: each for block, each in rows.items()}
    assert again.level == {"sft": "demonstrations", "sft-batch": "labelled"}[name]
    computed = {block.name: each for block, each in before.values.arrays.items() if not block.typed and not block.text}
    assert len(computed) > 90
    assert [name for name, each in computed.items() if not np.array_equal(found[name], each)] == []


def test_steps_make_the_demonstrations_likelier() -> None:
    rows = built("sft", "update.epochs=6")
    assert np.all(np.diff(rows["epochs.total_loss"]) < 0)
    assert rows["epochs.total_loss"][-1] < rows["epochs.total_loss"][0] / 4
    assert rows["epochs.token_accuracy"][-1] == 1
    assert rows["epochs.perplexity"] == pytest.approx(np.exp(rows["epochs.nll"]), rel=1e-14)


def test_a_small_step_of_sgd_lowers_the_loss_by_the_squared_gradient() -> None:
    """The loss is curved: over such a step its slope changes by some 1e-5 of itself."""
    rate = 1e-6
    rows = built("sft", "update.by=sgd", "update.max_norm=off", f"update.lr={rate}")
    slope = (rows["epochs.total_loss"][0] - rows["epochs.total_loss"][1]) / rate
    assert abs(slope / rows["epochs.norm"][0] ** 2 - 1) < 1e-4


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        (
            "text.there=[[1,0,1,1,1,1],[1,1,1,1,0,0]]",
            "text.there: found a token behind a pad, expected 1 on every token of a text",
        ),
        (
            "text.response=[[0,0,0,1,1,1],[0,0,1,1,1,0]]",
            "text.response: found 1 on a pad, expected 1 on tokens of the response alone",
        ),
        ("text.end_word=stop", "text.end_word: found stop, expected a token of text.vocabulary"),
        (
            "policy.W=" + str([[1, 2, 3, 4]] * 3),
            "policy.W: found 3 rows, expected 8: one for each of x and h, and one for the 1",
        ),
        (
            "update.by=typed",
            "update.epochs: found 2, expected nothing, since no optimiser takes steps; or write update.by",
        ),
        ("preset=trl", "preset trl: unknown, "),
    ],
)
def test_what_does_not_belong_together_is_refused(override: str, sentence: str) -> None:
    with pytest.raises(NumbersError) as refused:
        load("sft", [override])
    assert str(refused.value).startswith(sentence)
