"""Policy loss, value loss and their steps: ratio, clip, dual clip; clipped values.

Sources: Schulman et al. 2017 (Proximal Policy Optimization), eq. 7, with the sign of a gain; Ye et al. 2020 (Mastering
Complex Control in MOBA Games), eq. 5, for the dual clip; value clipping as in openai/baselines. Tensors are [F, N, T].
"""

import torch
from torch.nn.functional import smooth_l1_loss

from blueprint.verifying.formulas.options import Options, Texts
from blueprint.verifying.formulas.rewards import within
from blueprint.verifying.formulas.tensors import Held, Named


def counted_rows(rows: Held, options: Options) -> Named:
    """Returns which tokens the policy loss and the value loss count; a response that did not end may be left out."""
    kept = torch.where(options.says("loss.sample_filter", "ended", 2), rows["response.ended"], 1.0)
    behind = (options.number("value.tail") >= 1) * rows["place.first_past"][..., 1:]
    response, of_value = rows["response"], torch.maximum(rows["response"], behind)
    return {"loss.kept": kept, "value.counted": of_value, "loss.counted": response * kept[..., None]}


def lowest_ratio(options: Options) -> torch.Tensor:
    """Returns 1 − ε, below which no ratio counts, or 0 for a clip that is off: a ratio of probabilities is not negative."""
    clip_range = options.number("clip_range")
    return torch.where(torch.isinf(clip_range), 0.0, 1 - clip_range)


def between(ratio: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Returns a ratio clipped to low … high; where these cross, low holds."""
    return ratio.clamp(max=high).clamp(min=low)


def smaller(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns the smaller of two; of two that tie the first, whose slope it has: torch.minimum takes half of each."""
    return torch.where((a <= b) | a.isnan(), a, b)


def surrogates(ratio: torch.Tensor, clipped: torch.Tensor, advantages: torch.Tensor) -> Named:
    """Returns the ratio and the clipped one, each times the advantage, and the smaller of both, of any shape."""
    both = {"surrogate.unclipped": ratio * advantages, "surrogate.clipped": clipped * advantages}
    return both | {"surrogate": smaller(*both.values())}


def ratio_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns d = log π_θ − log π_old, clamped and 0 outside the response, the ratio e^d, and that clipped."""
    response = rows["response"]
    apart = response * texts.logprobs - response * texts.old_logprobs
    log_ratio = within(apart, options.number("loss.log_ratio_clamp"))
    ratio, low = log_ratio.exp(), lowest_ratio(options)
    return {
        "log_ratio.free": apart,
        "log_ratio": log_ratio,
        "ratio": ratio,
        "ratio.lowest": low.flatten(),
        "ratio.clipped": between(ratio, low, 1 + options.number("loss.clip_range_high")),
    }


def surrogate_rows(rows: Held, options: Options) -> Named:
    """Returns the surrogates, and the smaller one not below c·Â where Â < 0 if there is a c."""
    advantages, dual = rows["advantages_used"], options.number("loss.dual_clip")
    found = surrogates(rows["ratio"], rows["ratio.clipped"], advantages)
    pessimistic = found.pop("surrogate")
    floor = torch.where(torch.isinf(dual), pessimistic, dual * advantages.clamp(max=0))
    return found | {
        "surrogate.pessimistic": pessimistic,
        "surrogate.floor": floor,
        "surrogate": -smaller(-pessimistic, -floor),
    }


def distance(error: torch.Tensor, norm: str) -> torch.Tensor:
    """Returns how far an error is off: its square, or by smooth L1 half of that up to 1, and then its size less ½."""
    return error.square() if norm == "l2" else smooth_l1_loss(error, torch.zeros_like(error), reduction="none")


def value_rows(values: torch.Tensor, rows: Held, options: Options) -> Named:
    """Returns f·max((V − R)², (V_c − R)²), or the clipped square alone, where the value loss counts, and its steps."""
    counted, returns = rows["value.counted"], rows["returns"]
    # Not V_old + clip(V − V_old): inside the range that errs by a bit, and a tie of the squares would be decided by it.
    clipped = within(values, options.number("value_clip_range"), rows["values.kept"][..., : values.shape[-1]])
    error, error_clipped = counted * (values - returns), counted * (clipped - returns)
    square, square_clipped = error.square(), error_clipped.square()
    larger = -smaller(-square, -square_clipped)
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
