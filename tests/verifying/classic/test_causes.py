"""Causes of deviations in rollouts of classic PPO that nobody has listed; and how little of a large rollout they need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch")

from blueprint.verifying import Try, VerifyOptions, choose
from blueprint.workbooks.classic_ppo.rollout import n, t
from blueprint.workbooks.classic_ppo.verifying.recompute import EQUATIONS, advantages, inputs_of
from blueprint.workbooks.classic_ppo.verifying.verify import trial_of
from tests.verifying.classic.rollouts import read_rollout, written
from tests.verifying.classic.trainers import Run, trained
from tests.verifying.mutants import KINDS, named, placed


@pytest.mark.parametrize(
    ("library", "mistake"),
    [
        ("cleanrl", "returns -> 2.0 * returns"),
        ("sb3", "1.0 - of.last_done -> 1.0 + of.last_done"),  # at the last step alone
        ("sb3", "line 66: later -> np.roll(later, 1, 0)"),  # of another environment
        ("cleanrl", "gamma * ahead * going -> gamma * ahead + going"),
        ("cleanrl", "line 73: advantages -> -advantages"),  # in the mean, or beside it
        ("sb3", "line 112: np.abs(ratio - 1) -> np.sign(ratio - 1)"),  # a share of few rows, which a limit that many use has, too
        ("sb3", "line 118: log_ratio -> ratio"),  # once, where it is read twice
        ("sb3", "gamma -> 2.0 * gamma"),  # numbers grow from step to step, and so does rounding
        ("sb3", "old_values + np.clip(values - old_values, -clip_vf, clip_vf) -> "
                "old_values - np.clip(values - old_values, -clip_vf, clip_vf)"),  # as the library spells it
    ],
)  # fmt: skip
def test_a_mistake_that_nobody_listed_is_named(library: str, mistake: str) -> None:
    """It explains another batch, too, which verify has not seen."""
    at = [at for at, said in enumerate(placed(KINDS["classic"])) if f": {said}".endswith(f": {mistake}")]
    found = [named(KINDS["classic"], each, library) for each in at[:1] + at[-1:]]
    assert {"first", "together", "said once"} & {each[1].word for each in found if each}


def test_the_recursion_in_one_go_is_the_definition_step_by_step(tmp_path: Path) -> None:
    rollout = read_rollout(written(tmp_path, *trained(Run("sb3", seed=3))))
    settings, known = choose(rollout).values, inputs_of(rollout).of_steps
    sizes = dict(zip((n, t), rollout.shape, strict=True))
    by_steps = EQUATIONS.values(settings, sizes, known, ("advantages",))["advantages"]
    np.testing.assert_allclose(advantages(settings, sizes, known, {}), by_steps, rtol=1e-13, atol=1e-13)


def test_of_a_large_rollout_few_steps_refute_a_cause_and_none_that_is_right(tmp_path: Path) -> None:
    run = Run("cleanrl", "γ missing in δ", steps=1024, environments=4)
    rollout = read_rollout(written(tmp_path, *trained(run)))
    settings = choose(rollout).values
    trial = trial_of(rollout, settings, VerifyOptions())
    assert trial.compared(Try("λ", {**settings, "gae_lambda": 1.0}), {}, "advantages") == {}
    end = trial.ends["advantages"]
    assert end is not None
    assert end.start == 1024 - 48
    right = [
        each for stage in list(trial.tries("advantages"))[1:2] for each in stage if "γ is forgotten: δ" in each.label
    ]
    assert [trial.compared(each, {}, "advantages")["advantages"].agrees for each in right] == [True]
