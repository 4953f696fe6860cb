"""TRL's formulas of DPO, 1.16.0, of one file in numpy, in stages of which any can be another: so a mistake is planted in one.

`Trainer` computes everything that the hook writes from the log-probs of tokens. Log-probs and masks are [2P, T], chosen ones first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.hooks.trl_formulas import Tensors, Written

Array = npt.NDArray[np.float64]
Use = Mapping[str, Any]


def log_sigmoid(x: Array) -> Array:
    return np.asarray(np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))))


def sigmoid(x: Array) -> Array:
    return np.exp(log_sigmoid(x))


def mask_of(t: Tensors) -> Array:
    return np.asarray(t["completion_mask"][:, 1:])


def sums(logps: Array, mask: Array, use: Use) -> Array:
    """Log-probs of responses, [2P]; of LD-DPO tokens beyond the shorter one of the pair count less."""
    if use["ld_alpha"] is None:
        return np.asarray((logps * mask).sum(1))
    place, shorter = mask.cumsum(1), np.tile(mask.sum(1).reshape(2, -1).min(0), 2)[:, None]
    return np.asarray((logps * mask * np.where(place <= shorter, 1, use["ld_alpha"])).sum(1))


def rewards(apart: Array, use: Use) -> Array:
    return np.asarray(use["beta"] * apart)


def ahead(chosen: Array, rejected: Array) -> Array:
    return np.asarray(chosen > rejected, float)


def pair_loss(a: Array, c: Array, lengths: Array, use: Use) -> Array:
    """The loss of each pair, [P], by the log-ratios of both sides and their lengths, [2, P]; of the first loss named."""
    kind, beta, eps = use["loss_type"][0], use["beta"], use["label_smoothing"]
    if kind in ("ipo", "sigmoid_norm"):
        a, c = a / np.maximum(lengths[0], 1), c / np.maximum(lengths[1], 1)
    if use["f_divergence_type"] == "js_divergence":
        a, c = np.log(2) + log_sigmoid(a), np.log(2) + log_sigmoid(c)
    h = a - c
    right, wrong = log_sigmoid(beta * h), log_sigmoid(-beta * h)
    made = {
        "sigmoid": -right,
        "sigmoid_norm": -right,
        "ipo": (h - 1 / (2 * beta)) ** 2,
        "robust": (-(1 - eps) * right + eps * wrong) / (1 - 2 * eps),
        "apo_zero": 1 - sigmoid(beta * a) + sigmoid(beta * c),
        "bco_pair": -log_sigmoid(beta * a) - log_sigmoid(-beta * c),
        "hinge": np.maximum(0, 1 - beta * h),
    }
    return np.asarray(made[kind])


def likelihood(logps: Array, mask: Array, use: Use) -> float:
    half = len(mask) // 2
    return float(-(logps * mask)[:half].sum() / mask[:half].sum())


def weight(t: Tensors, mask: Array, use: Use) -> Array:
    if not use["use_weighting"]:
        return np.ones(len(mask) // 2)
    each = ((t["per_token_logps"] - t["log_sum_sq_probs"]) * mask).sum(1) / np.maximum(mask.sum(1), 1)
    return np.asarray(np.exp(each).reshape(2, -1).prod(0))


def averaged(each: Array) -> float:
    return float(each.mean())


def same(t: Tensors) -> Tensors:
    return t


def same_use(use: Use) -> Use:
    return use


@dataclass(frozen=True)
class Trainer:
    """A trainer's code, stage by stage: what the batch is, what settings get there, and what is made of them."""

    given: Callable[[Tensors], Tensors] = same
    settled: Callable[[Use], Use] = same_use
    sums: Callable[[Array, Array, Use], Array] = sums
    apart: Callable[[Array, Array], Array] = lambda policy, reference: policy - reference
    rewards: Callable[[Array, Use], Array] = rewards
    ahead: Callable[[Array, Array], Array] = ahead
    pair_loss: Callable[[Array, Array, Array, Use], Array] = pair_loss
    likelihood: Callable[[Array, Array, Use], float] = likelihood
    averaged: Callable[[Array], float] = averaged

    def written(self, file: Written) -> Written:
        """Returns what the hook would write: the tokens of a file, and everything that is made of them."""
        t, use = self.given(file.tensors), self.settled(file.settings)
        mask = mask_of(t)
        policy = self.sums(t["per_token_logps"], mask, use)
        known = "ref_per_token_logps" in t
        reference = self.sums(t["ref_per_token_logps"], mask, use) if known else np.concatenate(
            [t["ref_chosen_logps"], t["ref_rejected_logps"]])  # fmt: skip
        (a, c), lengths = self.apart(policy, reference).reshape(2, -1), mask.sum(1).reshape(2, -1)
        good, bad = self.rewards(a, use), self.rewards(c, use)
        shares = dict(zip(use["loss_type"], use["loss_weights"] or [1.0] * len(use["loss_type"]), strict=True))
        loss = shares.pop("sft", 0.0) * self.likelihood(t["per_token_logps"], mask, use)
        for kind, share in shares.items():
            each = self.pair_loss(a, c, lengths, {**use, "loss_type": [kind]})
            loss += share * self.averaged(each * weight(t, mask, use))
        made = dict(zip(("chosen_logps", "rejected_logps"), policy.reshape(2, -1), strict=True))
        made |= dict(zip(("ref_chosen_logps", "ref_rejected_logps"), reference.reshape(2, -1), strict=True))
        logged = {
            "rewards/chosen": good.mean(), "rewards/rejected": bad.mean(), "rewards/margins": (good - bad).mean(),
            "rewards/accuracies": self.ahead(good, bad).mean(), "logps/chosen": made["chosen_logps"].mean(),
            "logps/rejected": made["rejected_logps"].mean(), "loss": loss,
        }  # fmt: skip
        tensors = {**file.tensors, **made, "chosen_rewards": good, "rejected_rewards": bad, "margins": good - bad}
        return file._replace(tensors=tensors, logged={name: float(np.float32(each)) for name, each in logged.items()})


TRL = Trainer()


def otherwise(**stages: Any) -> Trainer:
    """Returns the trainer with some stages that do something else."""
    return replace(TRL, **stages)
