"""The witness of DPO and its relatives against the libraries' own code, run by run: losses, what is logged, and gradients."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

import torch

from blueprint.workbooks.dpo.witness import derived
from tests.workbooks.dpo.recorded import ORDER, Array, Run, batch, runs
from tests.workbooks.dpo.side_by_side import DPO, started

RUNS = list(runs())
NUMBERS = torch.arange(1.0, 5, dtype=torch.float64).repeat_interleave(2)
LOGGED = {
    "rewards/chosen": "rewards.chosen", "rewards/rejected": "rewards.rejected", "rewards/margins": "rewards.margins",
    "rewards/accuracies": "rewards.accuracies",
}  # fmt: skip
PAIRS = {"chosen_rewards": "chosen.logged", "rejected_rewards": "rejected.logged", "per_pair_loss": "loss.weighed"}


@cache
def computed(place: int) -> tuple[dict[str, Array], Array]:
    """Returns the rows of a run, and the slope of its loss by the policy's logits, [response, position, token]."""
    logits = torch.tensor(batch().logits["policy"]).requires_grad_()
    log_p = logits.log_softmax(-1)
    new = log_p.gather(-1, torch.tensor(batch().ids)[..., None])[..., 0]
    known = {name: torch.tensor(each) for name, each in started(batch(), batch("kto_mismatched")).items()}
    known |= {"policy.logprobs": new, "policy.square": log_p.exp().square().sum(-1), "pair.number": NUMBERS}
    rows = derived(known, {key: each.value for key, each in DPO.items()} | RUNS[place].conventions)
    (slope,) = torch.autograd.grad(rows["total_loss"], logits)
    return {name: each.detach().numpy() for name, each in rows.items()}, slope.numpy()


def logged(run: Run) -> dict[str, Any]:
    """Returns what is logged of a run under names that mean the same everywhere, by our names of rows."""
    metrics = run.out.get("metrics", {})
    found = {ours: metrics[theirs] for theirs, ours in LOGGED.items() if isinstance(metrics.get(theirs), float)}
    whole = run.conventions["loss.form"] not in ("kto", "apo_zero_unpaired") and not run.conventions["loss.bco_mix"]
    pairs = {
        ours: run.out[theirs] for theirs, ours in PAIRS.items() if whole and np.shape(run.out.get(theirs, ())) == (4,)
    }
    return found | pairs


@pytest.mark.parametrize("place", range(len(RUNS)), ids=[f"{run.library}-{run.variant}" for run in RUNS])
def test_the_witness_gives_what_a_library_computed(place: int) -> None:
    run, (rows, slope) = RUNS[place], computed(place)
    assert abs(rows["total_loss"] - run.out["loss"]) <= 1e-12 * max(1.0, abs(run.out["loss"]))
    far = {name: np.abs(rows[name] - np.array(each)).max() for name, each in logged(run).items()}
    assert {name: each for name, each in far.items() if not each <= 1e-12} == {}
    if "grad_taken" in run.out:
        meant = np.array(run.out["grad_taken"], float)[ORDER]
        taken = np.take_along_axis(slope, batch().ids[..., None], -1)[..., 0]
        assert np.abs(taken[:, : meant.shape[1]] - meant).max() <= 1e-11
    if "grad_logits" in run.out:
        whole = np.array(run.out["grad_logits"], float)[ORDER]
        assert np.abs(slope[:, : whole.shape[1]] - whole[:, : slope.shape[1]]).max() <= 1e-11


def test_many_numbers_are_among_what_is_compared() -> None:
    assert len(RUNS) == 130
    assert sum("grad_taken" in run.out for run in RUNS) > 120
    assert sum(len(logged(run)) for run in RUNS) > 100
