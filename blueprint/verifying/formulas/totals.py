"""How the losses of tokens become numbers: the weight of every token, the parts of the loss, and their sum.

L = L_π + vf_coef·L_V − ent_coef·H + policy_kl_coef·KL(π_old‖π_θ) + loss.kl_coef·KL(π_θ‖π_ref), the second without weight where
the critic has an optimiser of its own, the last only where the KL is paid in the loss. Numbers are [F].

Sources: verl 0.9.1, core_algos.py:1140 (agg_loss); OpenRLHF and NeMo-RL for token and sequence level.
"""

from collections.abc import Mapping
from types import MappingProxyType

import torch

from blueprint.verifying.formulas.options import AGGREGATIONS, Options, Texts, picked
from blueprint.verifying.formulas.tensors import Held, Named, wide, with_weight

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
