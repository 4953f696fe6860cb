"""The command `inspect`: what it says of a dump, as text and JSON, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.dumps import inspect, save
from tests.commands import run_command
from tests.dumps.as_frameworks import miles_training, relax_bundle, rolled_out, slime_training
from tests.dumps.batches import batch, raw_npz

METADATA = {
    "library": "verl", "version": "0.9.1", "step": 120, "colour": "red",
    "hyperparameters": {"gamma": 1, "clip_ratio_c": None, "lr": 1e-6},
    "logged": {"actor/pg_loss": 0.25, "perf/mfu": 0.5},
}  # fmt: skip


call = partial(run_command, "inspect")


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Returns a dump of three responses with names of verl, one that nobody knows, and one that is nearly known."""
    names = {
        "response_mask": "response_mask",
        "logprobs_old": "old_log_probs",
        "logprobs_ref": "ref_log_prob",
        "scores": "scores",
    }
    tensors: dict[str, Any] = {called: batch()[name] for name, called in names.items()}
    return raw_npz(
        tmp_path,
        tensors | {"value": np.ones((3, 6)), "quux": np.ones(3), "position_ids": np.ones(3)},
        json.dumps(METADATA),
    )


def test_it_says_what_was_recognised(dump: Path) -> None:
    result = call(dump)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"{dump}: npz, 3 responses of up to 6 positions, 14 tokens inside the mask",
        "library verl 0.9.1, step 120; preset verl",
        "",
        "  response_mask  response_mask  [3, 6]  bool     1 where a token of the response stands",
        "  old_log_probs  logprobs_old   [3, 6]  float32  log-prob of each token before the update",
        "  ref_log_prob   logprobs_ref   [3, 6]  float32  its log-prob under the reference policy",
        "  scores         scores         [3]     float32  score of the reward model or rule",
        "not recognised: value (did you mean values?), quux",
        "known, not needed: position_ids",
        "missing: prompt_ids, response_ids, tokens, logprobs_new, logprobs_rollout, entropy, values_old, values_new, rewards, "
        "advantages, returns, rollout_weights … and 1 more",
        "",
        "can be recomputed:",
        "  rewards                       yes",
        "  advantages                    no, lacks values_old",
        "  returns                       no, lacks values_old",
        "  ratio, approximate KL         no, lacks logprobs_new",
        "  policy loss, clip fraction    no, lacks logprobs_new, values_old",
        "  value loss                    no, lacks values_old, values_new",
        "  explained variance            no, lacks values_old",
        "  KL to the reference           yes",
        "  mean entropy                  no, lacks entropy",
        "  gap to the generating engine  no, lacks logprobs_rollout",
        "",
        "hyperparameters:",
        "  ppo.gamma       1",
        "  loss.dual_clip  off",
        "  not understood: lr",
        "",
        "logged:",
        "  policy_loss  0.25",
        "  not understood: perf/mfu",
        "metadata not recognised: colour",
        "",
        "note: layout: response, every response begins in the first column",
    ]  # fmt: skip


def test_json_says_the_same(dump: Path) -> None:
    said = json.loads(call(dump, "--json").stdout)
    assert (said["format"], said["library"], said["preset"], said["step"]) == ("npz", "verl", "verl", 120)
    assert (said["responses"], said["slots"], said["words"]) == (3, 6, 14)
    assert said["tensors"][1] == {
        "name": "old_log_probs",
        "neutral": "logprobs_old",
        "shape": [3, 6],
        "dtype": "float32",
    }
    assert said["unknown"] == {"value": "values", "quux": None}
    assert said["recomputable"]["rewards"] is True
    assert said["recomputable"]["value loss"] is False
    assert said["hyperparameters"] == {"ppo.gamma": 1.0, "loss.dual_clip": "off"}
    assert said["logged"] == {"policy_loss": 0.25}
    assert said["not_understood"] == ["lr", "perf/mfu", "colour"]
    assert said["refusal"] == ""


def test_rewards_need_no_reference_where_no_kl_is_paid(tmp_path: Path) -> None:
    path = raw_npz(
        tmp_path, {name: batch()[name] for name in ("response_mask", "logprobs_old", "scores")}, '{"library": "verl"}'
    )
    assert json.loads(call(path, "--json").stdout)["recomputable"]["rewards"] is True
    path = raw_npz(tmp_path, {name: batch()[name] for name in ("response_mask", "logprobs_old", "scores")})
    assert json.loads(call(path, "--json").stdout)["recomputable"]["rewards"] is False


def test_what_cannot_be_replayed_is_still_told_and_the_exit_code_is_3(tmp_path: Path) -> None:
    tensors = batch()
    tensors["advantages"][0, 0] = np.nan
    path = raw_npz(tmp_path, tensors)
    result = call(path)
    assert result.exit_code == 3
    assert "advantages     advantages     [3, 6]  float32  advantage of each token" in result.stdout
    assert result.stderr == (
        f"Error: {path}: advantages: NaN or infinity in 1 of its places inside the mask, the first is nan in row 0, column 0; "
        "find out where it comes from first.\n"
    )
    said = json.loads(call(path, "--json").stdout)
    assert said["refusal"].startswith("advantages: NaN")
    assert said["responses"] is None


