"""OpenRLHF and verl without a critic: what their own code was recorded to compute agrees with what is read of their settings."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from blueprint.dumps import inspect, read_dump, save
from blueprint.verifying import choose, verify_one, verify_step
from tests.workbooks.grpo.recorded import Run, batch, runs

REAL = Path(__file__).parents[1] / "data" / "real"
ELSEWHERE = ("overlong", "stop_properly", "flash_reinforce")
"""Rewards that are changed before they are stored; and a rollout of one response to each prompt."""
OPENRLHF = [each for each in runs() if each.library.startswith("openrlhf") and not each.variant.startswith(ELSEWHERE)]


def said_by(run: Run) -> dict[str, Any]:
    """Returns what both hooks of OpenRLHF write of a recorded run's settings."""
    of = run.config
    corrected = {name: of[name] for name in of if name.startswith("is_correction")}
    return {
        "actor": {
            "eps_clip_low_high": [of["clip_eps_low"], of["clip_eps_high"]], "dual_clip": of["dual_clip"],
            "entropy_coef": of["entropy_coef"], "loss_agg_mode": of["agg"], "policy_loss_type": of["policy_loss_type"],
        },
        "critic": {"value_clip": 0.5},
        "algo": {
            "advantage": {"estimator": of["advantage_estimator"], "gamma": of["gamma"], "lambd": 0.95,
                          "no_std_norm": of["no_std_norm"], **corrected},
            "kl": {"estimator": of["kl_estimator"], "use_loss": of["kl_use_loss"]},
        },
        "kl_ctl": of["kl_init_coef"], "reward": {"clip_range": of["reward_clip_range"]}, "n_samples_per_prompt": 4,
    }  # fmt: skip


def written(run: Run, path: Path) -> Path:
    """Writes what OpenRLHF computed of the recorded batch, of one update, as its hooks do."""
    of, first = batch(), run.config["old_log_prob"] == "new"
    tensors = {
        "response_mask": of.mask.astype(bool), "logprobs_new": of.logprobs("new"), "entropy": of.entropy,
        "logprobs_old": of.logprobs("new" if first else "old"), "rollout_log_probs": of.logprobs("rollout"),
        "advantages": np.asarray(run.out["advantages"]) * of.mask, "scores": of.rewards, "row_index": np.arange(12),
    }  # fmt: skip
    if run.config["kl_init_coef"]:
        tensors["base_action_log_probs"] = of.logprobs("ref")
    logged = {"policy_loss": run.out["pg_loss"], "total_loss": run.out["loss"]}
    metadata = {"library": "openrlhf", "hyperparameters": said_by(run), "logged": logged}
    save(path, tensors, metadata)
    return path


@pytest.mark.parametrize("run", OPENRLHF, ids=lambda run: run.variant)
def test_what_openrlhf_computed_agrees_with_its_own_settings(run: Run, tmp_path: Path) -> None:
    dump = read_dump(written(run, tmp_path / "step.npz"))
    assert (dump.kind, dump.preset) == ("grpo", "openrlhf")
    lines = {each.compared.name: each for each in verify_one(dump).verdict.lines}
    lines.pop("logprobs_rollout")  # the batch's engine is another policy
    assert lines.keys() == {"advantages", "policy_loss", "total_loss"}
    assert all(each.compared.agrees for each in lines.values())


def test_an_estimator_that_is_not_the_one_said_is_found(tmp_path: Path) -> None:
    run = next(each for each in OPENRLHF if each.variant == "rloo_no_kl")
    other = run._replace(config={**run.config, "advantage_estimator": "dr_grpo"})
    dump = read_dump(written(other, tmp_path / "step.npz"))
    tensors = {name: each for name, each in dump.tensors.items() if name != "logprobs_rollout"}
    verdict = verify_one(replace(dump, tensors=tensors)).verdict
    assert verdict.first is not None
    assert verdict.first.compared.name == "advantages"
    assert verdict.causes[0].said == "group.baseline = others"


def test_a_step_of_openrlhf_with_a_critic_stays_one_of_ppo(tmp_path: Path) -> None:
    run = next(each for each in OPENRLHF if each.variant == "group_norm_no_kl")
    gae = run._replace(config={**run.config, "advantage_estimator": "gae"})
    assert read_dump(written(gae, tmp_path / "step.npz")).kind == "rlhf_ppo"


def test_inspect_says_what_of_openrlhf_settings_has_no_effect(tmp_path: Path) -> None:
    run = next(each for each in OPENRLHF if each.variant == "group_norm_no_kl")
    found = inspect(written(run, tmp_path / "step.npz"))
    assert "critic.value_clip = 0.5" in found.dropped
    assert {"kl.place": "none", "gamma": 1.0}.items() <= dict(found.mentioned.settings).items()


@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum-norm"])
def test_a_worker_of_verl_that_names_its_estimator_writes_a_step_of_grpo(mode: str, tmp_path: Path) -> None:
    """The files of verl's own run, with the word that the page says to add for GRPO."""
    for path in sorted((REAL / "verl_0_9" / f"{mode}-verl-ppo").glob("*.safetensors")):
        with safe_open(path, "np") as file:
            tensors, metadata = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
        save_file(tensors, tmp_path / path.name, metadata | {"algorithm": "grpo"})
    found = verify_step(sorted(tmp_path.iterdir()))
    assert {part.chosen.preset.name for part in found.parts} == {"verl_grpo"}
    assert {"policy_loss", "kl_loss", "entropy", "total_loss", "clip.fraction"} <= {each.name for each in found.lines}
    assert {each.line.says for each in found.lines} <= {"agrees", "too coarse"}
    assert found.agrees
    shutil.rmtree(tmp_path)


def test_settings_of_a_worker_are_those_of_its_estimator(tmp_path: Path) -> None:
    path = next((REAL / "verl_0_9" / "token-mean-verl-ppo").glob("*.safetensors"))
    with safe_open(path, "np") as file:
        tensors, metadata = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
    save_file(tensors, tmp_path / "a.safetensors", metadata | {"algorithm": "grpo"})
    values = choose(read_dump(tmp_path / "a.safetensors")).values
    assert (values["kl.place"], values["group.std"]) == ("loss", "group")
