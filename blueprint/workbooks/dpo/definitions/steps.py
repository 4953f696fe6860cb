"""Steps in order, of direct preference: rows for tokens, responses and pairs, and the way from one to the other."""

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum
from blueprint.workbooks.common import Choices, Given, Lined, labels
from blueprint.workbooks.common.pairs import PairSteps, Sides
from blueprint.workbooks.dpo.definitions.axes import n, o, t

LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.dpo"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined
__all__ = ["LABELS", "Given", "Places", "Row", "Sides", "Steps"]


class Places(NamedTuple):
    """Which response belongs to which pair, 0 or 1: the chosen one, the rejected one, either, (o, n).

    same, before: 1 where a pair is this one, or comes before it, (o, p).
    """

    chosen: Block
    rejected: Block
    either: Block
    same: Block
    before: Block


class Steps(PairSteps):
    """Writes rows by their names, along tokens, responses and pairs. pairs: how many there are."""

    def __init__(self, use: Choices, pairs: Block, places: Places):
        super().__init__(use, places)
        self.pairs, self.places = pairs, places

    def row(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token."""
        return self.along(name, (n, t), value)

    def of_responses(self, name: str, of: Row) -> Row:
        """Takes a number of each pair, (p), back to both of its responses, (n)."""
        return self.each(name, Sum(o, self.down(f"{name}.column", of)[o] * self.places.either[o, n]))
