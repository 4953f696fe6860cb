"""Policy loss and value loss with their steps, and how the losses of tokens become numbers: weights, parts, and their sum."""

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch.nn.functional import smooth_l1_loss

from blueprint.verifying.formulas.options import AGGREGATIONS, Held, Named, Options, Texts, picked, wide, with_weight
from blueprint.verifying.formulas.rewards import within


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


WEIGHED = MappingProxyType({"policy": "loss.counted", "value": "value.counted", "entropy": "loss.counted"})
"""By name of the weights, the tokens that count. The entropy counts the policy loss's: NeMo-Aligner af2b3bd,
megatron_gpt_ppo_actor.py, gives both the same mask."""


def mode_rows(options: Options) -> Named:
    """Returns the number of the way in which the value loss and the entropy are aggregated, [F]."""
    own, token_mean = options.number("loss.aggregation", 1), float(AGGREGATIONS.index("token-mean"))
    switches = {"value.mode": "value.aggregation", "entropy.mode": "loss.entropy_aggregation"}
    return {row: torch.where(options.says(name, "as-policy", 1), own, token_mean) for row, name in switches.items()}


def weight_rows(name: str, rows: Held, options: Options) -> Named:
    """Returns the weights of tokens [F, N, T] that count, by the mode in which they are aggregated, and the steps to them.

    B' is the number of responses with a token, n_i that of tokens in one, N that of all tokens.
    """
    counted, eps = rows[WEIGHED[name]], options.number("loss.agg_eps", 1)
    length = counted.sum(dim=-1)
    wrote = (length > 0).to(length.dtype)
    words, responses = options.sums.total(f"{name}.words", length), options.sums.total(f"{name}.wrote", wrote)
    count = responses.clamp(min=1) + eps
    shared = {
        "token_mean": 1 / (words.clamp(min=1) + eps),
        "token_sum": torch.ones_like(count),
        "seq_sum": 1 / count,
        "seq_norm": 1 / (count * rows["response.most"]),
    }
    mean = wrote / (count[:, None] * (length.clamp(min=1) + options.number("loss.seq_eps", 2)))
    mode = options.number("loss.aggregation", 1) if name == "policy" else rows[f"{name}.mode"]
    chosen = picked(mode, [*(each[:, None].expand_as(mean) for each in shared.values()), mean])
    found = {"length": length, "wrote": wrote, "rows": count} | shared | {"seq_mean": mean, "chosen": chosen}
    return {f"{name}.weight.{row}": each for row, each in (found | {"row": counted * chosen[..., None]}).items()}


def keep_rows(rows: Held, options: Options) -> Named:
    """Returns the mean ratio of the response tokens, and 0 where it is above the threshold of TRL 0.x, else 1.

    The mean is a plain one, Σ/N, as TRL's.
    """
    response = rows["response"]
    words = options.sums.total("response.words", response)
    mean = options.sums.total("loss.ratio", response * rows["ratio"]) / words.clamp(min=1)
    return {"loss.mean_ratio": mean} | guard_rows(mean, options)


def guard_rows(mean: torch.Tensor, options: Options) -> Named:
    """Returns the mean ratio up to which the losses count, and 0 where the mean is above it, else 1, [F]."""
    threshold = options.number("loss.ratio_threshold", 1)
    return {
        "loss.mean_ratio.largest": torch.where(torch.isinf(threshold), mean, threshold),
        "loss.keep": (mean <= threshold).to(mean.dtype),
    }


def part_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns the weighted sums Σ w·z over the tokens, [F]; of the value loss and the entropy only if they have weights."""

    def total(part: str, weights: str, values: torch.Tensor) -> torch.Tensor:
        return options.sums.total(f"part.{part}", rows[f"{weights}.weight.row"] * values)

    found = {"policy_loss": -rows["loss.keep"] * total("policy", "policy", rows["surrogate"])}
    if "value.weight.row" in rows:
        found["value_loss"] = rows["loss.keep"] * total("value", "value", rows["value.word_loss"])
    if "entropy.weight.row" in rows:
        found["entropy"] = total("entropy", "entropy", texts.entropy)
        found["policy_kl"] = total("policy_kl", "entropy", texts.kl_old_new)
    return found | {"kl_loss": total("kl", "policy", rows["kl_new.used"])}


def total_rows(rows: Held, options: Options) -> Named:
    """Returns what the parts that there are add to the total, and the total."""
    joint = options.number("vf_coef", 1) * options.says("loss.joint", "on", 1)
    weights = {"value_loss": joint, "entropy": -options.number("ent_coef", 1)}
    weights |= {"policy_kl": options.number("policy_kl_coef", 1), "kl_loss": rows["kl_coef.loss"]}
    found = summed_rows(rows, weights)
    return {"vf_coef.used": joint} | found if "value_loss" in rows else found


def summed_rows(rows: Held, weights: Mapping[str, torch.Tensor]) -> Named:
    """Returns what each part adds to the policy loss, and the total, [F]."""
    adds = {f"adds.{part}": with_weight(weight, rows[part]) for part, weight in weights.items() if part in rows}
    return adds | {"total_loss": torch.stack([rows["policy_loss"], *adds.values()]).sum(dim=0)}


def share_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns what each token adds to the total, [F, N, T], by the weights of the losses; the shares of a file sum to it."""
    keep, drift = wide(rows["loss.keep"]), with_weight(wide(rows["kl_coef.loss"]), rows["kl_new.used"])
    found = {"policy": rows["policy.weight.row"] * (drift - keep * rows["surrogate"])}
    if "value.weight.row" in rows:
        found["value"] = wide(rows["vf_coef.used"]) * keep * rows["value.weight.row"] * rows["value.word_loss"]
    if "entropy.weight.row" in rows:
        each = options.number("policy_kl_coef") * texts.kl_old_new - options.number("ent_coef") * texts.entropy
        found["entropy"] = rows["entropy.weight.row"] * each
    shares = {f"share.{name}": each for name, each in found.items()} if len(found) > 1 else {}
    return shares | {"share": torch.stack(list(found.values())).sum(dim=0)}
