"""KL to the reference: the estimates and their clamps, where it is paid and at which price, and the statistic of it.

Sources: Schulman, Approximating KL Divergence, 2020 (k1, k2, k3); Ziegler et al. 2019 (penalty in the reward); NeMo-RL and
verl for the clamps before and behind the estimate. Tensors are [F, N, T].
"""

from __future__ import annotations

from types import MappingProxyType

import torch
from torch import Tensor

from blueprint.witness.conventions.options import Options, within
from blueprint.witness.conventions.texts import Texts
from blueprint.witness.models import Held, Named

ESTIMATOR = MappingProxyType({"kl": "kl_estimator", "kl_new": "loss.kl_estimator"})
CLAMPS = MappingProxyType({"kl": "reward.kl_clamp", "kl_new": "loss.kl_clamp"})
"""By name of the estimates, the switch that chooses among them, and how the names of their clamps begin."""


def estimate_rows(name: str, log_ratio: Tensor, exact: Tensor, options: Options) -> Named:
    """Returns the estimates from log π − log π_ref of the words written, the chosen one and that one clamped.

    k3 is made of the log-ratio after its clamp; so are the others, unless only k3 is clamped, as in verl: then they are of
    the log-ratio as it is, and their results are not clamped either. "full" is the exact KL, which has no log-ratio.
    """
    clamp, estimator = CLAMPS[name], ESTIMATOR[name]
    held = within(log_ratio, options.number(f"{clamp}_in"))
    alone = options.says(f"{clamp}_of", "k3")
    k1 = torch.where(alone, log_ratio, held)
    estimates = {"k1": k1, "k2": k1.square() / 2, "k3": torch.exp(-held) - 1 + held, "abs": k1.abs()}
    chosen = options.pick(estimator, estimates | {"full": exact})
    clamped = within(chosen, options.number(f"{clamp}_out"))
    found = {"free": log_ratio, "held": held} | estimates | {"chosen": chosen, "clamped": clamped}
    holds = ~alone | options.says(estimator, "k3")
    found |= {"used": torch.where(holds, clamped, chosen), "holds": holds.to(chosen.dtype).flatten()}
    return {f"{name}.{row}": each for row, each in found.items()}


def kl_rows(texts: Texts, options: Options) -> Named:
    """Returns the estimates for the old policy, which the reward pays, and for the new one, which a loss pays."""
    old, reference, new = (
        texts.slots * each for each in (texts.old_logprobs, texts.reference_logprobs, texts.logprobs)
    )
    of_old = estimate_rows("kl", old - reference, texts.slots * texts.kl_old_reference, options)
    return of_old | estimate_rows("kl_new", new - reference, texts.slots * texts.kl_new_reference, options)


def price_rows(rows: Held, options: Options) -> Named:
    """Returns where the KL is paid, [F, N, T], and its price in the reward and in the loss, [F]."""
    both = options.says("reward.kl_in", "both", 1)
    at_first_pad = options.says("reward.kl_at_first_pad", "on") * rows["place.first_past"][..., 1:]
    paid = {place: options.says("reward.kl_in", place, 1) | both for place in ("reward", "loss")}
    return {
        "kl.support": torch.maximum(rows["response"], at_first_pad),
        "kl_coef.reward": paid["reward"] * options.number("kl_coef", 1),
        "kl_coef.loss": paid["loss"] * options.number("loss.kl_coef", 1),
    }


def statistic_rows(rows: Held, options: Options) -> Named:
    """Returns what a controller of the price is fed with: the mean over responses of their sums or their means, [F].

    A response without a word does not count.
    """
    length = rows["response"].sum(dim=-1)
    wrote = (length > 0).to(length.dtype)
    total = (rows["response"] * rows["kl.used"]).sum(dim=-1)
    mean = total / (length.clamp(min=1) + options.number("advantage.mean_eps", 2))
    used = options.pick("metrics.kl_stat", {"seq_sum": total, "token_mean": mean})
    return {
        "kl.response_sum": total,
        "kl.response_mean": mean,
        "kl.response_used": used,
        "kl.wrote": wrote,
        "kl.statistic": options.sums.total("kl.statistic", used) / options.sums.total("kl.wrote", wrote).clamp(min=1),
    }
