"""Long responses, computed in float32 and bfloat16 by loops as libraries do, verify within what is allowed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.dumps import Minibatch
from blueprint.verifying import Verdict
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.verifying.dumps import as_dtype

KL_COEF, CLIP = 0.05, 0.2


@dataclass(frozen=True)
class Step:
    """Made-up numbers of words [B, T] in the dtype that a library would compute with, scores [B]."""

    mask: Tensor
    old: Tensor
    reference: Tensor
    new: Tensor
    values: Tensor
    new_values: Tensor
    scores: Tensor


def made(shape: tuple[int, int], dtype: torch.dtype) -> Step:
    """Returns a step; the new policy is near the old one, so that some ratios lie near the clip."""
    drawn = torch.Generator().manual_seed(0)
    normal = [torch.randn(shape, generator=drawn) for _ in range(5)]
    old = -4 * torch.rand(shape, generator=drawn)
    lengths = torch.randint(1, shape[1] + 1, (shape[0], 1), generator=drawn)
    rows = {
        "old": old,
        "reference": old + 0.1 * normal[0],
        "new": old + 0.05 * normal[1],
        "values": 0.5 * normal[2],
        "new_values": 0.5 * normal[2] + 0.1 * normal[3],
        "scores": 2 * torch.randn(shape[0], generator=drawn),
    }
    return Step(torch.arange(shape[1]) < lengths, **{name: each.to(dtype) for name, each in rows.items()})


def rewards_of(step: Step) -> Tensor:
    """Returns −β·k1, and the score on the last word."""
    rewards = -KL_COEF * (step.old - step.reference) * step.mask
    rewards[torch.arange(len(rewards)), step.mask.sum(dim=1) - 1] += step.scores
    return rewards


def advantages_of(step: Step, rewards: Tensor, gae_lambda: float) -> Tensor:
    """Returns GAE by a loop from the last slot to the first."""
    values, advantages = step.values * step.mask, torch.zeros_like(rewards)
    later, following = torch.zeros_like(rewards[:, 0]), torch.zeros_like(rewards[:, 0])
    for t in reversed(range(rewards.shape[1])):
        later = rewards[:, t] + following - values[:, t] + gae_lambda * later
        following, advantages[:, t] = values[:, t], later
    return advantages


def whitened(advantages: Tensor, mask: Tensor) -> Tensor:
    """Returns (A − μ)/√(σ² + 1e-8), σ² with N − 1."""
    words = mask.sum()
    mean = (advantages * mask).sum() / words
    variance = ((advantages - mean).square() * mask).sum() / (words - 1)
    return (advantages - mean) * torch.rsqrt(variance + 1e-8) * mask


def losses_of(step: Step, advantages: Tensor, returns: Tensor) -> dict[str, float]:
    """Returns the losses and what is watched, as means over the words."""
    apart = (step.new - step.old) * step.mask
    ratio = apart.exp()
    loss, clipped = -advantages * ratio, -advantages * ratio.clamp(1 - CLIP, 1 + CLIP)
    held = step.values + (step.new_values - step.values).clamp(-CLIP, CLIP)
    value = torch.maximum((step.new_values - returns).square(), (held - returns).square())
    rows = {
        "policy_loss": torch.maximum(loss, clipped),
        "value_loss": 0.5 * value,
        "approx_kl.used": 0.5 * apart.square(),
        "clip_fraction.used": (clipped > loss).to(loss.dtype),
    }
    return {name: float((row * step.mask).float().sum() / step.mask.sum()) for name, row in rows.items()}


def dump(step: Step, gae_lambda: float, dtype: str) -> Minibatch:
    """Returns what such a library would have written, rounded to a dtype."""
    rewards = rewards_of(step)
    raw = advantages_of(step, rewards, gae_lambda)
    advantages, returns = whitened(raw, step.mask), raw + step.values * step.mask
    rows = {
        "logprobs_old": step.old,
        "logprobs_ref": step.reference,
        "logprobs_new": step.new,
        "values_old": step.values,
        "values_new": step.new_values,
        "scores": step.scores,
        "rewards": rewards,
        "advantages": advantages,
        "returns": returns,
    }
    tensors = {name: as_dtype(row.float().numpy(), dtype) for name, row in rows.items()}
    size, mask = step.mask.shape, step.mask.numpy()
    logged = losses_of(step, advantages, returns)
    dtypes = dict.fromkeys(tensors, dtype)
    slots, first = np.full(size[0], size[1]), np.zeros(size[0], dtype=int)
    return Minibatch("made", {**tensors, "response_mask": mask}, dtypes, {}, slots, first, logged=logged)


def verdict_of(computed: str, written: str, gae_lambda: float) -> Verdict:
    """Verifies a dump of 32 responses of up to 1024 words."""
    batch = dump(made((32, 1024), getattr(torch, computed)), gae_lambda, written)
    settings = {**rlhf().preset("trl_0.11.4").values, "kl_coef": KL_COEF, "gae_lambda": gae_lambda}
    return verify(batch, settings, "trl_0.11.4")


@pytest.mark.parametrize(
    ("computed", "written", "gae_lambda"),
    [
        *(("float32", written, each) for written in ("float32", "float16", "bfloat16") for each in (0.95, 1.0)),
        ("bfloat16", "bfloat16", 0.95),
    ],
)
def test_rounding_stays_within_what_is_allowed(computed: str, written: str, gae_lambda: float) -> None:
    verdict = verdict_of(computed, written, gae_lambda)
    assert len(verdict.lines) == 7
    assert [line for line in verdict.lines if not line.compared.agrees] == []
    assert written != "float32" or {line.says for line in verdict.lines} == {"agrees"}


def test_long_responses_with_a_score_at_the_end_alone_are_told_in_float32() -> None:
    """The score is large, the rewards of all other words are small; what rounds the one must not hide the others."""
    batch = dump(made((16, 4096), torch.float32), 0.95, "float32")
    settings = {**rlhf().preset("trl_0.11.4").values, "kl_coef": KL_COEF, "gae_lambda": 0.95}
    assert {line.says for line in verify(batch, settings, "trl_0.11.4").lines} == {"agrees"}


def test_a_sum_of_a_thousand_rewards_in_bfloat16_is_not_the_sum_any_more() -> None:
    """With λ = 1 and arithmetic in bfloat16 itself, what was logged is wrong, and that is what is said."""
    assert not verdict_of("bfloat16", "bfloat16", 1.0).agrees
