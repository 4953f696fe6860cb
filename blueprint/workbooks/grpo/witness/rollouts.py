"""The steps to the weight of the rollout: verl 0.9.1, rollout_corr_helper.py; TRL 1.16.0; IcePop."""

import torch
from torch import Tensor

from blueprint.witness import Asked, Held, Named
from blueprint.workbooks.grpo.witness.options import wide
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.rewards import held_rows, named


def rollout_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns the weight of each token, what is rejected, and the steps to both, [B] and [B, T]."""
    m, engine = rows["mask"], rows["engine.logprobs"]
    top = rows["old.logprobs"] if use.word("ratio.old") == "old" else rows["policy.logprobs"]
    free = m * (top - engine)
    each, summed, length = use.around(free, "rollout.clamp"), free.sum(1), m.sum(1).clamp(min=1)
    product, mean = use.around(summed, "rollout.clamp"), summed / length
    ways = {
        "none": torch.ones_like(m), "token": each.exp(), "product": wide(product.exp(), m), "mean": wide(mean.exp(), m),
    }  # fmt: skip
    w = ways[use.word("rollout.level")]
    found = {
        "old_logprobs": top, "log_free": free, "log_token": each, "token": each.exp(), "log_sum": summed,
        "log_product": product, "length": length, "log_mean": mean, "ratio.product": ways["product"],
        "ratio.mean": ways["mean"], "ratio": w,
    }  # fmt: skip
    found |= judged_rows(top, engine, w, length, m, use)
    found |= between_rows("inside", found["judged"], "rollout.low", "rollout.high", use)
    found |= chosen_rows(found, w, m, use)
    found["counts"] = found["picked"]
    return named("rollout", found | rejected_rows(free, mean, m, use))


def judged_rows(top: Tensor, engine: Tensor, w: Tensor, length: Tensor, m: Tensor, use: Asked) -> Named:
    """Returns what is compared with the bounds of the weights: the ratio, a KL of two outcomes, or the difference of both p."""
    p, r, judges = top.exp(), engine.exp(), m * float(use.word("rollout.statistic") == "binary_kl")
    rest = judges * (1 - r)
    there = rest > 0
    safe = [torch.where(there, 1 - each, torch.full_like(each, 1 / 2)).log() for each in (r, p)]
    other = torch.where(there, rest * (safe[0] - safe[1]), torch.zeros_like(m))
    kl = other + torch.where(judges > 0, r * (engine - top), torch.zeros_like(m))
    mean = kl.sum(1) / length
    ways = {"none": torch.zeros_like(m), "token": kl, "product": wide(mean, m), "mean": wide(mean, m)}
    of_level, far = ways[use.word("rollout.level")], (p - r).abs()
    judged = {"ratio": w, "binary_kl": of_level, "difference": far}[use.word("rollout.statistic")]
    return {
        "p_old": p, "p": r, "judges": judges, "rest": rest, "other": other, "binary_kl": kl, "binary_kl_mean": mean,
        "kl": of_level, "judged.difference": far, "judged": judged,
    }  # fmt: skip


def between_rows(name: str, x: Tensor, low: str, high: str, use: Asked) -> Named:
    """Returns the bounds, the number itself where one is off, and 1 where numbers are within them."""
    least, most = (x if by is None else torch.full_like(x, by) for by in (use.limit(low), use.limit(high)))
    return {f"{name}.least": least, f"{name}.most": most, name: ((least <= x) & (x <= most)).to(x)}


def chosen_rows(found: Held, w: Tensor, m: Tensor, use: Asked) -> Named:
    """Returns the weights held within their bounds, or 0 outside of them, divided by their mean where that is asked for."""
    held = held_rows("held", w, use, "rollout.low", "rollout.high")
    ways = {"truncate": held["held"], "mask": found["inside"] * w, "filter": found["inside"] * found["token"]}
    chosen = ways[use.word("rollout.mode")]
    eps = use.number("rollout.mean_eps")
    means = weight_means(chosen, m, eps)
    each = (m * chosen).sum(1) / (m.sum(1).clamp(min=1) + eps)
    mean = means["responses" if use.word("rollout.level") in ("product", "mean") else "tokens"]
    divided = chosen / mean if mean > 0 else chosen
    normed = divided if use.word("rollout.normalise") == "on" else chosen
    return held | {
        "chosen.mask": ways["mask"], "chosen.filter": ways["filter"], "chosen": chosen, "mean": mean,
        "mean_of_tokens": means["tokens"], "mean_of_responses": means["responses"], "of_response": each,
        "wrote": m.sum(1).clamp(max=1), "normed.on": divided, "normed": normed,
        "picked": torch.ones_like(m) if use.word("rollout.level") == "none" else normed,
    }  # fmt: skip


def weight_means(w: Tensor, m: Tensor, eps: float) -> Named:
    """Returns the mean of weights over tokens and over responses (verl 0.9.0, compute_rollout_correction_weights)."""
    each = (m * w).sum(1) / (m.sum(1).clamp(min=1) + eps)
    return {"tokens": (m * w).sum() / (m.sum() + eps), "responses": each.sum() / (m.sum(1) > 0).sum().clamp(min=1)}


def rejected_rows(free: Tensor, mean: Tensor, m: Tensor, use: Asked) -> Named:
    """Returns what is tried against bounds of its own, and 1 on the tokens that pass."""
    ways = {"off": torch.ones_like(m), "token": free.exp(), "mean": wide(mean.exp(), m)}
    way = use.word("rollout.reject")
    found = {"tried.token": ways["token"], "tried.mean": ways["mean"], "tried": ways[way]}
    found |= between_rows("accepted", ways[way], "rollout.reject_low", "rollout.reject_high", use)
    passes = ways["off"] if way == "off" else found["accepted"]
    return found | {"passes": passes, "kept": m * passes}
