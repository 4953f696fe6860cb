"""Steps in order, of direct preference: rows for tokens, responses and pairs, and the way from one to the other."""

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum, exp, log, maximum, minimum
from blueprint.workbooks.common import Choices, Given, Lined, Ordered, labels
from blueprint.workbooks.dpo.definitions.axes import n, o, p, t

LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.dpo"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined
__all__ = ["LABELS", "Given", "Places", "Row", "Sides", "Steps"]


class Sides(NamedTuple):
    """A number of the chosen response of each pair, and of the rejected one, (p)."""

    chosen: Row
    rejected: Row


class Places(NamedTuple):
    """Which response belongs to which pair, 0 or 1: the chosen one, the rejected one, either, (o, n).

    same, before: 1 where a pair is this one, or comes before it, (o, p).
    """

    chosen: Block
    rejected: Block
    either: Block
    same: Block
    before: Block


class Steps(Ordered):
    """Writes rows by their names, along tokens, responses and pairs. pairs: how many there are."""

    def __init__(self, use: Choices, pairs: Block, places: Places):
        super().__init__(use)
        self.pairs, self.places = pairs, places

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
        return Sides(*(self._side(f"{side}.{name}", of, getattr(self.places, side)) for side in Sides._fields))

    def _side(self, name: str, of: Given, place: Block) -> Row:
        """Looks up one side's number; on the way from responses to pairs it stands in a column, (o)."""
        down = self.along(f"{name}.column", (o,), Sum(n, place[o, n] * of[n]))
        return self.across(name, down)

    def down(self, name: str, of: Row) -> Row:
        """Lays a number of each pair, (p), out in a column, (o)."""
        return self.along(name, (o,), Sum(p, self.places.same[o, p] * of[p]))

    def across(self, name: str, of: Row) -> Row:
        """Lays a column, (o), out across pairs, (p)."""
        return self.pair(name, Sum(o, of[o] * self.places.same[o, p]))

    def of_responses(self, name: str, of: Row) -> Row:
        """Takes a number of each pair, (p), back to both of its responses, (n)."""
        return self.each(name, Sum(o, self.down(f"{name}.column", of)[o] * self.places.either[o, n]))

    def log_sigmoid(self, name: str, x: Row) -> Row:
        """Takes log σ(x) so that no e^x overflows: −(max(0, −x) + log(1 + e^−|x|))."""
        at = x.axes
        return self.along(name, at, -(maximum(0, -x[at]) + log(1 + exp(-abs(x[at])))))

    def sigmoid(self, name: str, x: Row) -> Row:
        """Takes σ(x) so that no e^x overflows: e^min(x, 0) / (1 + e^−|x|)."""
        at = x.axes
        return self.along(name, at, exp(minimum(x[at], 0)) / (1 + exp(-abs(x[at]))))
