"""The gradients of GRPO and its family: the notation's own way back against what each library's autograd recorded."""

from functools import cache

import numpy as np
import pytest

from blueprint.language import Values
from blueprint.language.gradient import Gradient
from blueprint.workbooks.grpo.backward import HELD
from blueprint.workbooks.grpo.schema import GRPO
from tests.workbooks.grpo.recorded import APART, Array, Run, batch, off, recorded_file
from tests.workbooks.grpo.test_recorded import PLAIN, RUNS, beside

RECORDED = [place for place, run in enumerate(PLAIN) if "grad_logp" in run.out]

OTHERS = [run for run in RUNS if run not in PLAIN and "grad_logp" in run.out]


@cache
def backward() -> tuple[Gradient, Values]:
    """Differentiates the total of every run by the log-probs, all runs side by side."""
    made = beside().gradient()
    return made, beside().computed(made.blocks)


def slopes() -> Array:
    """The slope of each run's loss by each log-prob: [run, response, position]."""
    made, values = backward()
    return np.asarray(values[made[beside().given["policy.logprobs"]]], float)


def test_what_is_held_is_what_the_steps_hold() -> None:
    assert {*HELD} == {block.name for block in beside().steps.steps.constant}


def test_no_recorded_gradient_is_left_out_but_one_that_stands_apart() -> None:
    every = {
        f"{name} {variant}"
        for name, each in recorded_file("critic_free_runs.json")["runs"].items()
        for variant, run in each["variants"].items()
        if "grad_logp" in run["out"]
    }
    held = {f"{run.library} {run.variant}" for run in (*(PLAIN[place] for place in RECORDED), *OTHERS)}
    assert (len(every), every - held) == (275, {"liger_kernel_0.8.5 luspo_kl"})
    assert every - held <= {*APART}


@pytest.mark.parametrize(
    "place", RECORDED, ids=[f"{PLAIN[place].library}-{PLAIN[place].variant}" for place in RECORDED]
)
def test_the_gradient_is_that_of_the_library(place: int) -> None:
    run = PLAIN[place]
    assert off(slopes()[place], run.out["grad_logp"], batch().mask) <= run.tolerance


@pytest.mark.parametrize("run", OTHERS, ids=[f"{run.library}-{run.variant}" for run in OTHERS])
def test_the_gradient_is_that_of_the_library_where_two_models_are_one(run: Run) -> None:
    (made, _), rows, numbers, m = backward(), beside().given, beside().numbers, batch().mask
    asked = {block: _asked(run, block.name) for block in numbers if block.name in GRPO}
    said = {"old.logprobs": m * batch().logprobs(run.old), "reference.logprobs": m * batch().logprobs(run.reference)}
    values = beside().computed(made.blocks, numbers | asked | {rows[name]: each for name, each in said.items()})
    assert off(values[made[rows["policy.logprobs"]]][0], run.out["grad_logp"], m) <= run.tolerance


def _asked(run: Run, key: str) -> list[float]:
    """Returns what a run has under a key, at every place of the axis of runs."""
    setting = GRPO[key]
    value = run.conventions.get(key, setting.value)
    return [setting.words.index(str(value)) if setting.words else float(value)] * len(PLAIN)
