"""All slips by quantity, those in the total, and the words that each number is added up from where nothing slipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from blueprint.verifying.slips import critic, gae, policy, rewards, watched
from blueprint.verifying.slips.own import Own
from blueprint.verifying.slips.slip import TensorSlip, TotalSlip, Words, WordsSlip

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


Numbers = Mapping[str, float]

PARTS = {"value_loss": "the value loss", "entropy": "the entropy", "kl_loss": "the KL"}


def _more(part: str, times: float) -> Callable[[Numbers], float]:
    """The total with so many times more of what a part adds."""
    return lambda known: known["total_loss"] + times * known[f"adds.{part}"]


def _coefficient(known: Numbers, part: str) -> float:
    return abs(known[f"adds.{part}"] / known[part]) if known[part] else 0.0


def _bare(part: str) -> Callable[[Numbers], float]:
    """The total with a part without its coefficient, of the sign that it has."""

    def total(known: Numbers) -> float:
        adds, coefficient = known[f"adds.{part}"], _coefficient(known, part)
        return known["total_loss"] - adds + (adds / coefficient if coefficient else 0.0)

    return total


def _squared(part: str) -> Callable[[Numbers], float]:
    return lambda known: known["total_loss"] + known[f"adds.{part}"] * (_coefficient(known, part) - 1)


def _slips(part: str, said: str) -> tuple[TotalSlip, ...]:
    return (
        TotalSlip(f"{said} with the wrong sign in the total", _more(part, -2.0)),
        TotalSlip(f"{said} left out of the total", _more(part, -1.0)),
        TotalSlip(f"{said} twice in the total", _more(part, 1.0)),
        TotalSlip(f"half of {said} in the total", _more(part, -0.5)),
        TotalSlip(f"{said} without its coefficient", _bare(part)),
        TotalSlip(f"{said} with its coefficient twice", _squared(part)),
    )


TOTAL: tuple[TotalSlip, ...] = (
    *(slip for part, said in PARTS.items() for slip in _slips(part, said)),
    TotalSlip(
        "the policy loss with the wrong sign in the total", lambda known: known["total_loss"] - 2 * known["policy_loss"]
    ),
    TotalSlip("the policy loss left out of the total", lambda known: known["total_loss"] - known["policy_loss"]),
)
