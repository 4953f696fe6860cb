"""The gradients of GRPO and its family: the notation's own way back against what each library's autograd recorded."""

from functools import cache

import numpy as np
import pytest

from blueprint.language import Values
from blueprint.language.gradient import Gradient, gradient
from blueprint.workbooks.grpo.backward import CONSTANT
from tests.workbooks.grpo.recorded import Array, batch, off
from tests.workbooks.grpo.test_recorded import PLAIN, RUN, computed, outlined

RECORDED = [place for place, run in enumerate(PLAIN) if "grad_logp" in run.out]


@cache
def backward() -> tuple[Gradient, Values]:
    """Differentiates the total of every run by the log-probs, all runs side by side."""
    steps, rows, numbers = outlined()
    known = {**rows, **steps.rows}
    made = gradient(
        steps.total.total.block,
        [rows["policy.logprobs"]],
        [known[name] for name in CONSTANT],
        along=(RUN,),
    )
    return made, computed(made.blocks, numbers)


def slopes() -> Array:
    """The slope of each run's loss by each log-prob: [run, response, position]."""
    _, rows, _ = outlined()
    made, values = backward()
    return np.asarray(values[made[rows["policy.logprobs"]]], float)


def test_what_is_held_is_what_the_steps_hold() -> None:
    steps, rows, _ = outlined()
    assert {*CONSTANT} - {*rows} - {"advantages"} == {block.name for block in steps.steps.constant}


def test_most_runs_recorded_a_gradient() -> None:
    assert len(RECORDED) > 270


@pytest.mark.parametrize(
    "place", RECORDED, ids=[f"{PLAIN[place].library}-{PLAIN[place].variant}" for place in RECORDED]
)
def test_the_gradient_is_that_of_the_library(place: int) -> None:
    run = PLAIN[place]
    assert off(slopes()[place], run.out["grad_logp"], batch().mask) <= run.tolerance
