"""The options in which libraries differ, as tensors, and the inputs to which they are applied.

An option is a number, or for a switch the number of the option that it stands at. PPO of the papers is the default: limits are
absent, and what some libraries add is 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType

import torch

from blueprint.verifying.formulas.tensors import WHOLE, Sums

ON_OFF = ("off", "on")
AGGREGATIONS = ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm", "seq-mean-token-mean")
ESTIMATORS = ("k1", "k2", "k3", "full", "abs")
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
        "advantage.eps_form": ("rsqrt_var_plus", "clamp", "std_max", "std_plus"),
        "loss.sample_filter": ("none", "ended"),
        "loss.aggregation": AGGREGATIONS,
        "loss.joint": ("on", "off"),
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
"""The options of every switch, the default first; one is computed with as its place here, from 0, whatever a file's is."""

DEFAULTS = MappingProxyType(
    dict.fromkeys(("gamma", "gae_lambda", "batch.temperature", "advantage.ddof"), 1.0)
    | dict.fromkeys(("kl_coef", "vf_coef", "ent_coef", "policy_kl_coef", "loss.kl_coef"), 0.0)
    | dict.fromkeys(("whiten_eps", "batch.temperature_eps", "advantage.mean_eps", "advantage.ddof_eps"), 0.0)
    | dict.fromkeys(("loss.agg_eps", "loss.seq_eps", "metrics.ev_eps"), 0.0)
    | dict.fromkeys(("reward.missing_eos_value", "advantage.tail_slots", "value.tail"), 0.0)
    | dict.fromkeys(("clip_range", "loss.clip_range_high", "loss.dual_clip", "loss.ratio_threshold"), inf)
    | dict.fromkeys(("value_clip_range", "reward.score_clip", "loss.log_ratio_clamp"), inf)
    | dict.fromkeys(("reward.kl_clamp_in", "reward.kl_clamp_out", "loss.kl_clamp_in", "loss.kl_clamp_out"), inf)
    | {"value.factor": 0.5}
)
"""The options that are numbers; a limit that is off is infinite."""
NUMBERS = tuple(DEFAULTS)


@dataclass(frozen=True)
class Options:
    """The options in force for each of F files: every name of NUMBERS and WORDS, [F, 1, 1].

    `sums` are how numbers of a batch are added up: over all responses that are given, or over tiles of more of them.
    """

    values: Mapping[str, torch.Tensor]
    sums: Sums = WHOLE

    def number(self, name: str, axes: int = 3) -> torch.Tensor:
        """Returns an option to be used with tensors of so many axes: [F, 1, 1], [F, 1] or [F]."""
        return self.values[name].view(-1, *[1] * (axes - 1))

    def says(self, name: str, word: str, axes: int = 3) -> torch.Tensor:
        """Returns true for the files whose switch stands at that option."""
        return self.number(name, axes) == WORDS[name].index(word)

    def pick(self, name: str, alternatives: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Returns for each file what goes with the option of its switch; all have the same axes."""
        return picked(self.values[name], [alternatives[word] for word in WORDS[name]])


def picked(number: torch.Tensor, alternatives: list[torch.Tensor]) -> torch.Tensor:
    """Returns for each file the alternative of its number, from 0; all have the same axes."""
    found, *others = alternatives
    for place, each in enumerate(others, start=1):
        found = torch.where(number.view(-1, *[1] * (each.dim() - 1)) == place, each, found)
    return found


@dataclass(frozen=True)
class Texts:
    """The inputs; files, responses and columns are the axes [F, N, T], scores have [F, N].

    `slots` is 1 where a response may have a token, `mask` where it has one, up to and including the end token; a mask may
    have holes. The others stand at every response position, pads included: nats of the token written there, of the whole
    distribution, and values that are not masked. What stands elsewhere must be finite. `ended` is 1 if the end token was
    written.
    """

    slots: torch.Tensor
    mask: torch.Tensor
    old_logprobs: torch.Tensor
    reference_logprobs: torch.Tensor
    logprobs: torch.Tensor
    kl_old_reference: torch.Tensor
    kl_new_reference: torch.Tensor
    kl_old_new: torch.Tensor
    entropy: torch.Tensor
    old_values: torch.Tensor
    values: torch.Tensor
    score: torch.Tensor
    ended: torch.Tensor
