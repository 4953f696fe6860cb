"""`blueprint inspect` of dumps of every kind for which docs/dump-hooks.md has a hook."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from blueprint.cli import main
from blueprint.dumps import save

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


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)])


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
