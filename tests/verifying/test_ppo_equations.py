"""Causes of PPO that nobody has listed: a change of an equation, of what is read, of one of its readers, held against all files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.verifying import Definitions, of_equations, of_what_is_read, verify_step
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying import trial
from blueprint.workbooks.rlhf_ppo.verifying.feeding import EQUATIONS, Memory, fed
from tests.hooks import ppo_formulas
from tests.hooks.test_planted import dumped, second_pass
from tests.verifying.dumps import made
from tests.verifying.mutants import PPO, mutant, placed, verified

USE = dict(rlhf().preset("trl_1.12").values)


def test_the_formulas_come_to_what_trl_wrote() -> None:
    files = second_pass("trl_1_12/float32")
    for ours, theirs in zip(ppo_formulas.TRL.written(files), files, strict=True):
        for name in ("rewards", "advantages", "returns"):
            np.testing.assert_allclose(ours.tensors[name], theirs.tensors[name], atol=2e-6)
        assert {name: pytest.approx(each, abs=1e-6) for name, each in theirs.logged.items()} == ours.logged


@pytest.mark.parametrize("run", PPO.runs)
def test_the_formulas_themselves_are_not_accused(run: str) -> None:
    found = verified(PPO.files(run), ppo_formulas.TRL)
    assert found.agrees
    assert {line.name for line in found.lines} >= {"rewards", "advantages", "returns", "policy_loss", "value_loss"}


@pytest.mark.parametrize(
    ("run", "mistake", "cause"),
    [
        ("k3", "-advantages * ratio -> -advantages", "surrogate.unclipped (unclipped surrogate: ratio · advantage): ρ is left out"),
        ("plain", "line 137: pg_loss -> vf_loss", "value_loss (value loss: weighted sum of v_loss) in its place, in policy_loss"),
    ],
)  # fmt: skip
def test_a_mistake_that_nobody_listed_is_named(run: str, mistake: str, cause: str) -> None:
    at = next(at for at, said in enumerate(placed(PPO)) if said.endswith(mistake))
    found = verified(PPO.files(run), mutant(PPO, at)[0])
    assert cause in found.causes[0].said
    assert found.causes[0].rest
    assert {line.line.says for line in found.lines if line.deviating and line is not found.first} <= {"follows"}


def test_a_sum_from_the_end_goes_on_from_what_is_changed() -> None:
    """A = δ + γ·A without λ is what λ = 1 comes to, in every column and not in the last one alone."""
    (change,) = [
        each.ways["equations"]
        for each in of_equations(EQUATIONS, USE, "advantages", ("td_errors",))
        if each.label.startswith("another equation of advantages ") and each.label.endswith(": gae_lambda is left out")
    ]
    batch = made(3)
    found = fed(batch, USE).changed(("advantages",), change, Memory())
    expected = fed(batch, {**USE, "gae_lambda": 1.0}).values(("advantages",))
    np.testing.assert_allclose(found["advantages"], expected["advantages"], atol=1e-12)


def test_what_is_read_is_another_in_all_its_readers_or_in_one() -> None:
    stages = list(of_what_is_read(EQUATIONS, USE, "advantages_used", ("rewards",)))
    labels = [each.label for stage in stages for each in stage]
    assert len(labels) == len({*labels}) > 1000
    assert any(each.startswith("values.kept") and "wherever it is read: it is doubled" in each for each in labels)
    assert any(
        "for advantage.whitened alone: advantage.variance is read, not advantage.mean" in each for each in labels
    )
    assert any(each.endswith("and the sign of the whole is turned") for each in labels)


def test_bounds_that_cross_are_exchanged() -> None:
    *_, last = of_what_is_read(EQUATIONS, USE, "policy_loss", ("advantages_used",))
    (each,) = [each for each in last if "1 is left out of 1 + loss.clip_range_high" in each.label]
    batch = made(3)
    found = fed(batch, USE).changed(("ratio.clipped",), each.ways["equations"], Memory())["ratio.clipped"]
    assert float(np.max(found)) <= float(USE["loss.clip_range_high"])


def test_of_a_large_file_it_is_said_how_many_changes_were_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "CELLS", 16 * trial.OVERHEAD)
    at = next(at for at, said in enumerate(placed(PPO)) if said.endswith("line 137: pg_loss -> vf_loss"))
    found = verify_step(dumped(PPO.files("plain"), mutant(PPO, at)[0], tmp_path))
    assert not found.causes
    assert any("the 16 likeliest changes that lead to policy_loss were tried" in note for note in found.notes)


def test_a_change_of_a_row_that_is_known_is_none() -> None:
    assert isinstance(EQUATIONS, Definitions)
    rows = {
        row
        for each in of_equations(EQUATIONS, USE, "policy_loss", ("advantages_used",))
        for row in each.ways["equations"]
    }
    assert {"surrogate.clipped", "ratio.clipped", "policy.weight.row"} <= rows
    assert not rows & {"advantages_used", "rewards", "td_errors"}
