"""verify on dumps of every recorded run: clean under its own conventions, accused under those of another, and the cause named."""

from itertools import pairwise
from math import inf
from pathlib import Path

import numpy as np
import pytest

from blueprint.inputs import dotted
from blueprint.inputs.catalogue import OFF
from blueprint.verifying import Verdict, verify_one
from blueprint.workbooks.grpo.dumps import DUMPS
from tests.workbooks.grpo.dumped import dump_of, raw_of
from tests.workbooks.grpo.recorded import Run, runs

RUNS = list(runs())
NAMES = [f"{run.library}-{run.variant}" for run in RUNS]


def under(run: Run, conventions: dict[str, float | str]) -> Verdict:
    """Verifies the dump of a run that says it had other conventions."""
    raw = raw_of(run)
    raw.metadata["hyperparameters"] = {
        key: "off" if value in (inf, -inf) else value for key, value in conventions.items()
    }
    return verify_one(DUMPS.read(raw, Path("run.npz"))).verdict


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_what_a_library_computed_agrees_under_its_own_conventions(run: Run) -> None:
    verdict = verify_one(dump_of(run)).verdict
    assert {line.says for line in verdict.lines} == {"agrees"}
    recorded = {"advantages", *({"total_loss"} if "loss" in run.out else ())}
    assert {line.compared.name for line in verdict.lines} >= recorded


def apart(one: Run, other: Run) -> bool:
    """Whether the libraries' own numbers say that two runs of the same log-probs are not the same."""
    if (one.old, one.reference) != (other.old, other.reference):
        return False
    both = [np.asarray(run.out["advantages"], float).reshape(12, -1)[:, 0] for run in (one, other)]
    losses = [run.out.get("loss", np.nan) for run in (one, other)]
    return bool(np.abs(both[0] - both[1]).max() > 1e-3) or abs(losses[0] - losses[1]) > 1e-3


OTHERS = [each for each in pairwise(RUNS) if apart(*each)][::3]


def test_no_run_agrees_under_the_conventions_of_a_run_that_came_out_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "blueprint.workbooks.grpo.verifying.verify.tries", lambda *of: iter(())
    )  # only whether it is accused
    passed = [f"{one.variant} as {other.variant}" for one, other in OTHERS if under(one, other.conventions).agrees]
    assert len(OTHERS) > 30
    assert not passed


WRONG: dict[str, tuple[str, float | str]] = {
    "group.std": ("default_later_step", "none"), "group.baseline": ("group_norm", "none"),
    "group.eps": ("grpo_documented_recipe", 0.01),
    "group.ddof": ("population_std", 1.0), "kl.place": ("kl_later_step", "none"), "kl.coef": ("grpo_documented_recipe", 0.5),
    "kl.estimator": ("group_norm_kl_loss_k3", "k2"), "ratio.level": ("gspo_eps_0_2", "token"),
    "loss.objective": ("cispo_eps_high_5", "clip"), "loss.clip_high": ("clip_higher", 0.2), "loss.dual_clip": ("grpo_default", OFF),
    "loss.aggregation": ("grpo_documented_recipe", "seq_mean_token_mean"), "rollout.level": ("is_token_truncate_2", "none"),
    "loss.mask": ("mask_truncated", "response"), "reward.overlong": ("dapo_overlong", "off"),
}  # fmt: skip
"""By convention the run that has it, and what its file says instead."""


@pytest.mark.parametrize("key", WRONG)
def test_the_one_convention_that_a_file_says_wrongly_is_named(key: str) -> None:
    variant, value = WRONG[key]
    run = next(each for each in RUNS if each.variant == variant)
    verdict = under(run, {**run.conventions, key: value})
    used = run.conventions[key]
    said = used if isinstance(used, str) else "off" if used == OFF else f"{used:g}"
    assert verdict.first is not None
    assert verdict.first.says == "DIFFERS"
    assert f"{dotted(key)} = {said}" in [each.said for each in verdict.causes]
    assert all(each.rest for each in verdict.causes)
