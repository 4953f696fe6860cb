"""The gradient of the loss: to the score after every token, or on to the weights of the model."""

from collections.abc import Mapping

from blueprint.language import Block, needs
from blueprint.language.gradient import Declared
from blueprint.workbooks.common import Backward
from blueprint.workbooks.common.definitions import derivatives

LOG_SIGMOIDS = ("argument.right", "position.right")
"""Rows that are log σ of the one row that they read."""
WEIGHTS = ("reward_model.E", "reward_model.W", "reward_model.head.w", "reward_model.head.b")
KEPT = ("score", "difference")
"""Rows whose slope one looks for: ∓σ(−x) over the number of pairs."""


def of_log_sigmoids(rows: Mapping[str, Block]) -> list[Declared]:
    """Lists the derivatives that a textbook writes in one line: of log σ, whose steps have a kink at 0."""
    return [derivatives.of_log_sigmoid(rows[name], next(needs(rows[name])).read) for name in LOG_SIGMOIDS]


MOVED = Backward(
    policy=(WEIGHTS, ("head.score",)), critic=(), constant=("softmax.held",), declared=of_log_sigmoids, keep=KEPT
)
