"""What the hooks wrote in real runs of the libraries, tests/data/real: see tests/hooks/real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blueprint.minibatch import read_minibatch
from blueprint.replay import choose, verify
from tests.hooks.page import HOOKS
from tests.hooks.real.libraries import RUNS as RUNS_OF

REAL = Path(__file__).parents[1] / "data" / "real"
FOLDERS = sorted(folder for folder in REAL.iterdir() if folder.is_dir())
RUNS = [run for folder in FOLDERS for run in sorted(folder.iterdir()) if run.is_dir()]
NOT_RUN = {"OpenRLHF", "verl", "verl, on a worker"}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.parent.name}-{run.name}")
def test_every_file_says_its_place_once(run: Path) -> None:
    batches = [read_minibatch(path) for path in sorted(run.glob("*.safetensors"))]
    assert len({batch.place for batch in batches}) == len(batches) > 0
    assert {batch.step for batch in batches} == {0}
    for batch in batches:
        said = [note for note in batch.notes if "not understood" in note and "row_index" not in note]
        assert not said
        assert run.name not in ("float32", "bfloat16") or run.name in batch.dtypes.values()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_was_run_is_what_the_page_says(folder: Path) -> None:
    """A hook that was changed must be run again: python -m tests.hooks.real --keep NAME."""
    ran = json.loads((folder / "hooks.json").read_text(encoding="utf-8"))
    assert set(ran) == set(RUNS_OF[folder.name].hooks)
    assert ran == {name: HOOKS[name].digest for name in ran}


def test_every_hook_was_run_in_its_library() -> None:
    assert {hook for run in RUNS_OF.values() for hook in run.hooks} == set(HOOKS) - NOT_RUN
    assert {folder.name for folder in FOLDERS} == set(RUNS_OF)


@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "bnpo"])
def test_grpo_is_replayed_from_its_advantages(loss: str) -> None:
    """TRL 1.16.0: ratio, clip at both sides, KL in the loss, a cap of the ratio and three ways to aggregate."""
    for path in (REAL / "trl_grpo" / loss).glob("*.safetensors"):
        batch = read_minibatch(path)
        verdict = verify(batch, choose(batch).values, "trl_1.12")
        assert {line.compared.name: line.says for line in verdict.lines} == {
            "clip_fraction.used": "agrees", "entropy.watched": "agrees", "total_loss": "agrees",
        }  # fmt: skip


def test_what_no_convention_expresses_is_said_and_not_compared() -> None:
    batch = read_minibatch(REAL / "trl_grpo" / "sequence" / "grpo_000000_0_1_1_0.safetensors")
    assert set(batch.logged) == {"entropy.watched"}
    said = [note for note in batch.notes if note.startswith("not compared")]
    assert said == [
        "not compared: total_loss; no convention says use_bias_correction_kl = true (a KL that is multiplied by the ratio)",
        "not compared: clip_fraction.used; no convention says importance_sampling_level = sequence (the ratio of a whole response)",
    ]
