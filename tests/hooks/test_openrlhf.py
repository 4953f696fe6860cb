"""The hook for OpenRLHF, run beside a stand-in of its Experience."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
import torch
from torch import Tensor

from blueprint.dumps import Place, Share
from blueprint.inputs.catalogue import OFF
from tests.hooks.running import LENGTHS, MASK, ROWS, SLOTS, noise, run, same


@dataclass
class Experience:
    """Fields of openrlhf/trainer/ppo_utils/experience.py, 0.11.2; per-token ones have a column less than the sequences."""

    sequences: Tensor
    attention_mask: Tensor
    action_mask: Tensor
    action_log_probs: Tensor
    base_action_log_probs: Tensor | None
    rollout_log_probs: Tensor | None
    values: Tensor
    returns: Tensor
    advantages: Tensor
    rewards: Tensor
    scores: Tensor
    truncated: Tensor
    info: dict[str, Any] = field(default_factory=dict)


def shifted(tensor: Tensor, starts: list[int]) -> Tensor:
    """Lays rows of words out over sequences as OpenRLHF does: response word t of a row stands in column start + t − 1."""
    wide = torch.zeros(ROWS, max(starts) + SLOTS - 1, dtype=tensor.dtype)
    for row, (start, count) in enumerate(zip(starts, LENGTHS, strict=True)):
        wide[row, start - 1 : start - 1 + count] = tensor[row, :count]
    return wide


def experienced(starts: list[int], rows: dict[str, Tensor], old: Tensor, base: Tensor | None) -> Experience:
    """Makes an experience whose responses start in these columns, from tensors of responses, [B, T]."""
    width = max(starts) + SLOTS
    ends = torch.tensor(starts)[:, None] + torch.tensor(LENGTHS)[:, None]
    return Experience(
        sequences=torch.arange(ROWS * width).reshape(ROWS, width),
        attention_mask=(torch.arange(width) < ends).long(),
        action_mask=shifted(MASK.long(), starts),
        action_log_probs=shifted(old, starts).bfloat16(),
        base_action_log_probs=None if base is None else shifted(base, starts),
        rollout_log_probs=None,
        rewards=noise(ROWS),
        scores=torch.zeros(ROWS),
        truncated=torch.tensor([False, True, False, False]),
        values=shifted(rows["values"], starts),
        returns=shifted(rows["returns"], starts),
        advantages=shifted(rows["advantages"], starts),
    )


ACTOR = {"loss_agg_mode": "token-mean", "policy_loss_type": "ppo"}


def arguments(use_loss: bool) -> SimpleNamespace:
    """Makes the settings of a run."""
    kl = SimpleNamespace(estimator="k1", use_loss=use_loss)
    return SimpleNamespace(
        actor=SimpleNamespace(eps_clip_low_high=(0.2, 0.28), dual_clip=None, entropy_coef=None, **ACTOR),
        critic=SimpleNamespace(value_clip=0.5),
        algo=SimpleNamespace(advantage=SimpleNamespace(gamma=1.0, lambd=0.9, is_correction_level="off"), kl=kl),
        train=SimpleNamespace(dynamic_batch_enable=False),
        reward=SimpleNamespace(clip_range=(-10, 10)),
    )


SETTINGS = {
    "ppo.gamma": 1.0, "ppo.gae_lambda": 0.9, "ppo.clip_range": 0.2, "loss.clip_range_high": 0.28, "loss.dual_clip": OFF,
    "ppo.ent_coef": 0.0, "ppo.value_clip_range": 0.5, "ppo.kl_estimator": "k1", "ppo.kl_coef": 0.02,
    "reward.score_clip": 10.0, "loss.aggregation": "token-mean",
}  # fmt: skip
"""What a file must say of them, but for where the KL is paid."""


@pytest.mark.parametrize("use_loss", [True, False])
def test_openrlhf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use_loss: bool) -> None:
    """openrlhf/trainer/ray/ppo_actor.py, training_step(), 0.11.2: log-probs are multiplied by the mask."""
    starts = [1, 3, 2, 3]
    rows = {name: noise(ROWS, SLOTS) for name in ("values", "returns", "advantages")}
    old, new, base = (-noise(ROWS, SLOTS).exp() for _ in range(3))
    experience = experienced(starts, rows, old, base if use_loss else None)
    distributed = SimpleNamespace(distributed=SimpleNamespace(get_rank=lambda: 1, get_world_size=lambda: 2))
    trainer = SimpleNamespace(
        args=arguments(use_loss), aux_loss=False, max_epochs=2, epochs_begun=5,
        strategy=SimpleNamespace(accumulated_gradient=2),
        replay_buffer=MagicMock(sample_batch_size=ROWS, __len__=lambda _: 6 * ROWS),
    )  # fmt: skip
    found = run(
        "OpenRLHF", tmp_path, monkeypatch, "0.11.2",
        experience=experience, old_action_log_probs=experience.action_log_probs, action_log_probs=shifted(new, starts),
        self=trainer, kl_ctl=0.02, step=3, torch=distributed, loss=torch.tensor(0.75), kl_loss=torch.tensor(2.0),
        loss_batch_info={"dp_size": 2, "batch_num_tokens": torch.tensor(20.5), "global_batch_size": torch.tensor(8.0)},
        actor_loss=torch.tensor(0.5), clip_ratio=torch.tensor(0.25), ppo_kl=torch.tensor(0.125),
    )  # fmt: skip
    same(found, logprobs_old=old.bfloat16().float(), logprobs_new=new, scores=experience.rewards)
    same(found, values_old=rows["values"])
    same(found, returns=rows["returns"], advantages=rows["advantages"], **({"logprobs_ref": base} if use_loss else {}))
    assert found.first.tolist() == [start - 1 for start in starts]
    assert np.array_equal(found.mask.sum(axis=1), LENGTHS)
    for row, (start, count) in enumerate(zip(starts, LENGTHS, strict=True)):
        words = experience.sequences[row]
        assert found.tensors["response_ids"][row, :count].tolist() == words[start : start + count].tolist()
        assert found.tensors["prompt_ids"][row, -start:].tolist() == words[:start].tolist()
    assert found.tensors["ended"].tolist() == [True, False, True, True]
    assert (found.preset, found.dtypes["logprobs_old"]) == ("openrlhf", "bfloat16")
    in_loss = {"reward.kl_in": "loss", "loss.kl_coef": SETTINGS["ppo.kl_coef"], "loss.kl_estimator": "k1"}
    assert found.hyperparameters == SETTINGS | (in_loss if use_loss else {"reward.kl_in": "reward"})
    logged = {"policy_loss": 0.5, "clip_fraction.used": 0.25, "approx_kl.used": 0.125, "total_loss": 0.75}
    assert found.logged == logged | ({"kl_loss": 2.0} if use_loss else {})
    assert found.share == Share(tokens=20.5, responses=8.0, ranks=2.0)
    assert (found.step, found.place) == (2, Place(1, 2, 1, 2, 1, 3, 1, 2, 4))
