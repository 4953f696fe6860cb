"""Policy loss, value loss and their words: ratio, clip, dual clip; clipped values.

Sources: Schulman et al. 2017 (Proximal Policy Optimization), eq. 7; Ye et al. 2020 (Mastering Complex Control in MOBA Games),
eq. 5, for the dual clip; value clipping as in openai/baselines. Tensors are [F, N, T]. Every function is differentiable.
"""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.conventions.options import Options, within
from blueprint.witness.conventions.texts import Texts
from blueprint.witness.models import Held, Named


def counted_rows(rows: Held, options: Options) -> Named:
    """Returns which words the policy loss and the value loss count; a response that did not end may be left out."""
    kept = torch.where(options.says("loss.sample_filter", "ended", 2), rows["response.ended"], 1.0)
    behind = (options.number("value.tail") >= 1) * rows["place.first_past"][..., 1:]
    return {
        "loss.kept": kept,
        "loss.counted": rows["response"] * kept[..., None],
        "value.counted": torch.maximum(rows["response"], behind),
    }


def ratio_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns d = log π_θ − log π_old, clamped and 0 outside the response, the ratio e^d, and that clipped."""
    response = rows["response"]
    apart = response * texts.logprobs - response * texts.old_logprobs
    log_ratio = within(apart, options.number("loss.log_ratio_clamp"))
    ratio = log_ratio.exp()
    low, high = lowest_ratio(options), 1 + options.number("loss.clip_range_high")
    clipped = torch.maximum(torch.where(torch.isinf(high), ratio, torch.minimum(ratio, high)), low)
    clip = {"ratio.lowest": low.flatten(), "ratio.clipped": clipped}
    return {"log_ratio.free": apart, "log_ratio": log_ratio, "ratio": ratio} | clip


def lowest_ratio(options: Options) -> Tensor:
    """Returns 1 − ε, below which no ratio counts, or 0 for a clip that is off: a ratio of probabilities is not negative."""
    low = 1 - options.number("clip_range")
    return torch.where(torch.isinf(low), torch.zeros_like(low), low)


def surrogate_rows(rows: Held, options: Options) -> Named:
    """Returns the surrogates: ρ·Â, clip(ρ)·Â, the smaller of both, and that not below c·Â where Â < 0 if there is a c."""
    advantages = rows["advantages_used"]
    unclipped, clipped = rows["ratio"] * advantages, rows["ratio.clipped"] * advantages
    pessimistic = torch.minimum(unclipped, clipped)
    dual = options.number("loss.dual_clip")
    floor = torch.where(torch.isinf(dual), pessimistic, dual * advantages.clamp(max=0))
    return {
        "surrogate.unclipped": unclipped,
        "surrogate.clipped": clipped,
        "surrogate.pessimistic": pessimistic,
        "surrogate.floor": floor,
        "surrogate": torch.maximum(pessimistic, floor),
    }


def value_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns f·max((V − R)², (V_c − R)²), or the clipped square alone, where the value loss counts, and its steps."""
    old, counted, returns = rows["values.kept"][..., :-1], rows["value.counted"], rows["returns"]
    limit = options.number("value_clip_range")
    # Not V_old + clip(V − V_old): inside the range that errs by a bit, and a tie of the squares would be decided by it.
    held = torch.minimum(torch.maximum(texts.values, old - limit), old + limit)
    clipped = torch.where(torch.isinf(limit), texts.values, held)
    error, error_clipped = counted * (texts.values - returns), counted * (clipped - returns)
    square, square_clipped = error.square(), error_clipped.square()
    larger = torch.maximum(square, square_clipped)
    used = options.pick("value.combine", {"max": larger, "clipped_only": square_clipped})
    return {
        "value.error": error,
        "value.square": square,
        "value.clipped": clipped,
        "value.error_clipped": error_clipped,
        "value.square_clipped": square_clipped,
        "value.larger": larger,
        "value.held_counts": (square_clipped > square).to(square.dtype),
        "value.word_loss": options.number("value.factor") * used,
    }
