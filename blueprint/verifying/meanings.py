"""What values of conventions mean, in words, as data: for reports of what a run may have done otherwise."""

from collections.abc import Mapping
from types import MappingProxyType

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
        ("reward.score_slot", "last"): "the score on the last word",
        ("reward.score_slot", "end"): "the score in the very last slot",
        ("reward.score_slot", "one_past"): "the score one past the last word",
        ("reward.score_slot", "two_past"): "the score two past the last word",
        ("reward.score_clip", "off"): "scores not clipped",
        ("reward.whiten", "off"): "raw rewards, not whitened",
        ("reward.whiten", "on"): "rewards whitened before GAE",
        ("whiten_advantages", "off"): "raw advantages, not whitened",
        ("whiten_advantages", "keep_mean"): "whitened, and their mean added back",
        ("advantage.ddof", 0): "the variance divided by N",
        ("advantage.ddof", 1): "the variance divided by N − 1",
        ("advantage.stats", "all"): "padding counted in mean and variance",
        ("advantage.tail_slots", 0): "no V kept behind the last word",
        ("advantage.tail_slots", 1): "V one past the last word kept",
        ("advantage.tail_slots", 2): "V two past the last word kept",
        ("advantage.gae_holes", "carry"): "V and A carried over holes of the mask",
        ("advantage.gae_holes", "zero"): "V and r set to 0 in holes of the mask",
        ("batch.response_mask", "all"): "every slot counted, pads too",
        ("loss.dual_clip", "off"): "no dual clip",
        ("loss.sample_filter", "ended"): "only responses that ended counted",
        ("loss.sample_filter", "none"): "responses that did not end counted, too",
        ("value_clip_range", "off"): "values not clipped",
        ("value.tail", 1): "the slot behind the last word counted",
        ("value.combine", "clipped_only"): "the clipped square alone, not the larger one",
        ("metrics.over", "all"): "pads counted in the mean",
        ("metrics.over", "mask"): "only words counted in the mean",
    }
)
"""By convention and value; "off" is that of a limit, too. Values that say what they mean are not listed."""
