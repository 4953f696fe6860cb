"""The gradient of the loss: to every weight of policy and critic, or to what the numbers begin with in their place."""

from collections.abc import Mapping

from blueprint.language import Block
from blueprint.language.gradient import Gradient
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common import Backward, with_library_gradients
from blueprint.workbooks.kind import KindError

POLICY = ("policy.E", "policy.W", "policy.Y")
CRITIC = ("critic.E", "critic.W", "critic.head.w", "critic.head.b")
WEIGHTS = (*POLICY, *CRITIC)
MOVED = Backward(policy=(POLICY, ("policy.logits",)), critic=(CRITIC, ("critic.out",)))


def with_gradients(outline: Blueprint) -> Blueprint:
    """Adds the gradients of the loss, unless they are there, and of each library's loss where several stand side by side.

    Raises KindError where there is no loss.
    """
    rows = {block.name: block for block in outline.blocks()}
    if "total_loss" not in rows:
        raise KindError(
            "gradients: these numbers end before a loss, and only a loss has gradients; leave gradients out."
        )
    if "library.total_loss" in rows and "minibatches" in outline.facts:
        # A library's loss is over the whole batch: beside the gradient of a minibatch, its angle would mean nothing.
        raise KindError(
            "gradients: a library's gradient is that of the whole batch, and these steps take minibatches; "
            "write update.minibatches = 1, or leave gradients out: an update has its own."
        )
    made = MOVED(outline)
    return with_library_gradients(made, MOVED, "Which PPO") if "library.total_loss" in rows else made


def backward(rows: Mapping[str, Block]) -> Gradient:
    """Differentiates the loss. rows: the blocks of a workbook by their names."""
    return MOVED.of(rows)
