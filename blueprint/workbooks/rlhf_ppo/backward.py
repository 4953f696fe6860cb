"""The gradient of the loss: to every weight of policy and critic, or to what the numbers begin with in their place."""

from collections.abc import Mapping

from blueprint.language import Block
from blueprint.language.gradient import Gradient
from blueprint.workbooks.common import Backward
from blueprint.workbooks.kind import KindError

POLICY = ("policy.E", "policy.W", "policy.Y")
CRITIC = ("critic.E", "critic.W", "critic.head.w", "critic.head.b")
WEIGHTS = (*POLICY, *CRITIC)
MOVED = Backward(policy=(POLICY, ("policy.logits",)), critic=(CRITIC, ("critic.out",)))


def backward(rows: Mapping[str, Block]) -> Gradient:
    """Differentiates the loss. rows: the blocks of a workbook by their names. Raises KindError where there is no loss."""
    if "total_loss" not in rows:
        raise KindError(
            "gradients: these numbers end before a loss, and only a loss has gradients; leave gradients out."
        )
    return MOVED(rows)
