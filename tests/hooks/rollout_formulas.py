"""The formulas of CleanRL's ppo.py (020cf0e) and of Stable-Baselines3's buffers.py and ppo.py (2.9.2) in numpy, each on a line of
its own, so that a program can change one part of them; and rollouts that are drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.verifying.classic.rollouts import Array, by_environment, by_time, written

SETTINGS: dict[str, dict[str, Any]] = {
    "cleanrl": {"gamma": 0.99, "gae_lambda": 0.95, "clip_coef": 0.2, "norm_adv": True, "clip_vloss": True, "ent_coef": 0.01,
                "vf_coef": 0.5},
    "sb3": {"gamma": 0.98, "gae_lambda": 0.9, "clip_range": 0.1, "clip_range_vf": 0.3, "normalize_advantage": True,
            "ent_coef": 0.002, "vf_coef": 0.5},
}  # fmt: skip


class Drawn(NamedTuple):
    """A rollout, [T, N], what follows it, [N], and one minibatch of it, [M], whose rows stand in the flattened rollout."""

    library: str
    rewards: Array
    values: Array
    starts: Array
    old: Array
    last_done: Array
    last_value: Array
    rows: Array
    new: Array
    new_values: Array
    entropy: Array


def drawn(library: str, seed: int, steps: int = 32, environments: int = 3, minibatch: int = 24) -> Drawn:
    """Draws a rollout: about every seventh step begins an episode, and one environment has just ended one."""
    of, shape = np.random.default_rng(seed), (steps, environments)
    old, values = -np.abs(of.normal(size=shape)) - 0.1, of.normal(size=shape)
    flat = by_time if library == "cleanrl" else by_environment
    rows, last = of.permutation(steps * environments)[:minibatch], (of.random(environments) < 0.5) * 1.0
    last[0] = 1.0
    new, new_values = (flat(each)[rows] + 0.25 * of.normal(size=minibatch) for each in (old, values))
    return Drawn(
        library, of.normal(size=shape), values, (of.random(shape) < 0.15) * 1.0, old, last, of.normal(size=environments), rows,
        new, new_values, np.abs(of.normal(size=minibatch)),
    )  # fmt: skip


def estimated(of: Drawn, gamma: float, gae_lambda: float) -> tuple[Array, Array]:
    """Returns advantages and returns, [T, N]."""
    advantages, later = np.zeros_like(of.rewards), np.zeros_like(of.last_value)
    steps = len(of.rewards)
    for t in reversed(range(steps)):
        if t == steps - 1:
            going = 1.0 - of.last_done
            ahead = of.last_value
        else:
            going = 1.0 - of.starts[t + 1]
            ahead = of.values[t + 1]
        delta = of.rewards[t] + gamma * ahead * going - of.values[t]
        later = delta + gamma * gae_lambda * going * later
        advantages[t] = later
    returns = advantages + of.values
    return advantages, returns


def normalised(advantages: Array) -> Array:
    """Returns the advantages of a minibatch with mean 0 and deviation 1."""
    return np.asarray((advantages - np.mean(advantages)) / (np.std(advantages, ddof=1) + 1e-8))


def explained(values: Array, returns: Array) -> float:
    """Returns the share of the variance of the returns that the values foresaw."""
    return float(1 - np.var(returns - values) / np.var(returns))


def cleanrl(of: Drawn, old: Array, old_values: Array, advantages: Array, returns: Array) -> dict[str, float]:
    """Returns what CleanRL logs of a minibatch."""
    clip, ent_coef, vf_coef = (SETTINGS["cleanrl"][name] for name in ("clip_coef", "ent_coef", "vf_coef"))
    new, values = of.new, of.new_values
    log_ratio = new - old
    ratio = np.exp(log_ratio)
    old_approx_kl = np.mean(-log_ratio)
    approx_kl = np.mean((ratio - 1) - log_ratio)
    clipfrac = np.mean(np.abs(ratio - 1.0) > clip)
    first = -advantages * ratio
    second = -advantages * np.clip(ratio, 1 - clip, 1 + clip)
    pg_loss = np.mean(np.maximum(first, second))
    free = (values - returns) ** 2
    held = old_values + np.clip(values - old_values, -clip, clip)
    near = (held - returns) ** 2
    v_loss = 0.5 * np.mean(np.maximum(free, near))
    entropy_loss = np.mean(of.entropy)
    loss = pg_loss - ent_coef * entropy_loss + v_loss * vf_coef
    return {"pg_loss": pg_loss, "v_loss": v_loss, "entropy_loss": entropy_loss, "loss": loss, "old_approx_kl": old_approx_kl,
            "approx_kl": approx_kl, "clipfrac": clipfrac}  # fmt: skip


def sb3(of: Drawn, old: Array, old_values: Array, advantages: Array, returns: Array) -> dict[str, float]:
    """Returns what Stable-Baselines3 logs of a minibatch."""
    clip, clip_vf = (SETTINGS["sb3"][name] for name in ("clip_range", "clip_range_vf"))
    ent_coef, vf_coef = (SETTINGS["sb3"][name] for name in ("ent_coef", "vf_coef"))
    new, values = of.new, of.new_values
    ratio = np.exp(new - old)
    first = advantages * ratio
    second = advantages * np.clip(ratio, 1 - clip, 1 + clip)
    policy_loss = -np.mean(np.minimum(first, second))
    clip_fraction = np.mean(np.abs(ratio - 1) > clip)
    held = old_values + np.clip(values - old_values, -clip_vf, clip_vf)
    value_loss = np.mean((returns - held) ** 2)
    entropy_loss = -np.mean(of.entropy)
    loss = policy_loss + ent_coef * entropy_loss + vf_coef * value_loss
    log_ratio = new - old
    approx_kl = np.mean((np.exp(log_ratio) - 1) - log_ratio)
    return {"policy_loss": policy_loss, "value_loss": value_loss, "entropy_loss": entropy_loss, "loss": loss,
            "clip_fraction": clip_fraction, "approx_kl": approx_kl}  # fmt: skip


def dumped(of: Drawn) -> tuple[dict[str, Array], dict[str, Any]]:
    """Returns what the hook writes, in float32, and its metadata."""
    settings = SETTINGS[of.library]
    flat = by_time if of.library == "cleanrl" else by_environment
    advantages, returns = estimated(of, settings["gamma"], settings["gae_lambda"])
    used = normalised(flat(advantages)[of.rows])
    minibatch: Callable[..., dict[str, float]] = cleanrl if of.library == "cleanrl" else sb3
    logged = minibatch(of, flat(of.old)[of.rows], flat(of.values)[of.rows], used, flat(returns)[of.rows])
    logged |= {"explained_var": explained(of.values, returns)}
    names = ("dones", "next_done", "next_value", "logprobs", "newlogprob", "newvalue") if of.library == "cleanrl" else (
        "episode_starts", "last_dones", "last_values", "log_probs", "new_log_prob", "new_values")  # fmt: skip
    tensors = dict(zip(names, (of.starts, of.last_done, of.last_value, of.old, of.new, of.new_values), strict=True))
    tensors |= {"rewards": of.rewards, "values": of.values, "advantages": advantages, "returns": returns}
    tensors |= {"entropy": of.entropy, "mb_advantages": used}
    found = {name: np.asarray(each, np.float32) for name, each in tensors.items()} | {"rows": of.rows}
    said = {"library": of.library, "hyperparameters": settings, "optimizer_step": "3"}
    return found, said | {"logged": {name: float(each) for name, each in logged.items()}}


class Hook(NamedTuple):
    """Writes a drawn rollout with the formulas of this module, or of one that was changed."""

    dumped: Callable[[Drawn], tuple[dict[str, Array], dict[str, Any]]]

    def written(self, of: Drawn, folder: Path) -> Path:
        """Writes a file and returns its path."""
        return written(folder, *self.dumped(of))


TRAINER = Hook(dumped)
