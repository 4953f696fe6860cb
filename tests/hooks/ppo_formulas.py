"""TRL's formulas of PPO, 1.12.0 (experimental/ppo/ppo_trainer.py), in numpy, in stages of which any can be another.

Log-probs, values and masks are [B, T], 1 where something counts; lengths are [B], of the last token's place, from 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.hooks.trl_formulas import Array, Use, Written, of_pass

INVALID_LOGPROB = 1.0
BEFORE = ("logprobs", "ref_logprobs", "values", "scores", "padding_mask")
"""What a rollout is, of which rewards, advantages and returns are made."""


def masked_mean(values: Array, mask: Array) -> Array:
    return np.asarray((values * mask).sum() / mask.sum())


def masked_var(values: Array, mask: Array) -> Array:
    mean = masked_mean(values, mask)
    centered_values = values - mean
    variance = masked_mean(centered_values**2, mask)
    bessel_correction = mask.sum() / (mask.sum() - 1)
    return np.asarray(variance * bessel_correction)


def masked_whiten(values: Array, mask: Array, shift_mean: bool = True) -> Array:
    mean, var = masked_mean(values, mask), masked_var(values, mask)
    whitened = (values - mean) / np.sqrt(var + 1e-8)
    return np.asarray(whitened if shift_mean else whitened + mean)


def kl(logprobs: Array, ref_logprobs: Array, use: Use) -> Array:
    logr = ref_logprobs - logprobs
    return np.asarray(-logr if use["kl_estimator"] == "k1" else (np.exp(logr) - 1) - logr)


def rewarded(kl: Array, scores: Array, lengths: Array, use: Use) -> Array:
    rewards = -use["kl_coef"] * kl
    places = np.where(lengths + 1 < rewards.shape[1], lengths + 1, lengths).astype(int)
    rewards[np.arange(len(rewards)), places] += scores
    return np.asarray(rewards)


def whitened_rewards(rewards: Array, mask_p1: Array, use: Use) -> Array:
    if not use["whiten_rewards"]:
        return rewards
    return np.asarray(masked_whiten(rewards, mask_p1, False) * mask_p1)


def gae(rewards: Array, values: Array, use: Use) -> Array:
    lastgaelam = np.zeros(len(rewards))
    found, gen_length = np.zeros_like(rewards), rewards.shape[1]
    for t in reversed(range(gen_length)):
        nextvalues = values[:, t + 1] if t < gen_length - 1 else 0.0
        delta = rewards[:, t] + use["gamma"] * nextvalues - values[:, t]
        lastgaelam = delta + use["gamma"] * use["lam"] * lastgaelam
        found[:, t] = lastgaelam
    return found


def targets(advantages: Array, values: Array) -> Array:
    return np.asarray(advantages + values)


def whitened(advantages: Array, mask: Array) -> Array:
    return np.asarray(masked_whiten(advantages, mask) * mask)


def value_losses(vpred: Array, values: Array, returns: Array, use: Use) -> tuple[Array, Array]:
    vpredclipped = np.minimum(np.maximum(vpred, values - use["cliprange_value"]), values + use["cliprange_value"])
    vf_losses1 = (vpred - returns) ** 2
    vf_losses2 = (vpredclipped - returns) ** 2
    return vf_losses1, vf_losses2


def value_loss(vf_losses1: Array, vf_losses2: Array, mask_p1: Array) -> Array:
    return np.asarray(0.5 * masked_mean(np.maximum(vf_losses1, vf_losses2), mask_p1))


def ratio(logprobs_diff: Array) -> Array:
    return np.exp(logprobs_diff)


def policy_losses(ratio: Array, advantages: Array, use: Use) -> tuple[Array, Array]:
    pg_losses = -advantages * ratio
    pg_losses2 = -advantages * np.minimum(np.maximum(ratio, 1.0 - use["cliprange"]), 1.0 + use["cliprange"])
    return pg_losses, pg_losses2


def policy_loss(pg_losses: Array, pg_losses2: Array, mask: Array) -> Array:
    return masked_mean(np.maximum(pg_losses, pg_losses2), mask)


def total(pg_loss: Array, vf_loss: Array, use: Use) -> Array:
    return np.asarray(pg_loss + use["vf_coef"] * vf_loss)


def approximate_kl(logprobs_diff: Array) -> Array:
    return np.asarray(0.5 * (logprobs_diff**2).mean())


class Trainer:
    """How TRL computes a step of PPO from what its hook wrote."""

    def rollout(self, given: dict[str, Array], use: Use) -> dict[str, Array]:
        """Returns rewards, advantages and returns of all responses of a rollout."""
        lengths = (given["padding_mask"] == 0).sum(1) - 1
        columns = np.arange(given["padding_mask"].shape[1])
        mask, mask_p1 = (1.0 * (columns <= lengths[:, None] + more) for more in (0, 1))
        logprobs, ref_logprobs = (
            np.where(mask > 0, given[name], INVALID_LOGPROB) for name in ("logprobs", "ref_logprobs")
        )
        values = given["values"] * mask_p1
        rewards = whitened_rewards(
            rewarded(kl(logprobs, ref_logprobs, use), given["scores"], lengths, use), mask_p1, use
        )
        advantages = gae(rewards, values, use)
        return {"rewards": rewards, "advantages": whitened(advantages, mask), "returns": targets(advantages, values)}

    def logged(self, file: Written) -> dict[str, float]:
        """Returns what is logged of a microbatch."""
        t, use = file.tensors, file.settings
        lengths, columns = (t["padding_mask"] == 0).sum(1) - 1, np.arange(t["padding_mask"].shape[1])
        mask, mask_p1 = (1.0 * (columns <= lengths[:, None] + more) for more in (0, 1))
        new, old = (np.where(mask > 0, t[name], INVALID_LOGPROB) for name in ("new_logprobs", "logprobs"))
        vf_losses = value_losses(t["vpred"] * mask_p1, t["values"] * mask_p1, t["returns"], use)
        vf_loss, logprobs_diff = value_loss(*vf_losses, mask_p1), new - old
        ratios = ratio(logprobs_diff)
        pg_losses = policy_losses(ratios, t["advantages"], use)
        pg_loss = policy_loss(*pg_losses, mask)
        found = {
            "loss": total(pg_loss, vf_loss, use), "pg_loss": pg_loss, "vf_loss": vf_loss, "val/ratio": ratios.mean(),
            "approxkl": approximate_kl(logprobs_diff), "policy/entropy_avg": t["entropy"].mean(),
            "pg_clipfrac": masked_mean(1.0 * (pg_losses[1] > pg_losses[0]), mask),  # type: ignore[arg-type]
            "vf_clipfrac": masked_mean(1.0 * (vf_losses[1] > vf_losses[0]), mask_p1),  # type: ignore[arg-type]
        }  # fmt: skip
        return {name: float(each) for name, each in found.items()}

    def all_advantages(self, files: Sequence[Written]) -> dict[str, Array]:
        """Returns what a rollout comes to, its responses in their order, of files of one pass over it."""
        return self.rollout({name: of_pass(files, name) for name in BEFORE}, files[0].settings)

    def written(self, files: Sequence[Written]) -> list[Written]:
        """Returns what the hook would have written of these files, had the trainer computed so."""
        made, found = self.all_advantages(files), []
        for file in files:
            own = {name: each[file.tensors["row_index"].astype(int)] for name, each in made.items()}
            changed = file._replace(tensors={**file.tensors, **own})
            found.append(changed._replace(logged=self.logged(changed)))
        return found


TRL = Trainer()
