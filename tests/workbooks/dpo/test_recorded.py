"""DPO and its relatives against the libraries' own code: losses and gradients by the definitions, all runs side by side."""

from functools import cache

import numpy as np
import pytest

from blueprint.language import Values
from tests.workbooks.dpo.recorded import ORDER, Array, batch, runs
from tests.workbooks.dpo.side_by_side import SideBySide

RUNS = list(runs())


@cache
def beside() -> SideBySide:
    """Outlines all runs on the batch at once."""
    return SideBySide(batch(), batch("kto_mismatched"), [run.conventions for run in RUNS])


@cache
def values() -> Values:
    """Computes them."""
    return beside().computed(beside().steps.rows.values())


@cache
def slopes() -> Array:
    """The slope of each run's loss by the log-prob of each token, [run, response, position]."""
    return beside().slopes()["policy.logprobs"]


@pytest.mark.parametrize("place", range(len(RUNS)), ids=[f"{run.library}-{run.variant}" for run in RUNS])
def test_the_definitions_give_what_a_library_computed(place: int) -> None:
    loss, run = beside().row(values(), "total_loss", place), RUNS[place]
    assert abs(float(loss) - run.out["loss"]) <= 1e-12 * max(1.0, abs(run.out["loss"]))


GRADIENTS = [place for place, run in enumerate(RUNS) if "grad_taken" in run.out]


@pytest.mark.parametrize(
    "place", GRADIENTS, ids=[f"{RUNS[place].library}-{RUNS[place].variant}" for place in GRADIENTS]
)
def test_the_gradient_is_that_of_the_library(place: int) -> None:
    """Recorded is the slope by the logit of the token written: times 1 − p of that by its log-prob."""
    meant = np.array(RUNS[place].out["grad_taken"], float)[ORDER]
    found = slopes()[place] * (1 - np.exp(batch().logprobs("policy")))
    assert np.abs(found[:, : meant.shape[1]] - meant).max() <= 1e-11
