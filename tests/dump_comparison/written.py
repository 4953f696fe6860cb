"""The batch on which slime's own code was recorded, as verl would have dumped it: rows in another order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps import save
from tests.dumps.as_frameworks import prompts, recorded
from tests.workbooks.grpo.recorded import batch

ORDER = np.random.default_rng(0).permutation(12)


def verl(
    path: Path,
    variant: str = "grpo",
    noise: float = 0.0,
    scores: float | None = None,
    token: int | None = None,
    library: str = "verl",
    algorithm: str = "grpo",
    **settings: Any,
) -> Path:
    """Writes the batch. noise: of the old log-probs; scores, token: other ones of the first response; settings: hyperparameters."""
    of = batch()
    last = np.arange(6) == of.mask.sum(1)[:, None] - 1
    rewards, responses = np.where(last, of.rewards[:, None], 0.0), of.tokens.copy()
    advantages = np.asarray(recorded(variant)["advantages"])[:, None] * of.mask
    old = np.minimum(of.logprobs("old") + noise * np.random.default_rng(1).normal(size=(12, 6)), 0.0)
    rewards[0] += last[0] * (scores or 0.0)
    responses[0, 0] = responses[0, 0] if token is None else token
    tensors = {
        "prompts": np.array(prompts()),
        "responses": responses,
        "response_mask": of.mask,
        "old_log_probs": old.astype(np.float32),
        "rollout_log_probs": of.logprobs("rollout").astype(np.float32),
        "token_level_scores": rewards.astype(np.float32),
        "advantages": advantages.astype(np.float32),
        "group": np.arange(12) // 4,
    }
    said = {"library": library, "step": 7, "hyperparameters": settings} | (
        {"algorithm": algorithm} if algorithm else {}
    )
    save(path, {name: each[ORDER] for name, each in tensors.items()}, said)
    return path
