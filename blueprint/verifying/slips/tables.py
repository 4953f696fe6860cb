"""All slips by quantity, with the words that each number is added up from where nothing slipped; and slips in the total."""

from collections.abc import Callable, Mapping
from functools import partial

from blueprint.verifying.slips import critic, gae, metrics, policy, rewards
from blueprint.verifying.slips.slip import Slip, TensorSlip

TENSORS: Mapping[str, tuple[TensorSlip, ...]] = {
    "rewards": rewards.REWARDS,
    "advantages": gae.ADVANTAGES,
    "returns": gae.RETURNS,
}

NUMBERS: Mapping[str, metrics.Summed] = {
    **metrics.METRICS,
    "policy_loss": metrics.Summed(policy.policy, policy.POLICY),
    "value_loss": metrics.Summed(critic.value, critic.VALUE, "value.aggregation"),
}

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

SLIPS: Mapping[str, tuple[Slip, ...]] = {
    "total_loss": TOTAL,
    **TENSORS,
    **{name: each.slips for name, each in NUMBERS.items()},
}
"""By quantity, its slips."""
