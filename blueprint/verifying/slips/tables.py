"""All slips by quantity, those in the total, and the words that each number is added up from where nothing slipped."""

from collections.abc import Callable, Mapping
from functools import partial

from blueprint.verifying.slips import critic, gae, metrics, policy, rewards
from blueprint.verifying.slips.own import Own
from blueprint.verifying.slips.slip import Slip, TensorSlip, Words

TENSORS: Mapping[str, tuple[TensorSlip, ...]] = {
    "rewards": rewards.REWARDS,
    "advantages": gae.ADVANTAGES,
    "returns": gae.RETURNS,
}

NUMBERS: Mapping[str, tuple[Slip, ...]] = {
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

AS_THEY_ARE: Mapping[str, Callable[[Own], Words]] = {
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

MODES: Mapping[str, str] = {"value_loss": "value.aggregation", "entropy": "loss.entropy_aggregation"}
"""By number, the convention of how it is added up, where it may have its own."""


PARTS = {"value_loss": "the value loss", "entropy": "the entropy", "kl_loss": "the KL"}
TIMES: tuple[tuple[str, Callable[[float], float]], ...] = (
    ("{} with the wrong sign in the total", lambda coefficient: -2.0),
    ("{} left out of the total", lambda coefficient: -1.0),
    ("{} twice in the total", lambda coefficient: 1.0),
    ("half of {} in the total", lambda coefficient: -0.5),
    ("{} without its coefficient", lambda coefficient: 1 / coefficient - 1 if coefficient else -1.0),
    ("{} with its coefficient twice", lambda coefficient: coefficient - 1),
)
"""How often, given its coefficient, a part is added to the total that is right to make the one that was logged."""


def _more(part: str, times: Callable[[float], float], known: Mapping[str, float]) -> float:
    adds = known[f"adds.{part}"]
    return known["total_loss"] + times(abs(adds / known[part]) if known[part] else 0.0) * adds


TOTAL: tuple[Slip, ...] = (
    *(Slip(said.format(called), partial(_more, part, times)) for part, called in PARTS.items() for said, times in TIMES),
    Slip("the policy loss with the wrong sign in the total",
         lambda known: known["total_loss"] - 2 * known["policy_loss"]),
    Slip("the policy loss left out of the total", lambda known: known["total_loss"] - known["policy_loss"]),
)  # fmt: skip
