"""The gradient of the loss: to the log-prob of every token, and on to the weights, or to the logits with which the
numbers begin."""

from blueprint.workbooks.common import Backward, of_policy

GIVEN = ("advantages", "old.logprobs", "reference.logprobs", "engine.logprobs")
"""Numbers of the rollout, and what other models say: whatever made them, no gradient flows there."""
HELD = (
    "ratio.kept", "ratio.mean_kept", "cispo.weight", "vespo.weight", "rollout.counts", "kl_new.reach", "kl_new.moves_held",
    "kl_new.used_held",
)  # fmt: skip
"""Rows that the steps repeat as numbers (`Steps.held`)."""
CONSTANT = (*GIVEN, *HELD)
MOVED = Backward(
    policy=(("policy.E", "policy.W", "policy.Y"), ("policy.logits",)), critic=(), constant=CONSTANT, declared=of_policy
)
