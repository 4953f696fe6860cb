"""The options in which libraries differ, as tensors: numbers, and for a switch the number of the word that it stands at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from blueprint.witness.conventions.sums import WHOLE, Sums

ON_OFF = ("off", "on")
AGGREGATIONS = ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm", "seq-mean-token-mean")

ESTIMATORS = ("k1", "k2", "k3", "abs", "full")

WORDS = MappingProxyType(
    {
        "kl_estimator": ESTIMATORS,
        "whiten_advantages": ("on", "off", "keep_mean"),
        "batch.response_mask": ("non_pad", "all"),
        "reward.kl_clamp_of": ("all", "k3"),
        "reward.kl_in": ("reward", "loss", "none", "both"),
        "reward.kl_at_first_pad": ON_OFF,
        "reward.score_slot": ("last", "end", "one_past", "two_past"),
        "reward.missing_eos": ("off", "subtract", "set"),
        "reward.missing_eos_test": ("token", "has_padding"),
        "reward.whiten": ON_OFF,
        "reward.whiten_rezero": ON_OFF,
        "advantage.gae_holes": ("zero", "carry"),
        "advantage.stats": ("mask", "all"),
        "advantage.eps_form": ("rsqrt_var_plus", "clamp", "std_plus", "std_max"),
        "loss.sample_filter": ("none", "ended"),
        "loss.aggregation": AGGREGATIONS,
        "loss.joint": ON_OFF,
        "loss.entropy_aggregation": ("as-policy", "token-mean"),
        "loss.kl_estimator": ESTIMATORS,
        "loss.kl_clamp_of": ("all", "k3"),
        "value.combine": ("max", "clipped_only"),
        "value.aggregation": ("as-policy", "token-mean"),
        "metrics.kl": ("k1", "k2", "k3"),
        "metrics.log_ratio": ("clamped", "raw"),
        "metrics.over": ("mask", "all"),
        "metrics.clip_fraction": ("loss", "ratio"),
        "metrics.explained": ("var_old", "var_new", "mse_new"),
        "metrics.kl_stat": ("seq_sum", "token_mean"),
    }
)
"""The words of every switch; a word's number is its place, from 0."""

NUMBERS = (
    "gamma",
    "gae_lambda",
    "kl_coef",
    "clip_range",
    "value_clip_range",
    "vf_coef",
    "ent_coef",
    "policy_kl_coef",
    "whiten_eps",
    "batch.temperature",
    "batch.temperature_eps",
    "reward.kl_clamp_in",
    "reward.kl_clamp_out",
    "reward.score_clip",
    "reward.missing_eos_value",
    "advantage.tail_slots",
    "advantage.ddof",
    "advantage.mean_eps",
    "advantage.ddof_eps",
    "loss.log_ratio_clamp",
    "loss.clip_range_high",
    "loss.dual_clip",
    "loss.ratio_threshold",
    "loss.agg_eps",
    "loss.seq_eps",
    "loss.kl_coef",
    "loss.kl_clamp_in",
    "loss.kl_clamp_out",
    "value.factor",
    "value.tail",
    "metrics.ev_eps",
)
"""The options that are numbers; a limit that is off is infinite."""


@dataclass(frozen=True)
class Options:
    """The options in force for each of F files: every name of NUMBERS and WORDS, [F, 1, 1].

    `sums` are how numbers of a batch are added up: over all responses that are given, or over tiles of more of them.
    """

    values: Mapping[str, Tensor]
    sums: Sums = WHOLE

    def number(self, name: str, axes: int = 3) -> Tensor:
        """Returns an option to be used with tensors of so many axes: [F, 1, 1], [F, 1] or [F]."""
        return self.values[name].view(-1, *[1] * (axes - 1))

    def says(self, name: str, word: str, axes: int = 3) -> Tensor:
        """Returns true for the files whose switch stands at the word."""
        return self.number(name, axes) == WORDS[name].index(word)

    def pick(self, name: str, alternatives: Mapping[str, Tensor]) -> Tensor:
        """Returns for each file the alternative of its switch's word; all have the same axes."""
        found, *others = (alternatives[word] for word in WORDS[name])
        for place, each in enumerate(others, start=1):
            found = torch.where(self.number(name, each.dim()) == place, each, found)
        return found


def within(values: Tensor, limit: Tensor) -> Tensor:
    """Returns values cut to ±limit, or as they are if there is none."""
    return torch.where(torch.isinf(limit), values, torch.minimum(torch.maximum(values, -limit), limit))
