"""What the hooks wrote of GRPO and its family in real runs of TRL and verl, tests/data/real: that it suffices.

Advantages and losses are computed again from nothing but the files, by TRL's formulas in numpy.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.verifying import verify_step
from tests.hooks.real.libraries import RUNS as RUNS_OF
from tests.hooks.trl_formulas import TRL as FORMULAS
from tests.hooks.trl_formulas import Written, of_pass, read

REAL = Path(__file__).parents[1] / "data" / "real"
RUNS = [run for name, each in RUNS_OF.items() if each.groups for run in sorted((REAL / name).iterdir()) if run.is_dir()]
TRL = [run for run in RUNS if run.parent.name.startswith("trl")]
FINE = ("agrees", "too coarse")


def named(run: Path) -> str:
    return f"{run.parent.name}-{run.name}"


def first_pass(run: Path) -> list[Written]:
    return [each for each in read(run) if each.said["epoch"] == "0"]


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_every_file_says_what_it_is_and_its_place_once(run: Path) -> None:
    places = [(each.said["algorithm"], each.said["step"], each.said.get("epoch"), each.said.get("minibatch"),
               each.said.get("microbatch")) for each in read(run)]  # fmt: skip
    assert len(set(places)) == len(places) == (2 if run.name == "first" else 1 if run.parent.name == "verl_grpo" else 8)


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_a_clean_step_agrees_in_all_its_files(run: Path) -> None:
    found = verify_step(sorted(run.iterdir()))
    assert {line.name: line.line.says for line in found.lines if line.line.says not in FINE} == {}
    assert found.agrees
    assert not found.unread


@pytest.mark.parametrize("run", TRL, ids=named)
def test_one_file_of_a_clean_step_is_not_accused(run: Path) -> None:
    """A microbatch has two of the four responses to a prompt: advantages need the others."""
    found = verify_step([sorted(run.iterdir())[-1]])
    assert found.first is None
    assert len(found.lines) >= 3


@pytest.mark.parametrize("run", TRL, ids=named)
def test_advantages_follow_from_the_rewards_in_the_files_of_a_step(run: Path) -> None:
    """TRL computes them in float32: 24 bits, of sums of 8 numbers of about 2."""
    files = first_pass(run)
    found = FORMULAS.all_advantages(files)
    assert np.abs(found).max() > 0.5
    assert np.abs(found - of_pass(files, "advantages")).max() < 4e-7


@pytest.mark.parametrize("run", TRL, ids=named)
def test_loss_and_kl_follow_from_the_log_probs_in_its_file(run: Path) -> None:
    """In float32, as above."""
    for each in read(run):
        for name, number in FORMULAS.logged(each).items():
            assert number == pytest.approx(each.logged[name], rel=1e-6, abs=1e-6), name


def test_the_runs_have_what_their_names_say() -> None:
    """Old and new policies differ where there are several updates; responses were cut off, or judged by one function alone."""
    found = {run.name: read(run) for run in TRL}
    assert "old_per_token_logps" not in found["first"][0].tensors
    moved = [np.abs(each.tensors["per_token_logps"] - each.tensors["old_per_token_logps"]) for each in found["dapo"]]
    assert max(each.max() for each in moved[:2]) < 1e-6 < 0.1 < max(each.max() for each in moved[4:])
    assert np.isnan(of_pass(first_pass(REAL / "trl_grpo" / "functions"), "rewards_per_func")).any()
    assert 0 < (of_pass(first_pass(REAL / "trl_grpo" / "masked"), "completion_mask").sum(1) == 0).sum() < 8


def test_groups_of_verl_are_apart_in_its_batch() -> None:
    """As after `balance_batch`: the responses to a prompt are not side by side."""
    (written,) = read(REAL / "verl_grpo" / "grpo")
    uid = written.tensors["uid"]
    assert [int((uid == each).sum()) for each in np.unique(uid)] == [4, 4, 4]
    assert np.abs(np.diff(uid)).sum() > 2 * len(np.unique(uid))
