"""Log-probs above 0, as an exercise draws them with `randn`, are refused, and accepted with a note where somebody asks for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from blueprint.dumps import MinibatchError, inspect, read_dump
from blueprint.verifying import VerifyOptions, verify_step
from tests.commands import run_command


def exercise(path: Path) -> Path:
    """Writes what an exercise on GRPO's loss has: log-probs and advantages from randn, and the loss that is expected."""
    draw = torch.Generator().manual_seed(0)
    old, new = (torch.randn(4, 6, generator=draw, dtype=torch.float64) for _ in range(2))
    advantages, mask = torch.randn(4, generator=draw, dtype=torch.float64), torch.ones(4, 6)
    ratio = torch.exp(new - old)
    surrogate = torch.minimum(ratio * advantages[:, None], ratio.clamp(0.8, 1.2) * advantages[:, None])
    tensors = {"old_per_token_logps": old, "per_token_logps": new, "completion_mask": mask, "advantages": advantages}
    said = {
        "library": "trl",
        "version": "1.16.0",
        "algorithm": "grpo",
        "hyperparameters": {"loss_type": "grpo", "beta": 0.0},
    }
    torch.save(tensors | {"metadata": said | {"logged": {"loss": float(-surrogate.mean())}}}, path)
    return path


def test_they_are_refused_and_the_switch_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        MinibatchError, match=r"log-probs above 0 in 1\d of its places .*; --above-zero accepts made-up ones\.$"
    ):
        read_dump(exercise(tmp_path / "grpo.pt"))
    assert inspect(tmp_path / "grpo.pt").refusal


def test_with_the_switch_the_loss_is_computed_and_it_is_said(tmp_path: Path) -> None:
    found = verify_step([exercise(tmp_path / "grpo.pt")], VerifyOptions(above_zero=True))
    assert [line.name for line in found.lines] == ["total_loss"]
    assert found.agrees
    notes = [note for note in found.parts[0].verdict.notes if "accepted as asked" in note]
    assert [note.split(":")[0] for note in notes] == [
        "logprobs_old (old_per_token_logps)", "logprobs_new (per_token_logps)"
    ]  # fmt: skip
    assert all(note.endswith("no model gave them") for note in notes)


def test_commands_have_the_switch(tmp_path: Path) -> None:
    path = exercise(tmp_path / "grpo.pt")
    assert run_command("verify", path).exit_code == 3
    found = run_command("verify", path, "--above-zero")
    assert (found.exit_code, "are accepted as asked" in found.output) == (0, True), found.output
    assert run_command("inspect", path, "--above-zero").exit_code == 0


def test_pairs_have_it_too(tmp_path: Path) -> None:
    draw = torch.Generator().manual_seed(1)
    names = ("chosen_logps", "rejected_logps", "ref_chosen_logps", "ref_rejected_logps")
    tensors = {name: torch.randn(8, generator=draw, dtype=torch.float64) for name in names}
    logits = (tensors["chosen_logps"] - tensors["rejected_logps"]) - (
        tensors["ref_chosen_logps"] - tensors["ref_rejected_logps"]
    )
    loss = float(-torch.nn.functional.logsigmoid(0.1 * logits).mean())
    said = {
        "library": "trl",
        "version": "1.16.0",
        "algorithm": "dpo",
        "hyperparameters": {"beta": 0.1},
        "logged": {"loss": loss},
    }
    path = tmp_path / "dpo.pt"
    torch.save(tensors | {"metadata": said}, path)
    with pytest.raises(MinibatchError, match="expected a log-prob, at most 0"):
        read_dump(path)
    found = verify_step([path], VerifyOptions(above_zero=True))
    assert found.agrees
    assert found.compared
    assert sum("accepted as asked" in note for note in found.parts[0].verdict.notes) == 4


def test_what_is_no_number_is_refused_all_the_same(tmp_path: Path) -> None:
    path = exercise(tmp_path / "grpo.pt")
    tensors = torch.load(path, weights_only=True)
    tensors["per_token_logps"][1, 2] = np.nan
    torch.save(tensors, path)
    with pytest.raises(MinibatchError, match="NaN or infinity in 1 of its places"):
        read_dump(path, above_zero=True)


def test_settings_that_a_reader_drops_are_listed() -> None:
    real = Path(__file__).parents[1] / "data" / "real"
    grpo = inspect(real / "trl_grpo" / "functions" / "grpo_000000_0_0_0_0.safetensors")
    assert {"temperature = 0.9", "num_generations = 4", "reward_weights = [1.0, 0.5]"} <= set(grpo.dropped)
    assert not any(each.startswith(("beta", "epsilon", "loss_type", "scale_rewards")) for each in grpo.dropped)
    verl = inspect(next((real / "verl_0_9").rglob("*verl-ppo_000000_0_0_0_0.safetensors")))
    assert set(verl.dropped) == {"rollout_is = False", "loss_mode = vanilla"}
    assert {each.neutral: each.meaning for each in verl.tensors}["entropy"] == "entropy of the policy at each token"
