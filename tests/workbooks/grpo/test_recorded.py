"""GRPO and its family against the libraries' own code: the definitions, all runs side by side, and the witness, run by run."""

from functools import cache

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.language import Values
from tests.workbooks.grpo.recorded import APART, Array, Run, batch, off, recorded_file, runs
from tests.workbooks.grpo.side_by_side import SideBySide

RUNS = list(runs())
PLAIN = [run for run in RUNS if (run.reference, run.old) == ("ref", "old")]


@cache
def beside() -> SideBySide:
    """Outlines all runs on the batch at once, a member of an axis for each."""
    return SideBySide(batch(), [run.conventions for run in PLAIN])


@cache
def every() -> Values:
    """Computes them."""
    return beside().computed(beside().steps.rows.values())


def test_every_recorded_run_is_one_of_ours_or_says_why_not() -> None:
    every = {
        f"{name} {variant}"
        for name, each in recorded_file("critic_free_runs.json")["runs"].items()
        for variant in each["variants"]
    }
    assert len(every) == 296
    assert every - {f"{run.library} {run.variant}" for run in RUNS} == set(APART)


@pytest.mark.parametrize("place", range(len(PLAIN)), ids=[f"{run.library}-{run.variant}" for run in PLAIN])
def test_the_definitions_give_what_a_library_computed(place: int) -> None:
    rows, values, run = beside().steps.rows, every(), PLAIN[place]
    ours: dict[str, Array] = {
        name: values[rows[name]][place] for name in ("advantages", "ratio", "total_loss", "gmpo.ratio")
    }
    seen = {"advantages": ours["advantages"], "ratio": _ratio(run, ours), "loss": ours["total_loss"]}
    compared = {name: off(each, run.out[name], batch().mask) for name, each in seen.items() if name in run.out}
    assert compared, "a run without a number that is compared"
    assert max(compared.values()) <= run.tolerance, compared


def _ratio(run: Run, ours: dict[str, Array]) -> Array:
    """Returns what a library calls its ratio: by REINFORCE NeMo-RL logs the log-prob, by GMPO verl the geometric mean."""
    match run.conventions["loss.objective"]:
        case "reinforce":
            return batch().logprobs("new")
        case "gmpo":
            return np.repeat(ours["gmpo.ratio"][:, None], 6, axis=1)
    return ours["ratio"]
