"""The hooks for verl, run beside a stand-in of its DataProto and among the variables of its loss."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.hooks.running import MASK, PROMPT, ROWS, SLOTS, noise, run, same

ACTOR = {
    "clip_ratio": 0.2, "clip_ratio_low": 0.2, "clip_ratio_high": 0.28, "clip_ratio_c": 3.0, "use_kl_loss": False,
    "kl_loss_coef": 0.001, "kl_loss_type": "low_var_kl", "entropy_coeff": 0, "loss_agg_mode": "token-mean",
}  # fmt: skip


@dataclass
class DataProto:
    """What verl/protocol.py, 0.9.1, has of a batch: tensors by name, and what is said about them."""

    batch: dict[str, Tensor]
    meta_info: dict[str, Any]


CONFIG = SimpleNamespace(
    algorithm={
        "gamma": 1.0, "lam": 0.95, "use_kl_in_reward": False, "kl_penalty": "kl", "kl_ctrl": {"kl_coef": 0.001},
    },
    actor_rollout_ref=SimpleNamespace(actor=ACTOR),
    critic={"cliprange_value": 0.5},
)  # fmt: skip


def test_verl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """verl/trainer/ppo/ray_trainer.py, fit(), 0.9.1: prompts padded left, responses right; scores and rewards one tensor."""
    words = torch.randint(1, 90, (ROWS, PROMPT + SLOTS))
    scores = noise(ROWS, SLOTS) * MASK
    old = -noise(ROWS, SLOTS).exp()
    tensors = {
        "prompts": words[:, :PROMPT], "responses": words[:, PROMPT:], "input_ids": words, "response_mask": MASK.long(),
        "old_log_probs": old, "token_level_scores": scores, "token_level_rewards": scores,
    }  # fmt: skip
    tensors |= {name: noise(ROWS, SLOTS) for name in ("values", "advantages", "returns")}
    metrics = {"actor/pg_loss": 0.5, "actor/entropy": np.float64(2.0), "critic/vf_loss": 0.25, "perf/time": 3}
    found = run(
        "verl", tmp_path, monkeypatch, "0.9.1",
        batch=DataProto(tensors, {"temperature": 1.0}), metrics=metrics, self=SimpleNamespace(config=CONFIG, global_steps=12),
    )  # fmt: skip
    same(
        found,
        logprobs_old=old,
        scores=scores,
        rewards=scores,
        values_old=tensors["values"],
        response_ids=words[:, PROMPT:],
    )
    same(found, advantages=tensors["advantages"], returns=tensors["returns"])
    assert np.array_equal(found.tensors["prompt_ids"], words[:, :PROMPT].numpy())
    assert np.array_equal(found.mask, MASK.numpy())
    assert (found.preset, found.step) == ("verl", 12)
    assert found.logged == {"policy_loss": 0.5, "entropy": 2.0, "value_loss": 0.25}
    assert found.hyperparameters == {
        "ppo.gamma": 1.0, "ppo.gae_lambda": 0.95, "ppo.kl_estimator": "k1", "ppo.kl_coef": 0.001, "ppo.clip_range": 0.2,
        "loss.clip_range_high": 0.28, "loss.dual_clip": 3.0, "ppo.ent_coef": 0.0, "loss.aggregation": "token-mean",
        "ppo.value_clip_range": 0.5, "batch.temperature": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("with_entropy", [True, False])
def test_verl_on_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_entropy: bool) -> None:
    """verl/workers/utils/losses.py, ppo_loss(), 0.9.1: everything padded to the longest response."""
    old, new = -noise(ROWS, SLOTS).exp(), (-noise(ROWS, SLOTS).exp()).requires_grad_()
    entropy = noise(ROWS, SLOTS).exp() if with_entropy else None
    advantages = noise(ROWS, SLOTS)
    found = run(
        "verl, on a worker", tmp_path, monkeypatch, "0.9.1",
        response_mask=MASK, old_log_prob=old, log_prob=new, advantages=advantages, entropy=entropy, config=SimpleNamespace(**ACTOR),
        policy_loss=new.sum() * 0 + 0.5, pg_loss=new.sum() * 0 + 0.25,
    )  # fmt: skip
    same(found, logprobs_old=old, logprobs_new=new.detach(), advantages=advantages)
    assert ("entropy" in found.tensors) == with_entropy
    assert found.logged == {"total_loss": 0.5, "policy_loss": 0.25}
