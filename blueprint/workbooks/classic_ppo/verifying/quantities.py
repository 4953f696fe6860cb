"""What of a rollout can be compared, in the order of derivation, and what each is made of."""

from typing import NamedTuple


class Quantity(NamedTuple):
    """A result. after: results that it is made of; made_of: tensors whose rounding it carries; scaled: divided by σ."""

    name: str
    after: tuple[str, ...] = ()
    made_of: tuple[str, ...] = ()
    scaled: bool = False


SIGNAL = ("rewards", "values_old")
LOGPROBS = ("logprobs_old", "logprobs_new")
FIRST = {
    "first.logprobs": Quantity("first.logprobs", made_of=LOGPROBS),
    "first.values": Quantity("first.values", made_of=("values_old", "values_new")),
}
"""What must be alike before the first update of a rollout: new log-probs and old, new values and old."""

FIRST_CALLED = {"first.logprobs": "new log-probs against old", "first.values": "new values against old"}

ROWS = (
    Quantity("rewards", made_of=("rewards_env", "terminal_values")),
    Quantity("advantages", ("rewards",), SIGNAL),
    Quantity("returns", ("rewards", "advantages"), SIGNAL),
    Quantity("advantages_used", ("rewards", "advantages"), SIGNAL, scaled=True),
)
NUMBERS = (
    Quantity("policy_loss", ("rewards", "advantages", "advantages_used"), (*SIGNAL, *LOGPROBS), scaled=True),
    Quantity("value_loss", ("rewards", "advantages", "returns"), (*SIGNAL, "values_new")),
    Quantity("entropy", (), ("entropy",)),
    Quantity("adds.value_loss", ("rewards", "advantages", "returns", "value_loss"), (*SIGNAL, "values_new")),
    Quantity("adds.entropy", ("entropy",), ("entropy",)),
    Quantity(
        "total_loss",
        ("rewards", "advantages", "returns", "advantages_used", "policy_loss", "value_loss", "entropy"),
        (*SIGNAL, *LOGPROBS, "values_new", "entropy"),
        scaled=True,
    ),
    Quantity("approx_kl.k1", (), LOGPROBS),
    Quantity("approx_kl.k3", (), LOGPROBS),
    Quantity("clip_fraction", (), LOGPROBS),
    Quantity("explained_variance.old", ("rewards", "advantages", "returns"), SIGNAL),
)
ALL = FIRST | {each.name: each for each in (*ROWS, *NUMBERS)}
