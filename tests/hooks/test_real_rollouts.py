"""What the hooks wrote in real runs of Stable-Baselines3 and CleanRL, tests/data/real: it agrees, and mistakes in it are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch")

from blueprint.verifying import Verdict, choose
from blueprint.verifying.compare import AGREES
from blueprint.workbooks.classic_ppo.dumps import Rollout
from blueprint.workbooks.classic_ppo.verifying.verify import verify
from tests.verifying.classic.rollouts import read_rollout

REAL = Path(__file__).parents[1] / "data" / "real"
RUNS = [
    sorted(run.glob("*.safetensors")) for library in ("cleanrl", "sb3") for run in sorted((REAL / library).glob("*/"))
]
FILES = [files[place] for files in RUNS for place in (0, -1)]


def verdict_on(rollout: Rollout) -> Verdict:
    """Verifies a rollout under what its file says."""
    chosen = choose(rollout)
    return verify(rollout, chosen.values, chosen.preset.name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_the_library_wrote_agrees(path: Path) -> None:
    rollout = read_rollout(path)
    verdict = verdict_on(rollout)
    names = {line.compared.name for line in verdict.lines}
    first = {"first.logprobs", "first.values"} if rollout.place and rollout.place.before_first_update else set()
    assert (
        names
        >= {"advantages", "returns", "advantages_used", "policy_loss", "value_loss", "entropy", "total_loss"} | first
    )
    assert ("rewards" in names) == (rollout.library == "sb3")  # its time limits
    wrong = {line.compared.name: line.says for line in verdict.lines if line.says != AGREES}
    assert wrong.keys() <= ({"policy_loss", "approx_kl.k1", "approx_kl.k3"} if first else set())
    assert (verdict.agrees, rollout.notes, dict(verdict.uncompared)) == (True, (), {})


def test_there_are_files_of_both_before_and_behind_the_first_update() -> None:
    said = {
        (rollout.library, rollout.place is not None and rollout.place.before_first_update)
        for rollout in map(read_rollout, FILES)
    }
    assert said == {(library, first) for library in ("cleanrl", "sb3") for first in (True, False)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_ends_read_one_step_late_are_found(path: Path) -> None:
    rollout = read_rollout(path)
    ends = np.roll(rollout.tensors["done"], -1, axis=1)
    ends[:, -1] = 0
    verdict = verdict_on(replace(rollout, tensors={**rollout.tensors, "done": ends}))
    assert verdict.first is not None
    assert verdict.first.compared.name == "advantages"
    assert verdict.causes[0].said.startswith("done one step late")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_another_coefficient_is_found_and_named(path: Path) -> None:
    rollout = read_rollout(path)
    settings = choose(rollout).values
    half = float(settings["vf_coef"]) * rollout.logged["value_loss"]
    moved = replace(rollout, logged={**rollout.logged, "total_loss": rollout.logged["total_loss"] - half / 2})
    verdict = verdict_on(moved)
    assert verdict.first is not None
    assert verdict.first.compared.name == "total_loss"
    assert verdict.causes[0].said == "ppo.vf_coef = 0.25 instead of 0.5"
