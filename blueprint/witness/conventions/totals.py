"""The parts of the loss as numbers, their sum, and what every word adds to it.

L = L_π + vf_coef·L_V − ent_coef·H + policy_kl_coef·KL(π_old‖π_θ) + loss.kl_coef·KL(π_θ‖π_ref), the second without weight where
the critic has an optimiser of its own, the last only where the KL is paid in the loss. Numbers are [F].
"""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.conventions.options import Options
from blueprint.witness.conventions.texts import Texts
from blueprint.witness.models import Held, Named


def keep_rows(rows: Held, options: Options) -> Named:
    """Returns the mean ratio of the response words, and 0 where it is above the threshold of TRL 0.x, else 1.

    The mean is a plain one, Σ/N, as TRL's.
    """
    words = options.sums.total("response.words", rows["response"])
    mean = options.sums.total("loss.ratio", rows["response"] * rows["ratio"]) / words.clamp(min=1)
    return {"loss.mean_ratio": mean} | guard_rows(mean, options)


def guard_rows(mean: Tensor, options: Options) -> Named:
    """Returns the mean ratio up to which the losses count, and 0 where the mean is above it, else 1, [F]."""
    threshold = options.number("loss.ratio_threshold", 1)
    guarded = torch.isfinite(threshold)
    stopped = guarded & (mean > threshold)
    return {
        "loss.mean_ratio.largest": torch.where(guarded, threshold, mean),
        "loss.keep": torch.logical_not(stopped).to(mean.dtype),
    }


def part_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns the weighted sums Σ w·z over the words, [F]."""

    def total(part: str, weights: str, values: Tensor) -> Tensor:
        return options.sums.total(f"part.{part}", rows[f"{weights}.weight.row"] * values)

    return {
        "policy_loss": -rows["loss.keep"] * total("policy", "policy", rows["surrogate"]),
        "value_loss": rows["loss.keep"] * total("value", "value", rows["value.word_loss"]),
        "entropy": total("entropy", "entropy", texts.entropy),
        "policy_kl": total("policy_kl", "entropy", texts.kl_old_new),
        "kl_loss": total("kl", "policy", rows["kl_new.used"]),
    }


def total_rows(rows: Held, options: Options) -> Named:
    """Returns what the parts add to the total, and the total."""
    c1 = options.number("vf_coef", 1) * options.says("loss.joint", "on", 1)
    adds = {
        "adds.value_loss": c1 * rows["value_loss"],
        "adds.entropy": -options.number("ent_coef", 1) * rows["entropy"],
        "adds.policy_kl": options.number("policy_kl_coef", 1) * rows["policy_kl"],
        "adds.kl_loss": rows["kl_coef.loss"] * rows["kl_loss"],
    }
    total = rows["policy_loss"]
    for each in adds.values():
        total = total + each
    return {"vf_coef.used": c1} | adds | {"total_loss": total}


def share_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns what each word adds to the total, [F, N, T]; the shares of a file sum to it."""
    keep, c1, price = (rows[name][:, None, None] for name in ("loss.keep", "vf_coef.used", "kl_coef.loss"))
    policy = rows["policy.weight.row"] * (price * rows["kl_new.used"] - keep * rows["surrogate"])
    value = c1 * keep * rows["value.weight.row"] * rows["value.word_loss"]
    by_entropy = options.number("policy_kl_coef") * texts.kl_old_new - options.number("ent_coef") * texts.entropy
    entropy = rows["entropy.weight.row"] * by_entropy
    found = {"share.policy": policy, "share.value": value, "share.entropy": entropy}
    return found | {"share": policy + value + entropy}
