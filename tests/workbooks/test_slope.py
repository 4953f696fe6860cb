"""The slope check in the sheet: short steps keep what their gradient promises, and a wrong gradient is seen without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import Block, Definition, Position
from blueprint.language.gradient import Gradient
from blueprint.language.nodes import wrap
from blueprint.page.outline import Box, Entry
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.rlhf_ppo import gradients_and_epochs
from blueprint.workbooks.rlhf_ppo.gradients_and_epochs import backward
from tests.rows import Array, arrays
from tests.workbooks.test_backward import MISTAKES

OVERRIDES = ("ppo.policy_kl_coef=0.3", "ppo.ent_coef=0.1", "update.max_norm=off")
UNSEEN = ("the clip ignored", "the value clip ignored", "the ratio forgotten")
"""Mistakes that are none at a ratio of 1 and a value of V_old, which short steps do not leave: torch sees them."""


def built(*overrides: str) -> dict[str, Array]:
    """Returns the rows of the built-in numbers `epochs`."""
    return arrays(Book(blueprint_of(load("epochs", [*OVERRIDES, *overrides]))))


@cache
def short(by: str, rate: str) -> dict[str, Array]:
    """Returns the rows of three passes with short steps."""
    return built(f"update.by={by}", f"update.lr={rate}", "update.epochs=3")


@pytest.mark.parametrize("by", ["sgd", "adamw"])
def test_short_steps_keep_their_promise_to_the_second_power_of_their_length(by: str) -> None:
    """The trapezoidal rule is off by the third power of the step, which is the second of the promise; rounding adds 1e-9."""
    off, finer = short(by, "0.0001")["slope.off"], short(by, "0.00001")["slope.off"]
    assert np.all(off < 1e-4)
    assert np.all(finer < off / 50 + 1e-9)
    assert short(by, "0.0001")["slope.verdict"].tolist() == ["OK", "OK"]


def test_the_slope_of_a_step_downhill_is_the_squared_gradient() -> None:
    rows, rate = short("sgd", "0.00001"), 1e-5
    squared = rows["loss.grad.norm"] ** 2
    assert -rows["slope.came"][0] / rate == pytest.approx(
        squared, rel=1e-4
    )  # the slope changes by the step times the curvature
    assert rows["slope.length"][0] == pytest.approx(rate * rows["loss.grad.norm"], rel=1e-4)


def test_long_steps_are_not_judged() -> None:
    rows = built("update.epochs=2")
    assert rows["slope.held"].tolist() == ["LOOK"]
    assert rows["slope.verdict"].tolist() == ["too long"]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_gradient_breaks_the_promise(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, wrong = MISTAKES[mistake]
    right = backward

    def planted(rows: Mapping[str, Block]) -> Gradient:
        made = right(rows)
        blocks = {**rows, **{each.name: each for each in made.blocks}}
        block = blocks[name]
        body = next(d for d in block.definitions if all(isinstance(index, Position) for index in d.target))
        block.definitions[block.definitions.index(body)] = Definition(body.target, wrap(wrong(blocks)))
        return made

    monkeypatch.setattr(gradients_and_epochs, "EPOCHS", replace(gradients_and_epochs.EPOCHS, backward=planted))
    rows = built("update.by=sgd", "update.lr=0.00001", "update.epochs=2")
    assert rows["slope.verdict"].tolist() == ["OK" if mistake in UNSEEN else "LOOK"], rows["slope.off"]


def test_start_says_in_which_order_the_epochs_are_read() -> None:
    start, *_ = blueprint_of(load("epochs")).sheets
    section = next(each for each in start.sections if each.title == "In which order to read the epochs")
    led = [
        cell.block.name
        for item in section.items
        if isinstance(item, Entry)
        for cell in item.cells
        if isinstance(cell, Box) and cell.block is not None
    ]
    assert led == [
        "policy_loss",
        "policy.logprobs.grad",
        "update1.norm",
        "epoch2.ratio",
        "epochs.policy_loss",
        "slope.verdict",
    ]
