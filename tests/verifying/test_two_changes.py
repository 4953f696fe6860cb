"""Two changes at a time, and equations under settings that are tried: with the numbers of everything made anew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.verifying import Definitions, Effects, Try, VerifyOptions, choose, read_dumps, two_at_a_time, verify_step
from blueprint.verifying.two_changes import CERTAIN
from blueprint.workbooks.dpo.verifying.recompute import EQUATIONS as DPO
from blueprint.workbooks.grpo.verifying.feeding import EQUATIONS as GROUPS
from blueprint.workbooks.grpo.verifying.recompute import recompute
from blueprint.workbooks.grpo.verifying.verify import StepTrial, trial_of
from blueprint.workbooks.reward_model.verifying.recompute import EQUATIONS as REWARD_MODEL
from tests.hooks.test_planted import REAL, dumped, second_pass
from tests.hooks.trl_formulas import TRL, read

ALLOWED = 1e-6


def noted(*came_to: float) -> Effects:
    effects = Effects()
    for at, number in enumerate(came_to):
        effects.note("loss", Try(f"change {at}", {f"key {at}": 1.0}), np.array([number]))
    return effects


def found(effects: Effects, logged: float, *parts: float) -> list[str]:
    own = {f"key {at}": 0.0 for at in range(9)}
    for at, effect in enumerate(effects.tried["loss"]):
        settings = {**own, f"key {at}": 1.0}
        effects.tried["loss"][at] = effect._replace(change=effect.change._replace(settings=settings))
    both = two_at_a_time(effects, "loss", own, np.array([2.0]), np.array([logged]), ALLOWED, parts)
    assert all(each.bits > CERTAIN for alike in both for each in alike)
    return [each.label for alike in both for each in alike]


def test_effects_that_add_up_or_multiply_are_found_and_no_others() -> None:
    effects = noted(2.3, 2.05, 4.0, 3.1)
    assert found(effects, 2.35) == ["change 0, and change 1"]
    assert found(effects, 2.0 * 1.15 * 2.0) == ["change 0, and change 2"]
    assert not found(effects, 2.7)


def test_factors_of_a_part_are_found_where_the_part_is_known() -> None:
    """Of 2 = 1.5 + 0.5 the part 1.5 becomes 3 by one change, and −1.5 by another: by both −3."""
    effects = noted(3.5, -1.0)
    assert not found(effects, -2.5)
    assert found(effects, -2.5, 1.5) == ["change 0, and change 1"]


def words(of: Definitions) -> Iterator[tuple[str, str]]:
    return ((key, word) for key, record in of.settings.items() for word in record.words)


@pytest.mark.parametrize("of", [GROUPS, DPO, REWARD_MODEL], ids=["grpo", "dpo", "reward model"])
def test_a_word_moves_some_rows_and_all_others_are_the_same_blocks(of: Definitions) -> None:
    """Begins with nothing kept: what earlier tests tried may fill the store, which is then emptied in the midst of this one."""
    of = replace(of)
    default = {key: record.value for key, record in of.settings.items()}
    rows, shared = of.among_many(default).rows, []
    for key, word in words(of):
        if word != default[key]:
            other = of.among_many({**default, key: word}).rows
            shared.append(np.mean([other[name] is row for name, row in rows.items()]))
    assert np.mean(shared) > 0.6


def loaded() -> StepTrial:
    path = sorted((REAL / "trl_grpo" / "grpo").iterdir())[-1]
    (batch,) = read_dumps([path])[0]
    return trial_of(batch, choose(batch, VerifyOptions()).values, VerifyOptions())  # type: ignore[arg-type]


def test_settings_that_are_tried_come_to_what_each_comes_to_by_itself() -> None:
    trial, moved = loaded(), 0
    until = {"until": "total_loss"}
    kept = {**until, "kept": trial.kept}
    straight = recompute(trial.batch, trial.settings, kept, trial.given).numbers["total_loss"]
    for key, word in words(GROUPS):
        settings = {**trial.settings, key: word}
        ours = recompute(trial.batch, settings, kept, trial.given).numbers["total_loss"]
        fresh = recompute(trial.batch, settings, until, trial.given).numbers["total_loss"]
        assert ours == pytest.approx(fresh, rel=1e-12, abs=1e-15, nan_ok=True)
        moved += ours != straight
    assert moved > 10


def test_two_mistakes_are_named_together_where_none_explains_all(tmp_path: Path) -> None:
    """The KL is of another coefficient, and the policy loss of the other sign."""
    paths = dumped(second_pass("trl_grpo/grpo"), TRL, tmp_path)
    batches = [read_dumps([path])[0][0] for path in paths]
    for path, batch, file in zip(paths, batches, read(tmp_path), strict=True):
        settings = choose(batch, VerifyOptions()).values
        trial = trial_of(batch, settings, VerifyOptions(), batches)  # type: ignore[arg-type]
        wrong = trial.compared(
            Try("both", {**settings, "kl.coef": 0.1}, {"factor": {"policy_loss": -1.0}}), trial.given, "total_loss"
        )
        logged = {**file.logged, "loss": float(np.float32(wrong["total_loss"].recomputed or 0.0))}
        file._replace(logged=json.loads(json.dumps(logged))).save(path)
    causes = [each.said for each in verify_step(paths).causes]
    assert "the opposite sign of the policy loss, and kl.coef = 0.1" in causes
