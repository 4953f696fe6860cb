"""The gradient of the loss: to the log-prob of every token, and on to the policy's logits."""

from collections.abc import Mapping

from blueprint.language import Block
from blueprint.language.gradient import Declared
from blueprint.workbooks.common import EVERYWHERE, Backward, Distribution
from blueprint.workbooks.common.definitions import derivatives

GIVEN = ("reference.logprobs", "mismatched.policy.logprobs", "mismatched.reference.logprobs", "policy.square")
"""What other models say, and what only weighs: no gradient flows there."""
HELD = ("loss.bco_held", "kto.held", "weight.used")
"""Rows that the steps repeat as numbers (`Ordered.held`)."""
STEPS = ("top", "exponentials", "logsumexp", "log_p", "p", "p_log_p")


def of_policy(rows: Mapping[str, Block]) -> list[Declared]:
    """Lists the derivative that a textbook writes in one line: of the log-prob of the token written, 1 − p or −p."""
    policy = Distribution(rows["policy.logits"], *(rows[f"policy.{step}"] for step in STEPS))
    return [derivatives.of_chosen_logprobs(rows["policy.logprobs"], policy, rows["policy.written"], EVERYWHERE)]


MOVED = Backward(policy=(("policy.logits",),), critic=(), constant=(*GIVEN, *HELD), declared=of_policy)
