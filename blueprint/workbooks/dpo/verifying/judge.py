"""Every quantity of a step of DPO that a file may have logged, in the order of derivation."""

from blueprint.dumps import SIDES
from blueprint.verifying import Axes, Quantity
from blueprint.workbooks.dpo.verifying.needs import OF_LOGITS

PAIRS = Axes("pair", "", "pair")
POLICY, REFERENCE = ("chosen.logp", "rejected.logp"), ("chosen.logp_ref", "rejected.logp_ref")
LOGPS = (*POLICY, *REFERENCE)
TOKENS = tuple(f"{side}.{name}" for side in SIDES for name in ("logprobs", "logprobs_ref"))
REWARDS = tuple(f"{side}.reward" for side in SIDES)


def _sequence(side: str, name: str) -> Quantity:
    return Quantity(f"{side}.{name}", (), (f"{side}.logprobs{name.removeprefix('logp')}",), (
        (f"{side}.{name}.mean", "a mean over its tokens"),))  # fmt: skip


MADE_OF = (*LOGPS, *TOKENS)
QUANTITIES = (
    *(_sequence(side, name) for name in ("logp", "logp_ref") for side in SIDES),
    *(Quantity(f"logps.{side}", (f"{side}.logp",), MADE_OF, ((f"logps.{side}.mean", "means over tokens"),)) for side in SIDES),
    *(Quantity(f"{side}.reward", LOGPS, MADE_OF) for side in SIDES),
    Quantity("margin", (*LOGPS, *REWARDS), MADE_OF),
    *(Quantity(f"rewards.{side}", (*LOGPS, *REWARDS), MADE_OF) for side in SIDES),
    Quantity("rewards.margins", (*LOGPS, *REWARDS, "margin"), MADE_OF),
    Quantity("rewards.accuracies", (*LOGPS, *REWARDS), MADE_OF),
    Quantity("loss.pair", LOGPS, MADE_OF),
    Quantity("preference_loss", (*LOGPS, "loss.pair"), MADE_OF),
    Quantity("nll", (), TOKENS),
    Quantity("total_loss", (*LOGPS, "loss.pair", "preference_loss", "nll"), MADE_OF),
    *(Quantity(name) for name in OF_LOGITS),
)  # fmt: skip
ALL = {each.name: each for each in QUANTITIES}
