"""All slips by quantity, those in the total, and the words that each number is added up from where nothing slipped."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from blueprint.verifying.slips import critic, gae, metrics, policy, rewards
from blueprint.verifying.slips.own import Own
from blueprint.verifying.slips.slip import TensorSlip, TotalSlip, Words, WordsSlip

TENSORS: Mapping[str, tuple[TensorSlip, ...]] = MappingProxyType(
    {"rewards": rewards.REWARDS, "advantages": gae.ADVANTAGES, "returns": gae.RETURNS}
)

NUMBERS: Mapping[str, tuple[WordsSlip, ...]] = MappingProxyType(
    {
        "kl.statistic": metrics.KL,
        "loss.mean_ratio": metrics.RATIO,
        "ratio.mean": metrics.RATIO,
        "approx_kl.used": metrics.APPROX_KL,
        "policy_loss": policy.POLICY,
        "clip_fraction.used": metrics.CLIPPED,
        "clip_fraction.dual": metrics.FLOORED,
        "value_loss": critic.VALUE,
        "clip_fraction.value": metrics.HELD,
        "entropy": metrics.ENTROPY,
        "entropy.watched": metrics.ENTROPY_WATCHED,
        "kl_loss": metrics.KL_LOSS,
    }
)

AS_THEY_ARE: Mapping[str, Callable[[Own], Words]] = MappingProxyType(
    {
        "kl.statistic": metrics.kl_statistic,
        "loss.mean_ratio": metrics.mean_of("ratio", metrics.over_response),
        "ratio.mean": metrics.mean_of("ratio", metrics.over_watched),
        "approx_kl.used": metrics.mean_of("policy_kl.used", metrics.over_watched),
        "policy_loss": policy.policy,
        "clip_fraction.used": metrics.mean_of("clip_fraction.flag", metrics.over_response),
        "clip_fraction.dual": metrics.mean_of("clip_fraction.floored", metrics.over_response),
        "value_loss": critic.value,
        "clip_fraction.value": metrics.mean_of("value.held_counts", metrics.over_values),
        "entropy": metrics.entropy,
        "entropy.watched": metrics.entropy_watched,
        "kl_loss": metrics.kl_loss,
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
