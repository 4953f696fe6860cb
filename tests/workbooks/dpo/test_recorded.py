"""DPO and its relatives against the libraries' own code: losses and gradients of every run, through the front door."""

import numpy as np
import pytest

from tests.workbooks.dpo.recorded import FRONT, ORDER, Run, batch, runs

RUNS = list(runs())
NAMES = [f"{run.library}-{run.variant}" for run in RUNS]
OF_EACH_LIBRARY = {run.library: run for run in RUNS}
"""The last run of each library."""


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_a_workbook_gives_what_a_library_computed(run: Run) -> None:
    """The recorded gradient is the slope by the logit of the token written: times 1 − p of that by its log-prob."""
    values = FRONT.typed_in(run.conventions)
    loss = float(FRONT.cells(values, "total_loss"))
    assert abs(loss - run.out["loss"]) <= 1e-12 * max(1.0, abs(run.out["loss"]))
    if "grad_taken" in run.out:
        meant = np.array(run.out["grad_taken"], float)[ORDER]
        found = FRONT.cells(values, "policy.logprobs.grad") * (1 - np.exp(batch().logprobs("policy")))
        assert np.abs(found[:, : meant.shape[1]] - meant).max() <= 1e-11


def test_most_runs_have_a_gradient() -> None:
    assert sum("grad_taken" in run.out for run in RUNS) > 100


@pytest.mark.parametrize("name", OF_EACH_LIBRARY)
def test_what_is_typed_in_is_what_is_built(name: str) -> None:
    assert FRONT.apart(OF_EACH_LIBRARY[name].conventions) == []
