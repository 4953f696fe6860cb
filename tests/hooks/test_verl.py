"""The hook for verl's whole batch, beside stand-ins of its trainers; those on the workers are run in verl, tests/data/real."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from blueprint.dumps import read_minibatch
from tests.hooks.page import HOOKS
from tests.hooks.running import MASK, PROMPT, ROWS, SLOTS, noise, same


class Config(dict[str, Any]):
    """verl's algorithm configuration: read with get, and by attribute."""

    kl_ctrl = SimpleNamespace(kl_coef=0.001)


CONFIG = Config(gamma=1.0, lam=0.95, use_kl_in_reward=False, kl_penalty="kl")


def compute_advantage(data: Any, adv_estimator: str, gamma: float = 1.0, config: Any = None) -> Any:
    """Stands for verl/trainer/ppo/ray_trainer.py, compute_advantage(), 0.9.1: adds two tensors."""
    data.batch |= {name: noise(ROWS, SLOTS) for name in ("advantages", "returns")}
    return data


def hooked(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Any:
    """Returns the function after the hook was pasted behind it."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("importlib.metadata.version", lambda library: "0.9.1")
    space: dict[str, Any] = {"compute_advantage": compute_advantage, "torch": torch}
    exec(HOOKS["verl"].code, space)
    return space["compute_advantage"]


def test_verl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old trainer has prompts and responses in its batch; scores and rewards are one tensor where no KL is paid."""
    words = torch.randint(1, 90, (ROWS, PROMPT + SLOTS))
    scores = noise(ROWS, SLOTS) * MASK
    tensors: dict[str, Tensor] = {
        "prompts": words[:, :PROMPT], "responses": words[:, PROMPT:], "input_ids": words, "response_mask": MASK.long(),
        "old_log_probs": -noise(ROWS, SLOTS).exp(), "token_level_scores": scores, "token_level_rewards": scores,
        "values": noise(ROWS, SLOTS),
    }  # fmt: skip
    advantage_of = hooked(monkeypatch, tmp_path)
    data = advantage_of(SimpleNamespace(batch=dict(tensors)), adv_estimator="gae", gamma=1.0, config=CONFIG)
    advantage_of(SimpleNamespace(batch=dict(tensors)), "gae", config=CONFIG)
    paths = sorted(tmp_path.iterdir())
    assert [path.name for path in paths] == ["verl-batch_000000.safetensors", "verl-batch_000001.safetensors"]
    assert [read_minibatch(path).step for path in paths] == [0, 1]
    found = read_minibatch(paths[0])
    same(found, logprobs_old=tensors["old_log_probs"], scores=scores, rewards=scores, values_old=tensors["values"])
    same(found, response_ids=words[:, PROMPT:], **{name: data.batch[name] for name in ("advantages", "returns")})
    assert np.array_equal(found.tensors["prompt_ids"], words[:, :PROMPT].numpy())
    assert np.array_equal(found.mask, MASK.numpy())
    assert (found.preset, found.version) == ("verl", "0.9.1")
    assert found.hyperparameters == {
        "ppo.gamma": 1.0, "ppo.gae_lambda": 0.95, "ppo.kl_estimator": "k1", "ppo.kl_coef": 0.001,
    }  # fmt: skip


def test_the_new_trainer_hands_over_no_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """verl/trainer/ppo/v1/trainer_base.py, _compute_advantage(): the fields that it fetches, and no others."""
    names = ("response_mask", "rm_scores", "old_log_probs", "values", "token_level_scores", "token_level_rewards")
    tensors = {name: MASK.long() if name == "response_mask" else noise(ROWS, SLOTS) * MASK for name in names}
    tensors["old_log_probs"] = -tensors["old_log_probs"].abs()
    hooked(monkeypatch, tmp_path)(SimpleNamespace(batch=tensors), adv_estimator="gae", config=CONFIG)
    found = read_minibatch(tmp_path / "verl-batch_000000.safetensors")
    same(found, scores=tensors["token_level_scores"], advantages=tensors["advantages"])


def test_what_is_wrapped_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray finds functions by their names."""
    wrapped = hooked(monkeypatch, tmp_path)
    assert (wrapped.__name__, wrapped.__module__) == (compute_advantage.__name__, compute_advantage.__module__)
    assert inspect.signature(wrapped) == inspect.signature(compute_advantage)
