"""The gradients of GRPO and its family: the workbook's own way back against what each library's autograd recorded."""

import pytest

from blueprint.workbooks.grpo.workbook import HELD
from tests.workbooks.grpo.recorded import APART, FRONT, Run, batch, off, recorded_file
from tests.workbooks.grpo.test_recorded import RUNS
from tests.workbooks.side_by_side import of_groups

RECORDED = [run for run in RUNS if "grad_logp" in run.out]


def test_what_is_held_is_what_the_steps_hold() -> None:
    assert {*HELD} == {block.name for block in of_groups(batch(), [{}]).steps.steps.constant}


def test_no_recorded_gradient_is_left_out_but_one_that_stands_apart() -> None:
    every = {
        f"{name} {variant}"
        for name, each in recorded_file("critic_free_runs.json")["runs"].items()
        for variant, run in each["variants"].items()
        if "grad_logp" in run["out"]
    }
    held = {f"{run.library} {run.variant}" for run in RECORDED}
    assert (len(every), every - held) == (275, {"liger_kernel_0.8.5 luspo_kl"})
    assert every - held <= {*APART}


@pytest.mark.parametrize("run", RECORDED, ids=[f"{run.library}-{run.variant}" for run in RECORDED])
def test_the_gradient_is_that_of_the_library(run: Run) -> None:
    values = FRONT.typed_in(run.conventions, run.models)
    assert off(FRONT.cells(values, "policy.logprobs.grad"), run.out["grad_logp"], batch().mask) <= run.tolerance
