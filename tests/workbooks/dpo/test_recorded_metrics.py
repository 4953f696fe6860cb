"""What libraries log of four pairs against the rows of the workbook: every number that was recorded, run by run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.workbooks.dpo.recorded import FRONT, Array, Run
from tests.workbooks.dpo.test_recorded import NAMES, RUNS

SIDES = ("chosen", "rejected")
MEANS = {
    **{f"rewards/{of}": f"rewards.{of}" for of in (*SIDES, "margins", "accuracies")},
    **{f"rewards_{of}_mean": f"rewards.{of}" for of in SIDES}, **{f"logps/{of}": f"logps.{of}" for of in SIDES},
    "chosen_geometric_mean": "logps.chosen", "rejected_geometric_mean": "logps.rejected",
    "Positive Geometric Mean": "logps.chosen", "Negative Geometric Mean": "logps.rejected",
    "accuracy": "rewards.accuracies", "acc": "rewards.accuracies", "nll_loss": "nll", "sft_loss": "nll",
    "preference_loss": "preference_loss", "loss": "total_loss", "kl": "kto.z", "KL": "kto.z", "log_odds_chosen": "odds.difference",
    "log_odds": "odds.difference", "Log Odds": "odds.difference", "log_odds_ratio": "odds.right", "Log Odds Ratio": "odds.right",
    "odds_ratio_loss": "odds.right",
}  # fmt: skip
"""What is one number for the batch; of a row of pairs it is the mean."""
PAIRS = {
    "per_pair_loss": "loss.weighed", "losses": "loss.weighed", "loss/train": "loss.pair", "chosen_rewards": "chosen.logged",
    "rejected_rewards": "rejected.logged", "chosen_logps": "chosen.logp", "rejected_logps": "rejected.logp",
    "ref_chosen_logps": "chosen.logp_ref", "ref_rejected_logps": "rejected.logp_ref", "rewards_train/margins": "watch.margin",
    "rewards_train/accuracies": "watch.right", "pos_prob": "chosen.logp", "neg_prob": "rejected.logp",
    **{f"rewards_train/{of}": f"{of}.logged" for of in SIDES}, **{f"logps_train/{of}": f"{of}.logp" for of in SIDES},
}  # fmt: skip
"""What is a number for each pair."""
BOTH = {"rewards_logged": "logged", "policy_logps": "logp", "reference_logps": "logp_ref"}
"""What is a list of chosen, then rejected responses."""
OF_ONE = {
    "colossalchat": {"log_odds_ratio": "odds.batch"}, "openrlhf": {"nll_loss": "nll.sequence_mean"},
}  # fmt: skip
"""Where one library means something else by a name."""
NO_ROW = re.compile(
    r"grad_|loss_(float32|bfloat16)$|logits/|entropy$|num_|mean_token_accuracy$|count/|note$|chosen_logps_avg$"
)
"""Slopes stand in another test; the others tell of tokens, rounding or how many there are, and the steps have no row for them."""


def recorded(run: Run) -> Iterator[tuple[str, Any]]:
    """Yields everything that was recorded of a run, by the library's names."""
    for name, value in run.out.items():
        yield from value.items() if name in ("metrics", "logged") else [(name, value)]


def row(name: str, run: Run) -> Array:
    return FRONT.cells(FRONT.typed_in(run.conventions), name)


def ours(name: str, run: Run) -> Array:
    """Returns what the workbook says under a library's name; KeyError where it has no such thing."""
    form, of_one = run.conventions["loss.form"], OF_ONE.get(run.library.rsplit("_", 1)[0], {})
    if name == "kl" and form == "apo_zero_unpaired":
        return np.zeros(())  # 0 is what it compares with, and so it is logged
    if name == "losses" and form == "kto":
        return np.concatenate([row("loss.kto", run)[first::2] for first in (0, 1)])
    if name in of_one:
        return np.asarray(row(of_one[name], run).mean())
    if name in ("nll_loss", "sft_loss") and not run.conventions["loss.nll_coef"]:
        return row("adds.nll", run)  # 0: what is not added is not computed
    if name in BOTH:
        return np.concatenate([row(f"{side}.{BOTH[name]}", run) for side in SIDES])
    if name in PAIRS:
        return row(PAIRS[name], run)
    if name.endswith("_sum"):
        return 4 * row(MEANS[name.removesuffix("_sum")], run)
    sign = -1 if name == "odds_ratio_loss" else 1
    return np.asarray(sign * row(MEANS[name], run).mean())


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_the_rows_are_what_the_library_logs(run: Run) -> None:
    """To 1e-12 of numbers that are at most 60: some hundred roundings in float64."""
    far = {}
    for name, value in recorded(run):
        if not NO_ROW.match(name):
            found, meant = ours(name, run), np.array(value, float)
            far[name] = float(np.abs(found - meant).max()) / max(1.0, float(np.abs(meant).max()))
    assert {name: each for name, each in far.items() if not each <= 1e-12} == {}


def test_hundreds_of_numbers_are_among_what_is_compared() -> None:
    assert sum(np.size(value) for run in RUNS for name, value in recorded(run) if not NO_ROW.match(name)) > 1200
