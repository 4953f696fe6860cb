"""What is logged beside the losses, and how large what they average is: by that their rounding is judged."""

import torch
from torch import Tensor

from blueprint.workbooks.grpo.verifying.formulas import Asked, Losses, Responses, average


def watched(of: Responses, made: Losses, A: Tensor, use: Asked) -> dict[str, float]:
    """Returns what is logged beside the losses: means over tokens, of the ratio, of clipped tokens, of entropy and KL."""
    low, high = use.limit("loss.clip_low"), use.limit("loss.clip_high")
    m, r, nothing = of.mask, made.ratio, torch.zeros_like(made.ratio)
    below = nothing if low is None else ((r < 1 - low) & (A < 0)).to(m)
    above = nothing if high is None else ((r > 1 + high) & (A > 0)).to(m)
    x = {
        "clip.fraction_low": below, "clip.fraction_high": above, "clip.fraction": below + above, "mean.ratio": r,
        "entropy.mean": of.entropy, "kl.mean_new": made.kl, "approx_kl": of.old - of.new,
    }  # fmt: skip
    count, per = m.sum().clamp(min=1), m.sum(1).clamp(min=1)
    found = {name: float((each * m).sum() / count) for name, each in x.items()}
    rows = {f"{name}.rows": float(((each * m).sum(1) / per).mean()) for name, each in x.items() if "fraction" in name}
    return found | rows


def sizes(of: Responses, made: Losses, left: Tensor, coef: float, use: Asked) -> dict[str, float]:
    """Returns the mean size of what each part of the loss averages."""
    ones = of.mask

    def mean(x: Tensor, setting: str) -> float:
        mode = use.word(setting)
        mode = use.word("loss.aggregation") if mode == "as_policy" else mode
        if mode == "prompt_mean":
            return float((x.abs() * ones).sum() / ones.sum().clamp(min=1))
        return float(average(x.abs(), ones, left, of, use, setting))

    policy = mean(made.tokens * made.weight, "loss.aggregation") * abs(use.number("loss.factor"))
    kl, entropy = mean(made.kl, "kl.aggregation"), mean(of.entropy, "loss.entropy_aggregation")
    total = policy + abs(coef) * kl + abs(use.number("loss.ent_coef")) * entropy
    return {
        "policy_loss": policy,
        "kl_loss": kl,
        "entropy": entropy,
        "total_loss": total,
        "adds.kl_loss": abs(coef) * kl,
    }
