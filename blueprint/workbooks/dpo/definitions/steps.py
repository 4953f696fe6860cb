"""Steps in order, of direct preference: rows for tokens, responses and pairs, and the way from one to the other."""

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum, exp, log, maximum, minimum
from blueprint.workbooks.common import Choices, Given, Lined, Ordered, labels
from blueprint.workbooks.dpo.definitions.axes import n, p, t

LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.dpo"), n=n)
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined
__all__ = ["LABELS", "Given", "Places", "Row", "Sides", "Steps"]


class Sides(NamedTuple):
    """A number of the chosen response of each pair, and of the rejected one, (p)."""

    chosen: Row
    rejected: Row


class Places(NamedTuple):
    """Which response belongs to which pair, 0 or 1, (p, n): the chosen one, the rejected one, either."""

    chosen: Block
    rejected: Block
    either: Block


class Steps(Ordered):
    """Writes rows by their names, along tokens, responses and pairs.

    pairs: how many there are. same, before: 1 where a pair is another one, or comes before it, (o, p).
    """

    def __init__(self, use: Choices, pairs: Block, places: Places, same: Block, before: Block):
        super().__init__(use)
        self.pairs, self.places, self.same, self.before = pairs, places, same, before

    def row(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token."""
        return self.along(name, (n, t), value)

    def each(self, name: str, value: Operand) -> Row:
        """Writes a number for each response."""
        return self.along(name, (n,), value)

    def pair(self, name: str, value: Operand) -> Row:
        """Writes a number for each pair."""
        return self.along(name, (p,), value)

    def sides(self, name: str, of: Given) -> Sides:
        """Sets a number of each response, (n), side by side: that of the chosen, and of the rejected response of each pair."""
        return Sides(
            self.pair(f"chosen.{name}", Sum(n, self.places.chosen[p, n] * of[n])),
            self.pair(f"rejected.{name}", Sum(n, self.places.rejected[p, n] * of[n])),
        )

    def of_responses(self, name: str, of: Given) -> Row:
        """Takes a number of each pair, (p), back to both of its responses."""
        return self.each(name, Sum(p, of[p] * self.places.either[p, n]))

    def log_sigmoid(self, name: str, x: Row) -> Row:
        """Takes log σ(x) so that no e^x overflows: −(max(0, −x) + log(1 + e^−|x|))."""
        at = x.axes
        return self.along(name, at, -(maximum(0, -x[at]) + log(1 + exp(-abs(x[at])))))

    def sigmoid(self, name: str, x: Row) -> Row:
        """Takes σ(x) so that no e^x overflows: e^min(x, 0) / (1 + e^−|x|)."""
        at = x.axes
        return self.along(name, at, exp(minimum(x[at], 0)) / (1 + exp(-abs(x[at]))))
