"""What the hooks wrote in real runs of the libraries, tests/data/real: see tests/hooks/real."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from blueprint.dumps import read_minibatch
from blueprint.verifying import verify_one, verify_step
from tests.hooks.page import HOOKS
from tests.hooks.real.libraries import RUNS as RUNS_OF

REAL = Path(__file__).parents[1] / "data" / "real"
FOLDERS = sorted(folder for folder in REAL.iterdir() if folder.is_dir())
OTHERS = {name for name, run in RUNS_OF.items() if run.rollouts or run.groups or run.pairs}
STEPS = [folder for folder in FOLDERS if folder.name not in OTHERS]
RUNS = [run for folder in STEPS for run in sorted(folder.iterdir()) if run.is_dir()]
FINE = ("agrees", "too coarse")


def named(run: Path) -> str:
    return f"{run.parent.name}-{run.name}"


@pytest.mark.parametrize("run", RUNS, ids=named)
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
    assert {hook for run in RUNS_OF.values() for hook in run.hooks} == set(HOOKS)
    assert {folder.name for folder in FOLDERS} == set(RUNS_OF)


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_one_file_of_a_clean_step_is_not_accused(run: Path) -> None:
    files = sorted(run.glob("*.safetensors"))
    found = verify_one(read_minibatch(files[len(files) // 4])).verdict
    assert found.first is None
    assert found.lines


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_a_clean_step_agrees_in_all_its_files(run: Path) -> None:
    """TRL whitens over eight files; losses of OpenRLHF and verl (two processes) are shares of an update."""
    found = verify_step(sorted(run.glob("*.safetensors")))
    assert {line.name: line.line.says for line in found.lines if line.line.says not in FINE} == {}
    assert found.agrees
    assert not found.unread


PLANTED = {
    ("trl_1_12/float32", "ref_logprobs"): "rewards",
    ("trl_0_11/float32", "advantages"): "advantages",
    ("verl_0_9/token-mean-verl-ppo", "ref_log_prob"): "kl_loss",
}
"""By run and tensor of a file, what deviates first where one number of it is another."""


@pytest.mark.parametrize(("run", "name"), PLANTED, ids=lambda each: each.replace("/", "-"))
def test_a_change_in_one_file_of_a_step_is_found_there(run: str, name: str, tmp_path: Path) -> None:
    """A tenth more on the first word of a response, in the last file."""
    for path in sorted((REAL / run).glob("*.safetensors")):
        shutil.copyfile(path, tmp_path / path.name)
    changed = max(tmp_path.iterdir())
    with safe_open(changed, "np") as file:
        tensors, metadata = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
    first = int(read_minibatch(changed).first[0])
    tensors[name][(0,) if tensors[name].ndim == 1 else (0, first)] += 0.1
    save_file(tensors, changed, metadata)
    found = verify_step(sorted(tmp_path.iterdir()))
    assert found.first is not None
    assert found.first.name == PLANTED[run, name]
    assert changed.name in {Path(each.path).name for each in found.first.deviating}


def test_what_no_convention_expresses_is_said_and_not_compared(tmp_path: Path) -> None:
    """verl's GSPO with a critic."""
    path = REAL / "verl_0_9" / "token-mean-verl-ppo" / "verl-ppo_000000_0_1_1_0.safetensors"
    with safe_open(path, "np") as file:
        tensors, metadata = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
    said = json.loads(metadata["hyperparameters"]) | {"loss_mode": "gspo"}
    save_file(tensors, tmp_path / path.name, metadata | {"hyperparameters": json.dumps(said)})
    batch = read_minibatch(tmp_path / path.name)
    assert not {"policy_loss", "total_loss", "clip_fraction.used"} & set(batch.logged)
    (note,) = [note for note in batch.notes if note.startswith("not compared")]
    assert note.endswith("no convention says loss_mode = gspo (a loss that is not clipped as in PPO)")
