"""Hold the conventions in which libraries differ, as data: for each what the default does, and what may stand there.

The table of what each library does is `presets.csv`: a row per convention, a column per preset.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from blueprint.inputs.catalogue import Catalogue, catalogue
from blueprint.inputs.setting import OFF, Setting

_LARGEST = 100.0
_LARGEST_EPS = 0.1  # what keeps from dividing by 0 is small; it is shown as a power of ten
_ON_OFF = ("off", "on")
_CLAMPED = ("all", "k3")
_ESTIMATORS = ("k1", "k2", "k3", "abs", "full")


def _limit(value: float = OFF, low: float = 0.0) -> Setting:
    """Describe a limit that may be off."""
    return Setting(value, low=low, high=OFF)


# A coefficient may be any size that still leaves the other terms of the loss visible.
_LARGEST_COEFFICIENT = 100.0

PRESET_DEFAULT = MappingProxyType(
    {
        "gamma": Setting(0.9),
        "gae_lambda": Setting(0.8),
        "kl_coef": Setting(0.1, high=_LARGEST_COEFFICIENT),
        "clip_range": Setting(0.2),
        "value_clip_range": Setting(0.2, high=_LARGEST_COEFFICIENT),
        "vf_coef": Setting(0.5, high=_LARGEST_COEFFICIENT),
        "ent_coef": Setting(0.01, high=_LARGEST_COEFFICIENT),
        "policy_kl_coef": Setting(0.0, high=_LARGEST_COEFFICIENT),
        "update_step": Setting(1.0, low=-10.0, high=10.0),
        "kl_estimator": Setting("k1", words=("k1", "k2", "k3")),
        "whiten_advantages": Setting("on", words=("on", "off")),
        # Not 0: one response word alone has variance 0, and 0/0 would stand in its cell.
        "whiten_eps": Setting(1e-8, low=1e-12),
    }
)

# The default preset's words come first where its own build knows no other.
CONVENTIONS = MappingProxyType(
    {
        "batch.temperature": Setting(1.0, low=0.01, high=_LARGEST),
        "batch.temperature_eps": Setting(0.0, high=_LARGEST_EPS),
        "batch.response_mask": Setting("non_pad", words=("non_pad", "all")),
        "reward.kl_clamp_in": _limit(),
        "reward.kl_clamp_out": _limit(),
        "reward.kl_clamp_of": Setting("all", words=_CLAMPED),
        "reward.kl_in": Setting("reward", words=("reward", "loss", "none", "both")),
        "reward.kl_at_first_pad": Setting("off", words=_ON_OFF),
        "reward.score_slot": Setting("last", words=("last", "end", "one_past", "two_past")),
        "reward.score_clip": _limit(),
        "reward.missing_eos": Setting("off", words=("off", "subtract", "set")),
        "reward.missing_eos_value": Setting(0.0, low=-_LARGEST, high=_LARGEST),
        "reward.missing_eos_test": Setting("token", words=("token", "has_padding")),
        "reward.whiten": Setting("off", words=_ON_OFF),
        "reward.whiten_rezero": Setting("on", words=_ON_OFF),
        "advantage.tail_slots": Setting(0.0, high=2.0, whole=True),
        "advantage.gae_holes": Setting("zero", words=("zero", "carry")),
        "advantage.stats": Setting("mask", words=("mask", "all")),
        "advantage.ddof": Setting(1.0, whole=True),
        "advantage.eps_form": Setting("rsqrt_var_plus", words=("rsqrt_var_plus", "clamp", "std_plus", "std_max")),
        "advantage.mean_eps": Setting(0.0, high=_LARGEST_EPS),
        "advantage.ddof_eps": Setting(0.0, high=_LARGEST_EPS),
        "loss.sample_filter": Setting("none", words=("none", "ended")),
        "loss.log_ratio_clamp": _limit(),
        "loss.clip_range_high": Setting(0.2, high=OFF),
        "loss.dual_clip": _limit(low=1.0),
        "loss.ratio_threshold": _limit(),
        "loss.aggregation": Setting(
            "token-mean",
            words=(
                "token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm", "seq-mean-token-mean",
            ),
        ),
        "loss.agg_eps": Setting(0.0, high=_LARGEST_EPS),
        "loss.seq_eps": Setting(0.0, high=_LARGEST_EPS),
        "loss.joint": Setting("on", words=_ON_OFF),
        "loss.entropy_aggregation": Setting("as-policy", words=("as-policy", "token-mean")),
        "loss.kl_coef": PRESET_DEFAULT["kl_coef"],
        "loss.kl_estimator": Setting("k1", words=_ESTIMATORS),
        "loss.kl_clamp_in": _limit(),
        "loss.kl_clamp_out": _limit(),
        "loss.kl_clamp_of": Setting("all", words=_CLAMPED),
        "value.factor": Setting(0.5, high=_LARGEST),
        "value.tail": Setting(0.0, whole=True),
        "value.combine": Setting("max", words=("max", "clipped_only")),
        "value.aggregation": Setting("as-policy", words=("as-policy", "token-mean")),
        "metrics.kl": Setting("k3", words=("k1", "k2", "k3")),
        "metrics.log_ratio": Setting("clamped", words=("clamped", "raw")),
        "metrics.over": Setting("mask", words=("mask", "all")),
        "metrics.clip_fraction": Setting("loss", words=("loss", "ratio")),
        "metrics.explained": Setting("var_old", words=("var_old", "var_new", "mse_new")),
        "metrics.ev_eps": Setting(0.0, high=_LARGEST_EPS),
        "metrics.kl_stat": Setting("seq_sum", words=("seq_sum", "token_mean")),
    }
)  # fmt: skip

# Settings of the plain build that may be more when every convention is live.
_WIDER = {
    "kl_estimator": Setting("k1", words=_ESTIMATORS),
    "whiten_advantages": Setting("on", words=("on", "off", "keep_mean")),
    "clip_range": Setting(0.2, high=OFF),
    "value_clip_range": _limit(0.2),
}

LIVE = MappingProxyType({**PRESET_DEFAULT, **_WIDER, **CONVENTIONS})
"""Every setting of a workbook whose conventions are live, with what the default preset does."""

FOLLOWS = MappingProxyType(
    {
        "loss.clip_range_high": "clip_range",
        "loss.kl_coef": "kl_coef",
        "loss.kl_estimator": "kl_estimator",
        "loss.kl_clamp_in": "reward.kl_clamp_in",
        "loss.kl_clamp_out": "reward.kl_clamp_out",
        "loss.kl_clamp_of": "reward.kl_clamp_of",
    }
)
"""By key the setting that means it, too, where only that one is given: most libraries have one number for both."""


def followed(given: Mapping[str, float | str], but: Collection[str] = ()) -> dict[str, float | str]:
    """Return settings with those that follow them; what is given itself, or is named in `but`, follows nothing."""
    more = {key: given[led] for key, led in FOLLOWS.items() if led in given and key not in but}
    return {**more, **given}


@cache
def rlhf() -> Catalogue:
    """Read the presets of RLHF PPO: the default and ten libraries."""
    return catalogue(Path(__file__).parents[1], LIVE)


@dataclass(frozen=True)
class Conventions:
    """Say whether conventions are live, which preset is in use, and which presets stand side by side."""

    live: bool = False
    preset: str = "default"
    compare: tuple[str, ...] = ()


PLAIN = Conventions()
