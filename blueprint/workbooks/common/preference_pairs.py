"""Pairs of a chosen and a rejected response: the way from responses to pairs, and log σ and σ of what sets the two apart.

Responses lie side by side, (n), and so do pairs, (p). Only what lies alike can be added up, so the way from one to the other goes
through a column, (o), with a row for each pair: 1 where a response, or a pair, is the one of that row, else 0.
"""

from typing import NamedTuple

from blueprint.language import Axis, Block, Operand, Sum, equal, exp, less, log, maximum, minimum
from blueprint.workbooks.common.definitions.writing_rows import ByName, Choices, Given, Lined, n
from blueprint.workbooks.common.sheets.walk import Rows, named

p = Axis("p", "pair", start=1)
o = p.alias("o")


class Sides(NamedTuple):
    """A number of the chosen response of each pair, and of the rejected one, (p)."""

    chosen: Given
    rejected: Given


SIDES = Sides._fields


class PairSteps(ByName):
    """Writes rows by their names, along responses and pairs; reads by name what was written and what is given.

    places: by name what is 1 for the chosen response of a pair, and for the rejected one, (o, n); `pair.same` is 1 where row and
    column are of one pair, (o, p).
    """

    def __init__(self, use: Choices, given: Rows, places: tuple[str, str]):
        super().__init__(use, given)
        self.places = dict(zip(SIDES, places, strict=True))

    def of_sides(self, name: str) -> Sides:
        """Reads the numbers of both sides that were written before."""
        return Sides(*(self[f"{side}.{name}"] for side in SIDES))

    def each(self, name: str, value: Operand) -> Lined:
        """Writes a number for each response."""
        return self.along(name, (n,), value)

    def pair(self, name: str, value: Operand) -> Lined:
        """Writes a number for each pair."""
        return self.along(name, (p,), value)

    def sides(self, name: str, of: Given) -> Sides:
        """Sets a number of each response, (n), side by side: that of the chosen, and of the rejected response of each pair."""
        # On the way from responses to pairs it stands in a column, (o).
        return Sides(*(
            self.across(f"{side}.{name}", self.along(f"{side}.{name}.column", (o,), Sum(n, self[place][o, n] * of[n])))
            for side, place in self.places.items()
        ))  # fmt: skip

    def down(self, name: str, of: Given) -> Lined:
        """Lays a number of each pair, (p), out in a column, (o)."""
        return self.along(name, (o,), Sum(p, self["pair.same"][o, p] * of[p]))

    def across(self, name: str, of: Given) -> Lined:
        """Lays a column, (o), out across pairs, (p)."""
        return self.pair(name, Sum(o, of[o] * self["pair.same"][o, p]))

    def log_sigmoid(self, name: str, x: Given) -> Lined:
        """Takes log σ(x) so that no e^x overflows: −(max(0, −x) + log(1 + e^−|x|))."""
        at = x.axes
        return self.along(name, at, -(maximum(0, -x[at]) + log(1 + exp(-abs(x[at])))))

    def sigmoid(self, name: str, x: Given) -> Lined:
        """Takes σ(x) so that no e^x overflows: e^min(x, 0) / (1 + e^−|x|)."""
        at = x.axes
        return self.along(name, at, exp(minimum(x[at], 0)) / (1 + exp(-abs(x[at]))))


def columns(number: Block, use: Choices) -> Rows:
    """Says which pair stands in which column, (o, p): pair.left how far on it is, pair.same that one, pair.before a later one.

    number: the number of the pair in each column, (p).
    """
    left = use.along("pair.left", (o, p))
    left[o.first - 1, p] = number[p]
    left[o, p] = left[o - 1, p] - 1
    same = use.along("pair.same", (o, p), equal(left[o, p], 0))
    before = use.along("pair.before", (o, p), less(0, left[o, p]))
    return named(left, same, before)
