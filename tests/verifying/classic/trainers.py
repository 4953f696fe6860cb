"""The update of CleanRL's ppo.py and of Stable-Baselines3's PPO as loops in float32, with a place for each mistake in it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tests.verifying.classic.rollouts import Array, by_environment, by_time

SETTINGS: dict[str, dict[str, Any]] = {
    "cleanrl": {"gamma": 0.99, "gae_lambda": 0.95, "clip_coef": 0.2, "norm_adv": True, "clip_vloss": True, "ent_coef": 0.01,
                "vf_coef": 0.5},
    "sb3": {"gamma": 0.98, "gae_lambda": 0.9, "clip_range": 0.1, "clip_range_vf": 0.3, "normalize_advantage": True,
            "ent_coef": 0.002, "vf_coef": 0.5},
}  # fmt: skip


class Run(NamedTuple):
    """A library's update, with one thing otherwise than the library has it, or none."""

    library: str
    bug: str = ""
    seed: int = 0
    steps: int = 32
    environments: int = 3
    minibatch: int = 24
    first: bool = False

    def has(self, bug: str) -> bool:
        """Whether this is the mistake that was made."""
        return self.bug == bug


def trained(run: Run) -> tuple[dict[str, Array], dict[str, Any]]:
    """Returns what the hook writes of one minibatch: tensors, [T, N] and [M], and metadata."""
    drawn = torch.Generator().manual_seed(run.seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=drawn)

    shape = (run.steps, run.environments)
    rewards, values = normal(*shape), normal(*shape)
    starts = (torch.rand(shape, generator=drawn) < 0.15).float()
    last, after = (torch.rand(run.environments, generator=drawn) < 0.5).float(), normal(run.environments)
    last[0] = 1.0
    old = -normal(*shape).abs() - 0.1
    ends = torch.cat([starts[1:], last[None]])
    made = _signal(run, rewards, values, ends, after)
    flat = by_time if run.library == "cleanrl" else by_environment
    rows = torch.randperm(run.steps * run.environments, generator=drawn)[: run.minibatch].numpy()
    new = torch.from_numpy(flat(old.numpy())[rows]) + (0 if run.first else 0.2) * normal(run.minibatch)
    new_values = torch.from_numpy(flat(values.numpy())[rows]) + (0 if run.first else 0.3) * normal(run.minibatch)
    entropy = normal(run.minibatch).abs()
    if run.has("log-probs of the wrong steps"):
        new = torch.from_numpy(by_time(np.roll(old.numpy(), 1, axis=0))[rows])
    read = {f"{name} late": torch.roll(each, 1, 0) for name, each in made.items()}
    part = {name: read[f"{name} late"] if run.has(f"{name} late") else each for name, each in made.items()}
    part = {name: torch.from_numpy(flat(each.numpy())[_rows(run, rows)]) for name, each in part.items()}
    if run.has("advantages transposed"):
        turned = run._replace(bug="flattened the other way")
        part["advantages"] = torch.from_numpy(flat(made["advantages"].numpy())[_rows(turned, rows)])
    part |= {
        "old": torch.from_numpy(flat(old.numpy())[_rows(run, rows)]),
        "values": torch.from_numpy(flat(values.numpy())[_rows(run, rows)]),
    }
    logged, used = _losses(run, part, (new, new_values, entropy), made["advantages"])
    variance = np.var(made["returns"].numpy())
    logged["explained_var"] = float(1 - np.var((made["returns"] - values).numpy()) / variance)
    tensors = {
        "rewards": rewards,
        "values": values,
        "advantages": made["advantages"],
        "returns": made["returns"],
        "entropy": entropy,
    }
    if run.library == "cleanrl":
        tensors |= {
            "dones": starts,
            "next_done": last,
            "next_value": after,
            "logprobs": old,
            "newlogprob": new,
            "newvalue": new_values,
        }
    else:
        tensors |= {
            "episode_starts": starts,
            "last_dones": last,
            "last_values": after,
            "log_probs": old,
            "new_log_prob": new,
        }
        tensors |= {"new_values": new_values}
    found: dict[str, Array] = {name: each.numpy() for name, each in tensors.items()}
    found |= {"mb_advantages": used.numpy(), "rows": rows}
    metadata = {"library": run.library, "hyperparameters": SETTINGS[run.library], "logged": logged}
    return found, metadata | ({"optimizer_step": "0"} if run.first else {"optimizer_step": "3"})


