"""What else a run may have set conventions to, and what their values mean, as data."""

from collections.abc import Mapping
from types import MappingProxyType

from blueprint.verifying.settings import Setting

VALUES: Mapping[str, tuple[Setting, ...]] = MappingProxyType(
    {
        "gamma": (0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 1),
        "gae_lambda": (0, 0.9, 0.92, 0.95, 0.97, 0.98, 0.99, 1),
        "kl_coef": (0,),
        "loss.kl_coef": (0,),
        "clip_range": (0.1, 0.15, 0.2, 0.25, 0.28, 0.3, 0.4, "off"),
        "loss.clip_range_high": (0.1, 0.15, 0.2, 0.25, 0.28, 0.3, 0.4, "off"),
        "value_clip_range": (0.1, 0.2, 0.25, 0.3, 0.5, 1, "off"),
        "vf_coef": (0, 0.1, 0.25, 0.5, 1),
        "ent_coef": (0, 0.001, 0.01),
        "whiten_eps": (1e-8, 1e-6, 1e-5, 1e-4),
        "reward.kl_clamp_in": (10, 20, "off"),
        "reward.kl_clamp_out": (10, 20, "off"),
        "loss.kl_clamp_in": (10, 20, "off"),
        "loss.kl_clamp_out": (10, 20, "off"),
        "reward.score_clip": (1, 5, 10, "off"),
        "reward.missing_eos_value": (-10, -3, -1, 0, 1, 3),
        "advantage.tail_slots": (0, 1, 2),
        "advantage.ddof": (0, 1),
        "loss.dual_clip": (2, 3, 5, 10, "off"),
        "loss.log_ratio_clamp": (0.1, 0.2, 0.3, 0.5, 1, 10, 20, "off"),
        "loss.ratio_threshold": (2, 10, "off"),
        "value.factor": (0.25, 0.5, 1),
        "value.tail": (0, 1),
    }
)
"""Values of conventions that are numbers, beside those of the presets."""

TOGETHER = MappingProxyType({"clip": ("clip_range", "loss.clip_range_high")})
"""Conventions that are often one setting of a library."""

FINE = ("_eps", "whiten_eps", "ratio_threshold", "log_ratio_clamp", "kl_clamp_in", "kl_clamp_out", "kl_clamp_of")
"""Conventions, by how their names end, that move a number so little, or so rarely, that they are no part of pairs."""

MEANINGS: Mapping[tuple[str, float | str], str] = MappingProxyType(
    {
        ("kl_coef", 0): "no KL",
        ("reward.kl_in", "none"): "no KL in the reward",
        ("reward.kl_in", "loss"): "the KL in the loss, not in the reward",
        ("reward.kl_in", "both"): "the KL in the reward and in the loss",
        ("reward.kl_clamp_of", "k3"): "only k3 clamped",
        ("loss.kl_coef", 0): "no KL in the loss",
        ("loss.kl_clamp_of", "k3"): "only k3 clamped",
        ("reward.kl_at_first_pad", "on"): "the KL of the first pad is paid, too",
        ("reward.score_slot", "last"): "the score on the last token",
        ("reward.score_slot", "end"): "the score in the very last position",
        ("reward.score_slot", "one_past"): "the score one past the last token",
        ("reward.score_slot", "two_past"): "the score two past the last token",
        ("reward.score_clip", "off"): "scores not clipped",
        ("reward.whiten", "off"): "raw rewards, not whitened",
        ("reward.whiten", "on"): "rewards whitened before GAE",
        ("whiten_advantages", "off"): "raw advantages, not whitened",
        ("whiten_advantages", "keep_mean"): "whitened, and their mean added back",
        ("advantage.ddof", 0): "the variance divided by N",
        ("advantage.ddof", 1): "the variance divided by N − 1",
        ("advantage.stats", "all"): "padding counted in mean and variance",
        ("advantage.tail_slots", 0): "no V kept behind the last token",
        ("advantage.tail_slots", 1): "V one past the last token kept",
        ("advantage.tail_slots", 2): "V two past the last token kept",
        ("advantage.gae_holes", "carry"): "V and A carried over holes of the mask",
        ("advantage.gae_holes", "zero"): "V and r set to 0 in holes of the mask",
        ("batch.response_mask", "all"): "every position counted, pads too",
        ("loss.dual_clip", "off"): "no dual clip",
        ("loss.sample_filter", "ended"): "only responses that ended counted",
        ("loss.sample_filter", "none"): "responses that did not end counted, too",
        ("value_clip_range", "off"): "values not clipped",
        ("value.tail", 1): "the position behind the last token counted",
        ("value.combine", "clipped_only"): "the clipped square alone, not the larger one",
        ("metrics.over", "all"): "pads counted in the mean",
        ("metrics.over", "mask"): "only tokens counted in the mean",
    }
)
"""By convention and value; "off" is that of a limit, too. Values that say what they mean are not listed."""
