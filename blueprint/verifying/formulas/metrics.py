"""Metrics: means over response tokens or all response positions, approximate KL, clip fractions, explained variance.

Tensors are [F, N, T], numbers [F].
"""

import torch

from blueprint.verifying.formulas.options import Held, Named, Number, Options, Texts, wide
from blueprint.verifying.formulas.rewards import estimates


def watch_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns the weights of three means: over what the metrics count, over the response tokens, over tokens of the value loss.

    A masked mean divides by N + mean_eps, a mean over all response positions by N.
    """
    over_all, eps = options.says("metrics.over", "all"), options.number("advantage.mean_eps", 1)
    response, of_value = rows["response"], rows["value.counted"]
    over = torch.where(over_all, texts.slots, response)
    watched_eps = torch.where(over_all.flatten(), 0.0, eps)
    return {
        "watch.over": over,
        "watch.eps": watched_eps,
        **_mean_rows("watch.slots", over, watched_eps, options),
        **_mean_rows("watch.words", response, eps, options),
        **_mean_rows("watch.values", of_value, eps, options),
    }


def _mean_rows(name: str, counted: torch.Tensor, eps: torch.Tensor, options: Options) -> Named:
    count = options.sums.total(f"{name}.count", counted).clamp(min=1) + eps
    return {f"{name}.count": count, f"{name}.weight": counted / wide(count)}


def update_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns how far the update moved the policy: mean ratio, entropy and approximate KL from d = log π_θ − log π_old.

    OpenRLHF 0.11.2 (loss.py, raw_policy_log_ratio) reads d before its clamp. k3 is made of the ratio.
    """
    weights, sums = rows["watch.slots.weight"], options.sums
    log_ratio = torch.where(options.says("metrics.log_ratio", "raw"), rows["log_ratio.free"], rows["log_ratio"])
    found = {"k1": -log_ratio, "k2": estimates(log_ratio)["k2"], "k3": rows["ratio"] - 1 - rows["log_ratio"]}
    found |= {"log_ratio": log_ratio, "used": options.pick("metrics.kl", found)}
    return {f"policy_kl.{name}": each for name, each in found.items()} | {
        "approx_kl.used": sums.total("approx_kl.used", weights * found["used"]),
        "ratio.mean": sums.total("ratio.mean", weights * rows["ratio"]),
        "entropy.watched": sums.total("entropy.watched", weights * texts.entropy),
    }


def clip_rows(rows: Held, options: Options) -> Named:
    """Returns which tokens the clips touch."""
    response = rows["response"]
    changed = response * (rows["surrogate.clipped"] < rows["surrogate.unclipped"])
    outside = response * (rows["ratio"] != rows["ratio.clipped"])
    return {
        "clip_fraction.changed": changed,
        "clip_fraction.outside": outside,
        "clip_fraction.flag": options.pick("metrics.clip_fraction", {"loss": changed, "ratio": outside}),
        "clip_fraction.floored": response * (rows["surrogate.floor"] > rows["surrogate.pessimistic"]),
    }


def fraction_rows(rows: Held, options: Options) -> Named:
    """Returns the shares of tokens that the clips touch: of the response tokens, and of tokens of the value loss."""
    flags = {"used": ("words", "clip_fraction.flag"), "dual": ("words", "clip_fraction.floored")}
    flags |= {"value": ("values", "value.held_counts")}
    return {
        f"clip_fraction.{name}": options.sums.total(f"clip_fraction.{name}", rows[f"watch.{over}.weight"] * rows[flag])
        for name, (over, flag) in flags.items()
    }


def explained_rows(texts: Texts, rows: Held, options: Options, floor: torch.Tensor) -> Named:
    """Returns the explained variance over the response tokens and its steps; 0 where var(R) is at most the floor [F].

    1 − var(R − V)/(var(R) + ε) with the old or the new critic's V, or 1 − mean((R − V)²)/var(R) with the new one's.
    """
    response, returns = rows["response"], rows["returns"]
    count = options.sums.total("ev.count", response).clamp(min=1)
    free = (count - options.number("advantage.ddof", 1)).clamp(min=1)
    old, new = response * (returns - rows["values.kept"][..., :-1]), response * (returns - texts.values)
    found = {"ev.count": count, "ev.free": free, "ev.residual_old": old, "ev.residual_new": new}
    for name, values in {"returns": returns, "residual_old": old, "residual_new": new}.items():
        found |= _variance_rows(f"ev.{name}", response, values, (count, free), options)
    mse = options.sums.total("ev.mse", new.square()) / count
    variances = {f"var_{whose}": found[f"ev.residual_{whose}.variance"] for whose in ("old", "new")}
    error = options.pick("metrics.explained", variances | {"mse_new": mse})
    return found | {
        "ev.mse": mse,
        "ev.error": error,
        "ev.used": explained(error, found["ev.returns.variance"], floor, options.number("metrics.ev_eps", 1)),
    }


def explained(error: torch.Tensor, variance: torch.Tensor, floor: Number, eps: Number = 0.0) -> torch.Tensor:
    """Returns 1 − error/(variance + ε), and 0 where the variance is at most the floor."""
    some = variance > floor
    return torch.where(some, 1 - error / torch.where(some, variance + eps, 1.0), 0.0)


def _variance_rows(
    name: str, response: torch.Tensor, values: torch.Tensor, counts: tuple[torch.Tensor, torch.Tensor], options: Options
) -> Named:
    count, free = counts
    mean = options.sums.total(f"{name}_sum", response * values) / count
    variance = options.sums.squares(f"{name}_squares", response, values, mean) / free
    return {
        f"{name}.mean": mean,
        f"{name}.centred": response * (values - wide(mean)),
        f"{name}.variance": variance,
    }