def _rows(run: Run, rows: Array) -> Array:
    """Returns the rows of the minibatch; a mistake takes those of the rollout flattened the other way."""
    if not run.has("flattened the other way"):
        return rows
    steps, environments = run.steps, run.environments
    if run.library == "cleanrl":
        return np.asarray((rows % steps) * environments + rows // steps)
    return np.asarray((rows % environments) * steps + rows // environments)


def _signal(run: Run, rewards: Tensor, values: Tensor, ends: Tensor, after: Tensor) -> dict[str, Tensor]:
    """Returns advantages and returns, [T, N], from the last step to the first."""
    gamma, lam = (SETTINGS[run.library][name] for name in ("gamma", "gae_lambda"))
    gamma = 1.0 if run.has("γ 1") else gamma
    lam = 1.0 if run.has("λ 1") else 0.97 if run.has("λ 0.97") else lam
    going = 1 - ends
    if run.has("done late"):
        going = torch.cat([torch.ones_like(going[:1]), going[:-1]])
    if run.has("no done"):
        going = torch.ones_like(going)
    if run.has("next_done forgotten"):
        going = torch.cat([going[:-1], torch.ones_like(going[:1])])
    ahead = torch.cat([values[1:], after[None]])
    if run.has("no bootstrap"):
        ahead[-1] = 0
    if run.has("V(t) for V(t+1)"):
        ahead = values
    if run.has("rewards late"):
        rewards = torch.cat([torch.zeros_like(rewards[:1]), rewards[:-1]])
    cut = torch.ones_like(going) if run.has("no done in δ") else going
    over = torch.ones_like(going) if run.has("no done in the sum") else going
    advantages, later = torch.zeros_like(rewards), torch.zeros(run.environments)
    for t in reversed(range(run.steps)):
        delta = rewards[t] + (1.0 if run.has("γ missing in δ") else gamma) * ahead[t] * cut[t] - values[t]
        fade = {"γ missing in the sum": lam, "λ missing in the sum": gamma}.get(run.bug, gamma * lam)
        later = delta + fade * over[t] * later
        advantages[t] = later
    return {"advantages": advantages, "returns": advantages + values}


def _losses(
    run: Run, part: dict[str, Tensor], new: tuple[Tensor, Tensor, Tensor], everywhere: Tensor
) -> tuple[dict[str, float], Tensor]:
    """Returns what is logged of a minibatch, and the advantages that it used."""
    settings, cleanrl = SETTINGS[run.library], run.library == "cleanrl"
    logprobs, values, entropy = new
    reach = settings["clip_coef" if cleanrl else "clip_range"]
    reach = 0.3 if run.has("ε 0.3") else reach
    log_ratio = logprobs - part["old"]
    log_ratio = -log_ratio if run.has("ratio inverted") else log_ratio
    ratio, used = log_ratio.exp(), _normalised(run, part["advantages"], everywhere)
    first, second = -used * ratio, -used * ratio.clamp(1 - reach, 1 + reach)
    policy = {"min for max": torch.minimum(first, second), "no clip": first}.get(
        run.bug, torch.maximum(first, second)
    ).mean()
    value = _value_loss(run, values, part)
    bonus = entropy.mean()
    c1 = 1.0 if run.has("c1 1") else settings["vf_coef"]
    c2 = settings["ent_coef"] * {"entropy sign": -1, "c2 5×": 5}.get(run.bug, 1)
    total = policy + c1 * value - c2 * bonus
    k3 = ((ratio - 1) - log_ratio).mean()
    k1 = (-log_ratio).mean()
    outside = ((ratio - 1).abs() > reach).float().mean()
    kl = {"k1 for k3": k1, "k2 for k3": 0.5 * log_ratio.square().mean()}.get(run.bug, k3)
    if cleanrl:
        named = {"pg_loss": policy, "v_loss": value, "entropy_loss": bonus, "loss": total, "old_approx_kl": k1, "approx_kl": kl,
                 "clipfrac": outside}  # fmt: skip
    else:
        named = {"policy_loss": policy, "value_loss": value, "entropy_loss": -bonus, "loss": total, "approx_kl_div": kl,
                 "clip_fraction": outside}  # fmt: skip
    return {name: float(each) for name, each in named.items()}, used


def _normalised(run: Run, advantages: Tensor, everywhere: Tensor) -> Tensor:
    if run.has("not normalised"):
        return advantages
    base = everywhere if run.has("normalised over the rollout") else advantages
    spread = base.std(unbiased=not run.has("variance by N"))
    return (advantages - (0 if run.has("mean kept") else base.mean())) / (spread + 1e-8)


def _value_loss(run: Run, values: Tensor, part: dict[str, Tensor]) -> Tensor:
    settings = SETTINGS[run.library]
    returns = part["advantages" if run.has("advantages as targets") else "returns"]
    reach = settings["clip_coef"] if run.library == "cleanrl" else settings["clip_range_vf"]
    held = part["values"] + (values - part["values"]).clamp(-reach, reach)
    free, near = (values - returns).square(), (held - returns).square()
    either: dict[str, Tensor] = {
        "values not clipped": free,
        "value max": torch.maximum(free, near),
        "value clipped alone": near,
        "value min": torch.minimum(free, near),
    }
    usual = torch.maximum(free, near) if run.library == "cleanrl" else near
    half = 0.5 if (run.library == "cleanrl") != run.has("½ other") else 1.0
    return half * either.get(run.bug, usual).mean()