def test_a_file_without_old_log_probs_names_what_it_has(tmp_path: Path) -> None:
    result = call(str(raw_npz(tmp_path, {"logprob_olds": np.zeros((2, 2)), "values": np.zeros((2, 2))})))
    assert result.exit_code == 3
    assert "not recognised: logprob_olds (did you mean logprobs_old?)" in result.stdout
    assert "logprobs_old is missing (log-prob of each token before the update); the file has values" in result.stderr


def test_unreadable_files_end_with_3_and_wrong_use_with_2(tmp_path: Path) -> None:
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04.")
    for path in (tmp_path / "none.npz", tmp_path / "a.pkl"):
        result = call(path)
        assert (result.exit_code, result.stdout) == (3, "")
        assert result.stderr.startswith(f"Error: {path}: ")
    assert call().exit_code == 2
    assert call("a", "b").exit_code == 2


def a_run(folder: Path, steps: int) -> Path:
    """Returns a folder with a dump of each step."""
    folder.mkdir()
    for step in range(1, steps + 1):
        save(folder / f"step_{step}.npz", batch(), {"library": "verl", "step": step})
    return folder


def test_of_a_folder_each_dump_has_a_short_report(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", 2)
    (folder / "notes.txt").write_text("no dump")
    np.savez(folder / "model.npz", embed=np.ones((3, 2)))
    (folder / "blueprint-verify.jsonl").write_text('{"ledger": "blueprint verify", "schema": 1}\n')
    said = call(folder)
    assert said.exit_code == 0, said.output
    assert said.stdout.splitlines() == [
        line
        for step in (1, 2)
        for line in (
            f"{folder / f'step_{step}.npz'}: npz, 3 responses of up to 6 positions, 14 tokens inside the mask",
            f"  library verl, step {step}; preset verl",
        )
    ]
    told = json.loads(call(folder, "--json").stdout)
    assert [each["step"] for each in told["files"]] == [1, 2]
    assert (told["folder"], told["more"]) == (str(folder), 0)


def test_of_a_large_folder_the_first_dumps_are_opened_and_the_others_counted(tmp_path: Path) -> None:
    lines = call(a_run(tmp_path / "run", 14)).stdout.splitlines()
    assert [line.split(": ")[0].rsplit("_", 1)[1] for line in lines[:-1:2]] == [f"{step}.npz" for step in range(1, 13)]
    assert lines[-1] == "… and 2 more files: name one to see what it holds"


def test_of_a_folder_what_cannot_be_replayed_is_named_and_the_exit_code_is_3(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", 1)
    (folder / "step_2.npz").write_bytes(b"")
    save(folder / "step_3.npz", batch() | {"values_old": np.full((3, 6), np.nan)}, {"library": "verl"})
    said = call(folder)
    assert said.exit_code == 3
    assert f"{folder / 'step_2.npz'}: the file is empty." in said.stdout
    assert "  cannot be replayed: values_old: NaN or infinity" in said.stdout
    assert said.stderr == f"Error: {folder}: 2 of 3 files cannot be replayed\n"


def test_a_folder_without_a_dump_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("no dump")
    said = call(tmp_path)
    assert (said.exit_code, said.stdout) == (3, "")
    assert said.stderr == (
        f"Error: {tmp_path} holds no dump of a training step: docs/dump-hooks.md tells how to write them\n"
    )


def test_one_response_is_no_responses(tmp_path: Path) -> None:
    one = {name: batch()[name][:1] for name in ("response_mask", "logprobs_old", "scores")}
    said = call(raw_npz(tmp_path, {**one, "response_mask": np.eye(1, 6)}, json.dumps(METADATA))).stdout
    assert "npz, 1 response of up to 6 positions, 1 token inside the mask" in said


def test_help_names_the_formats_and_needs_no_heavy_module() -> None:
    assert "Formats: safetensors, npz, jsonl, parquet, and .pt of plain tensors." in call("--help").stdout
    code = "import sys, blueprint.dumps, blueprint.commands.inspect; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "safetensors", "pyarrow", "openpyxl", "xlsxwriter"} & set(loaded)


REAL = Path(__file__).parent / "data" / "real"
RUNS = sorted(run for folder in REAL.iterdir() if folder.is_dir() for run in folder.iterdir() if run.is_dir())
SAID = {
    "trl_grpo/dapo": (
        "2 responses of up to 10 positions, 17 tokens inside the mask; a step of GRPO: 2 responses to 1 prompt, 2 to each; ",
        "groups by row_index, 4 side by side",
        "  per_token_logps      logprobs_new      [2, 10]  float32  its log-prob under the policy that is updated",
        "  KL to the reference           no, lacks logprobs_ref",
        "  loss.clip_high    0.28",
    ),
    "trl_rloo/kl": ("a step of GRPO: 2 responses to 1 prompt", "  KL to the reference           yes", "  kl.coef           0.05"),
    "trl_dpo/sigmoid": (
        "safetensors, a step of DPO: 4 pairs of a chosen and a rejected response",
        "  chosen_logps         chosen.logp        [4]      float32  log-prob of the chosen response, or of each of its tokens",
        "  those of the reference      yes",
        "  loss.form          sigmoid",
    ),
    "trl_dpo/precomputed": ("a step of DPO: 4 pairs", "  loss                        yes"),
    "trl_reward/plain": (
        "a step of a reward model: 4 pairs", "  the place where the score is read  yes", "  margin, accuracy, loss             yes",
        "  center       0",
    ),
    "sb3/free": ("a rollout of classic PPO: 3 environments, 16 steps each", "  value loss                  yes"),
    "verl_grpo/grpo": (
        "groups as the file says", "known, not needed: returns, token_level_rewards",
        "  mean entropy                  no, lacks entropy",
    ),
}  # fmt: skip


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.parent.name}-{run.name}")
def test_a_file_of_every_hook_is_explained(run: Path) -> None:
    path = sorted(run.iterdir())[0]
    found = call(path)
    assert found.exit_code == 0, found.output
    for line in SAID.get(f"{run.parent.name}/{run.name}", ()):
        assert line in found.stdout
    told = json.loads(call(path, "--json").stdout)
    assert (told["refusal"], told["unknown"]) == ("", {})
    assert told["preset"]
    assert told["tensors"]
    assert any(told["recomputable"].values())


def test_what_cannot_be_replayed_is_told_with_what_the_file_has(tmp_path: Path) -> None:
    ones = np.ones((2, 3), np.float32)
    tensors = {"per_token_logps": -np.inf * ones, "completion_mask": ones, "entropees": ones}
    save(tmp_path / "a.npz", tensors, {"library": "trl", "algorithm": "grpo"})
    found = call(tmp_path / "a.npz")
    assert found.exit_code == 3
    assert (
        "  per_token_logps  logprobs_new   [2, 3]  float32  its log-prob under the policy that is updated"
        in found.stdout
    )
    assert "not recognised: entropees (did you mean entropies?)" in found.stdout
    assert found.stderr.startswith(f"Error: {tmp_path / 'a.npz'}: ")
    assert found.stderr.count("a.npz") == 1


DROPPED = {
    "cleanrl": "", "sb3": "", "trl_0_11": "", "trl_1_12": "", "verl_0_9": "loss_mode rollout_is",
    "openrlhf_0_11": "actor.policy_loss_type algo.advantage.is_correction_level",
    "openrlhf_grpo": "algo.advantage.estimator algo.advantage.gamma algo.advantage.is_correction_gating "
    "algo.advantage.is_correction_level algo.advantage.is_correction_mode algo.advantage.is_correction_threshold "
    "algo.advantage.lambd algo.advantage.no_std_norm critic.value_clip n_samples_per_prompt",
    "trl_dpo": "f_divergence_type label_smoothing ld_alpha loss_type loss_weights use_weighting",
    "trl_grpo": "delta max_completion_length multi_objective_aggregation num_generations off_policy_mask_threshold reward_weights "
    "temperature top_entropy_quantile vllm_importance_sampling_correction",
    "trl_reward": "center_rewards_coefficient pad_token_id",
    "trl_kto": "", "trl_sft": "completion_only_loss label_smoothing_factor",
    "trl_rloo": "max_completion_length num_generations reward_clip_range reward_weights temperature",
    "verl_grpo": "adv_estimator kl_coef kl_penalty lam use_kl_in_reward",
}  # fmt: skip
"""By folder of files of a hook, the settings that it writes and no setting has come of in some file: they are read otherwise."""


def test_settings_that_a_hook_writes_and_a_reader_drops_are_listed() -> None:
    found: dict[str, set[str]] = {}
    for run in RUNS:
        dropped = inspect(sorted(run.iterdir())[0]).dropped
        found.setdefault(run.parent.name, set()).update(each.partition(" = ")[0] for each in dropped)
    assert found == {name: set(said.split()) for name, said in DROPPED.items()}


def test_steps_that_frameworks_write_themselves_are_explained(tmp_path: Path) -> None:
    """slime, miles and Relax, of which the last writes a folder."""
    (tmp_path / "miles").mkdir()
    paths = [
        slime_training(tmp_path / "7.pt"), miles_training(tmp_path / "miles")[0], rolled_out(tmp_path / "8.pt"),
        relax_bundle(tmp_path / "replay", of_training=False),
    ]  # fmt: skip
    for path in paths:
        found = call(path)
        assert found.exit_code == 0, found.output
        assert "a step of GRPO" in found.stdout
        assert "can be recomputed:" in found.stdout
