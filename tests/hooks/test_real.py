"""What the hooks wrote in real runs of the libraries, tests/data/real: see tests/hooks/real. That it suffices, and that it agrees.

Of TRL's GRPO, DPO and reward models everything is computed again from nothing but the files, by its formulas in numpy.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from blueprint.dumps import read_minibatch
from blueprint.verifying import VerifyOptions, verify_one, verify_step
from tests.commands import run_command
from tests.hooks import dpo_formulas, reward_formulas
from tests.hooks.page import HOOKS
from tests.hooks.real.libraries import RUNS as RUNS_OF
from tests.hooks.trl_formulas import TRL as GROUPS_OF_TRL
from tests.hooks.trl_formulas import Written, of_pass, read

REAL = Path(__file__).parents[1] / "data" / "real"
FOLDERS = sorted(folder for folder in REAL.iterdir() if folder.is_dir())
RUNS = {
    kind: [run for name in names for run in sorted((REAL / name).iterdir()) if run.is_dir()]
    for kind, names in {
        "steps": [name for name, of in RUNS_OF.items() if not (of.rollouts or of.groups or of.pairs)],
        "groups": [name for name, of in RUNS_OF.items() if of.groups],
        "pairs": ["trl_dpo"],
        "rewards": ["trl_reward"],
        "single": ["trl_kto", "trl_sft"],
    }.items()
}
"""Runs by what their files are, but for rollouts, which have tests of their own."""
STEPS, GROUPS, DPO, REWARDS, SINGLE = RUNS.values()
TRL = [run for run in GROUPS if run.parent.name.startswith("trl")]


def named(run: Path) -> str:
    return f"{run.parent.name}-{run.name}"


def files(run: Path) -> list[Path]:
    return sorted(run.glob("*.safetensors"))


@pytest.mark.parametrize(("kind", "run"), [(kind, run) for kind, runs in RUNS.items() for run in runs], ids=str)
def test_a_clean_step_agrees_in_all_its_files(kind: str, run: Path) -> None:
    """TRL whitens over eight files; losses of OpenRLHF and verl (two processes) are shares of an update."""
    found = verify_step(files(run))
    fine = ("agrees", "too coarse") if kind in ("steps", "groups") else ("agrees",)
    assert {line.name: line.line.says for line in found.lines if line.line.says not in fine} == {}
    assert found.agrees
    assert not found.unread
    if kind in ("pairs", "rewards"):
        assert not found.lacking
    if kind == "pairs":
        assert {"chosen.logp", "chosen.reward", "rewards.accuracies", "total_loss"} <= {
            line.name for line in found.lines
        }
    if kind == "rewards":
        assert len(found.lines) == 8


@pytest.mark.parametrize("run", STEPS, ids=named)
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


@pytest.mark.parametrize("run", STEPS, ids=named)
def test_one_file_of_a_clean_step_is_not_accused(run: Path) -> None:
    found = verify_one(read_minibatch(files(run)[len(files(run)) // 4])).verdict
    assert found.first is None
    assert found.lines


@pytest.mark.parametrize("run", [*TRL, *DPO, *SINGLE], ids=named)
def test_a_part_of_a_clean_step_is_not_accused(run: Path) -> None:
    """A microbatch of GRPO has two of the four responses to a prompt: advantages need the others."""
    found = verify_step(files(run)[-1:])
    assert found.first is None
    assert len(found.lines) >= (3 if run not in SINGLE else 1)
    assert run in TRL or found.lacking == ("microbatch 0 of 2",)


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
    found = verify_step(sorted(tmp_path.iterdir()), VerifyOptions(causes=False))
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


def first_pass(run: Path) -> list[Written]:
    return [each for each in read(run) if each.said["epoch"] == "0"]


@pytest.mark.parametrize("run", GROUPS, ids=named)
def test_every_file_says_what_it_is_and_its_place_once(run: Path) -> None:
    places = [(each.said.get("algorithm"), each.said["step"], each.said.get("epoch"), each.said.get("minibatch"),
               each.said.get("microbatch")) for each in read(run)]  # fmt: skip
    assert len(set(places)) == len(places) == (2 if run.name == "first" else 1 if run.parent.name == "verl_grpo" else 8)


@pytest.mark.parametrize("run", TRL, ids=named)
def test_advantages_follow_from_the_rewards_in_the_files_of_a_step(run: Path) -> None:
    """TRL computes them in float32: 24 bits, of sums of 8 numbers of about 2."""
    files = first_pass(run)
    found = GROUPS_OF_TRL.all_advantages(files)
    assert np.abs(found).max() > 0.5
    assert np.abs(found - of_pass(files, "advantages")).max() < 4e-7


@pytest.mark.parametrize("run", TRL, ids=named)
def test_loss_and_kl_follow_from_the_log_probs_in_its_file(run: Path) -> None:
    """In float32, as above."""
    for each in read(run):
        for name, number in GROUPS_OF_TRL.logged(each).items():
            assert number == pytest.approx(each.logged[name], rel=1e-6, abs=1e-6), name


AGAIN: dict[str, tuple[dpo_formulas.Trainer | reward_formulas.Trainer, tuple[str, ...], float, float, float]] = {
    "trl_dpo": (
        dpo_formulas.TRL, ("chosen_logps", "ref_rejected_logps", "chosen_rewards", "rejected_rewards", "margins"), 1e-5, 2e-6, 5e-6,
    ),
    "trl_reward": (reward_formulas.TRL, ("rewards_chosen", "rewards_rejected"), 1e-6, 1e-6, 1e-6),
}  # fmt: skip
"""The formulas, what they make, and how near: in float32, 24 bits, of sums of up to 10 numbers of about 5, times β of up to 2; of
scores of about 2."""


@pytest.mark.parametrize("run", [run for run in (*DPO, *REWARDS) if run.name != "weighted"], ids=named)
def test_everything_follows_by_formulas_of_our_own(run: Path) -> None:
    formulas, made, near, rel, near_logged = AGAIN[run.parent.name]
    for file in read(run):
        again = formulas.written(file)
        for name in made:
            assert np.abs(again.tensors[name] - file.tensors[name]).max() < near, name
        for name, number in again.logged.items():
            assert number == pytest.approx(file.logged[name], rel=rel, abs=near_logged), name


def test_the_runs_of_groups_have_what_their_names_say() -> None:
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


def test_the_runs_of_pairs_have_what_their_names_say() -> None:
    """The policy has left the reference, responses differ in length, pairs tie, and microbatches differ."""
    found = {run.name: read(run) for run in DPO}
    apart = [file.tensors["chosen_logps"] - file.tensors["ref_chosen_logps"] for file in found["sigmoid"]]
    assert min(np.abs(each).max() for each in apart) > 0.5
    assert len({count for file in found["sigmoid"] for count in file.tensors["completion_mask"].sum(1)}) > 3
    assert any((file.tensors["margins"] == 0).any() for file in found["alike"])
    assert "ref_per_token_logps" not in found["precomputed"][0].tensors
    assert found["precomputed"][0].settings["label_smoothing"] == 0.1
    assert found["sft"][0].settings["loss_weights"] == [1.0, 0.2]
    assert found["mixed"][0].settings["loss_weights"] == [0.8, 0.2, 0.3, 1.0]


def test_a_loss_that_is_a_sum_is_said_and_no_workbook_has_it(tmp_path: Path) -> None:
    paths = [*map(str, files(REAL / "trl_dpo" / "mixed"))]
    said = "the loss is a sum: 0.8 · sigmoid + 0.2 · bco + 0.3 · ipo of means"
    for some in (paths, paths[:1]):
        result = run_command("verify", *some)
        assert (result.exit_code, result.output.count(said)) == (0, 1)
    result = run_command("import", paths[0], "-o", tmp_path / "a.xlsx")
    assert (result.exit_code, "ipo of means, and a workbook has one loss" in result.stderr) == (2, True)
    assert not [*tmp_path.iterdir()]
