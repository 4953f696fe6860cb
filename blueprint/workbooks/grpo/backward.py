"""The gradient of the loss: to the log-prob of every token, and on to the weights, or to the logits with which the
numbers begin."""

from blueprint.page.outline import Blueprint
from blueprint.workbooks.common import Backward, of_policy, with_library_gradients
from blueprint.workbooks.grpo.libraries import WHICH_TITLE

GIVEN = ("advantages", "old.logprobs", "reference.logprobs", "engine.logprobs", "old.as_policy", "reference.as_policy",
         "engine.as_old")  # fmt: skip
"""Numbers of the rollout, and what other models say: whatever made them, no gradient flows there."""
HELD = (
    "ratio.kept", "ratio.mean_kept", "cispo.weight", "vespo.weight", "rollout.counts", "kl_new.reach", "kl_new.moves_held",
    "kl_new.used_held",
)  # fmt: skip
"""Rows that the steps repeat as numbers (`Steps.held`)."""
CONSTANT = (*GIVEN, *HELD)
MOVED = Backward(
    policy=(("policy.E", "policy.W", "policy.Y"), ("policy.logits",), ("policy.logprobs", "policy.entropy")),
    critic=(),
    constant=CONSTANT,
    declared=of_policy,
)


def with_gradients(outline: Blueprint) -> Blueprint:
    """Adds the gradients of the loss, unless they are there, and of each library's loss where several stand side by side."""
    made = MOVED(outline)
    compared = any(block.name == "library.total_loss" for block in outline.blocks())
    return with_library_gradients(made, MOVED, WHICH_TITLE) if compared else made
