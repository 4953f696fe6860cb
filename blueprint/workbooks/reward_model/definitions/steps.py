"""Steps in order, of a reward model: rows for tokens, responses, pairs and rankings, each on the sheet where it is looked for."""

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum
from blueprint.workbooks.common import Choices, Given, Lined, labels
from blueprint.workbooks.common.pairs import PairSteps, Sides
from blueprint.workbooks.reward_model.definitions.axes import n, o, p, q, t, u

LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.reward_model"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined
__all__ = ["LABELS", "Given", "Places", "Row", "Sides", "Steps"]


class Places(NamedTuple):
    """Which response is which of a pair, (o, n); which pair stands in which column, (o, p); of which ranking it is, (q, p).

    Each holds 0 or 1.
    """

    chosen: Block
    rejected: Block
    same: Block
    ranking: Block


class Steps(PairSteps):
    """Writes rows by their names, along tokens, responses, pairs and rankings; `sheets` has the titles of sections by sheet."""

    def __init__(self, use: Choices, places: Places):
        super().__init__(use, places)
        self.places, self.sheets = places, dict[str, list[str]]()

    def on(self, sheet: str, title: str) -> None:
        """Begins a section of a sheet, or goes on with it."""
        titles = self.sheets.setdefault(sheet, [])
        titles += [title] * (title not in titles)
        self.under(title)

    def token(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token, (n, t)."""
        return self.along(name, (n, t), value)

    def table(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each position of each pair, (o, u)."""
        return self.along(name, (o, u), value)

    def ranked(self, name: str, value: Operand) -> Row:
        """Writes a number for each ranking, (q), in a column."""
        return self.along(name, (q,), value)

    def of_pairs(self, name: str, of: Row) -> Row:
        """Gives each pair, (p), the number of its ranking, (q)."""
        return self.pair(name, Sum(q, self.places.ranking[q, p] * of[q]))
