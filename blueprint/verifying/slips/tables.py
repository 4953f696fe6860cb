"""All slips by quantity, and the words that each number is added up from where nothing slipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from blueprint.verifying.slips import critic, gae, policy, rewards, watched
from blueprint.verifying.slips.own import Own
from blueprint.verifying.slips.slip import TensorSlip, Words, WordsSlip

TENSORS: Mapping[str, tuple[TensorSlip, ...]] = MappingProxyType(
    {"rewards": rewards.REWARDS, "advantages": gae.ADVANTAGES, "returns": gae.RETURNS}
)

NUMBERS: Mapping[str, tuple[WordsSlip, ...]] = MappingProxyType(
    {
        "kl.statistic": watched.KL,
        "loss.mean_ratio": watched.RATIO,
        "ratio.mean": watched.RATIO,
        "approx_kl.used": watched.APPROX_KL,
        "policy_loss": policy.POLICY,
        "clip_fraction.used": watched.CLIPPED,
        "clip_fraction.dual": watched.FLOORED,
        "value_loss": critic.VALUE,
        "clip_fraction.value": watched.HELD,
        "entropy": watched.ENTROPY,
        "entropy.watched": watched.ENTROPY_WATCHED,
        "kl_loss": watched.KL_LOSS,
    }
)

AS_THEY_ARE: Mapping[str, Callable[[Own], Words]] = MappingProxyType(
    {
        "kl.statistic": watched.kl_statistic,
        "loss.mean_ratio": watched.mean_of("ratio", watched.over_response),
        "ratio.mean": watched.mean_of("ratio", watched.over_watched),
        "approx_kl.used": watched.mean_of("policy_kl.used", watched.over_watched),
        "policy_loss": policy.policy,
        "clip_fraction.used": watched.mean_of("clip_fraction.flag", watched.over_response),
        "clip_fraction.dual": watched.mean_of("clip_fraction.floored", watched.over_response),
        "value_loss": critic.value,
        "clip_fraction.value": watched.mean_of("value.held_counts", watched.over_values),
        "entropy": watched.entropy,
        "entropy.watched": watched.entropy_watched,
        "kl_loss": watched.kl_loss,
    }
)

MODES: Mapping[str, str] = MappingProxyType({"value_loss": "value.aggregation", "entropy": "loss.entropy_aggregation"})
"""By number, the convention of how it is added up, where it may have its own."""
