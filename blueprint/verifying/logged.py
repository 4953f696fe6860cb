"""What libraries log of a training step, as data: which row each quantity is, what it is made of, and which conventions move it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

_WHITENING = ("advantage.ddof", "advantage.stats", "advantage.eps_form", "advantage.mean_eps", "advantage.ddof_eps")
_KL = ("kl_coef", "kl_estimator", "reward.kl_in", "reward.kl_clamp_in", "reward.kl_clamp_out", "reward.kl_clamp_of")
_KL_IN_LOSS = ("loss.kl_coef", "reward.kl_in")
_KL_LOSS = (*_KL_IN_LOSS, "loss.kl_estimator", "loss.kl_clamp_in", "loss.kl_clamp_out", "loss.kl_clamp_of")
_SCORE = ("reward.score_clip", "reward.missing_eos", "reward.missing_eos_test", "reward.missing_eos_value")
_GAE = ("gamma", "gae_lambda", "advantage.tail_slots", "advantage.gae_holes", "batch.response_mask")
_AGGREGATION = ("loss.aggregation", "loss.agg_eps", "loss.seq_eps", "batch.response_mask")
_CLIP = ("clip", "clip_range", "loss.clip_range_high", "loss.dual_clip", "loss.log_ratio_clamp")


@dataclass(frozen=True)
class Quantity:
    """A tensor or number that a library may log.

    rows: its row, then others that libraries log by the same name, with what the name then means.
    needs: its name in `needs.NEEDS`.
    after: what it is made of, among what is logged.
    moves: the conventions that move it while what it is made of stays.
    spread, weights: the row that a number is a sum of, and the weights of that sum: rounding moves it by their rounding.
    whitened: it is divided by a deviation, so that rounding is, too.
    """

    name: str
    rows: tuple[tuple[str, str], ...]
    needs: str
    after: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    spread: str = ""
    weights: str = ""
    whitened: bool = False


TENSORS = (
    Quantity("scores", (("score.place", ""),), "scores", (), ("reward.score_slot",)),
    Quantity(
        "rewards",
        (("rewards", ""), ("rewards.raw", "before whitening")),
        "rewards",
        ("scores",),
        (*_KL, "reward.kl_at_first_pad", "reward.score_slot", *_SCORE, "reward.whiten", "reward.whiten_rezero",
         "whiten_eps", *_WHITENING, "batch.response_mask", "advantage.tail_slots"),
    ),
    Quantity(
        "advantages",
        (("advantages_used", ""), ("advantages", "before whitening")),
        "advantages",
        ("rewards",),
        ("whiten_advantages", *_WHITENING, "whiten_eps", *_GAE),
        whitened=True,
    ),
    Quantity("returns", (("returns", ""),), "returns", ("rewards",), _GAE),
)  # fmt: skip
"""Tensors, in the order of derivation."""

NUMBERS = (
    Quantity("kl.statistic", (("kl.statistic", ""),), "kl", (), (*_KL, "metrics.kl_stat", "advantage.mean_eps"),
             "kl.response_used"),
    Quantity("loss.mean_ratio", (("loss.mean_ratio", ""), ("ratio.mean", "pads counted")), "ratio", (),
             ("metrics.over", "loss.log_ratio_clamp", "batch.response_mask"), "ratio"),
    Quantity("ratio.mean", (("ratio.mean", ""), ("loss.mean_ratio", "over the words")), "ratio", (),
             ("metrics.over", "loss.log_ratio_clamp", "batch.response_mask"), "ratio"),
    Quantity("approx_kl.used", (("approx_kl.used", ""),), "approx_kl", (),
             ("metrics.kl", "metrics.log_ratio", "metrics.over", "loss.log_ratio_clamp", "batch.response_mask"), "policy_kl.used"),
    Quantity("policy_loss", (("policy_loss", ""),), "policy_loss", ("advantages",),
             (*_CLIP, "loss.ratio_threshold", "loss.sample_filter", *_AGGREGATION), "surrogate",
             "policy.weight.row", whitened=True),
    Quantity("clip_fraction.used", (("clip_fraction.used", ""),), "clip_fraction", ("advantages",),
             ("metrics.clip_fraction", *_CLIP, "batch.response_mask", "advantage.mean_eps")),
    Quantity("clip_fraction.dual", (("clip_fraction.dual", ""),), "clip_fraction", ("advantages",),
             (*_CLIP, "batch.response_mask", "advantage.mean_eps")),
    Quantity("value_loss", (("value_loss", ""), ("adds.value_loss", "times its coefficient")), "value_loss", ("returns",),
             ("value_clip_range", "value.factor", "value.tail", "value.combine", "value.aggregation", "loss.ratio_threshold",
              *_AGGREGATION), "value.word_loss", "value.weight.row"),
    Quantity("clip_fraction.value", (("clip_fraction.value", ""),), "value_loss", ("returns",),
             ("value_clip_range", "value.tail", "batch.response_mask", "advantage.mean_eps")),
    Quantity("ev.used", (("ev.used", ""),), "explained_variance", ("returns",),
             ("metrics.explained", "metrics.ev_eps", "advantage.ddof", "batch.response_mask"), "returns"),
    Quantity("entropy", (("entropy", ""), ("entropy.watched", "watched")), "entropy", (),
             ("loss.entropy_aggregation", "loss.sample_filter", "metrics.over", *_AGGREGATION), "", "entropy.weight.row"),
    Quantity("entropy.watched", (("entropy.watched", ""), ("entropy", "as in the loss")), "entropy.watched", (),
             ("metrics.over", "batch.response_mask")),
    Quantity("kl_loss", (("kl_loss", ""), ("adds.kl_loss", "times its coefficient")), "kl_loss", (),
             (*_KL_LOSS, *_AGGREGATION), "kl_new.used", "policy.weight.row"),
    Quantity("total_loss", (("total_loss", ""),), "total_loss", ("policy_loss", "value_loss", "entropy", "kl_loss"),
             ("vf_coef", "ent_coef", "policy_kl_coef", "loss.joint", *_KL_IN_LOSS), "surrogate",
             "policy.weight.row", whitened=True),
)  # fmt: skip
"""Numbers, in the order of derivation."""

CALLED = MappingProxyType(
    {
        "kl": "kl.statistic",
        "ratio": "ratio.mean",
        "mean_ratio": "loss.mean_ratio",
        "approx_kl": "approx_kl.used",
        "clip_fraction": "clip_fraction.used",
        "explained_variance": "ev.used",
    }
)
"""Other names of logged numbers."""

PARTS = ("policy_loss", "value_loss", "entropy", "kl_loss")
"""Numbers that a total loss is the sum of."""

ALL = MappingProxyType({each.name: each for each in (*TENSORS, *NUMBERS)})


def before(name: str, quantities: Mapping[str, Any] = ALL) -> tuple[str, ...]:
    """Returns everything that a quantity is made of, directly (`after`) or through others."""
    direct = quantities[name].after
    return tuple(dict.fromkeys((*direct, *(far for each in direct for far in before(each, quantities)))))
