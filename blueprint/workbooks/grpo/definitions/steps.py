"""Steps in order, of GRPO and its family: rows for tokens, responses, groups and prompts, and the way from one to the other."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum
from blueprint.workbooks.common import FIXED, Choices, Given, Lined, Ordered, labels
from blueprint.workbooks.grpo.definitions.axes import i, n, o, q, t

LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.grpo"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined
__all__ = ["FIXED", "LABELS", "Counts", "Given", "Places", "Row", "Steps"]


class Counts(NamedTuple):
    """How many prompts there are, responses to each, and responses in all."""

    prompts: Block
    group: Block
    responses: Block


class Places(NamedTuple):
    """Where responses stand: 1 where a place of a group, (q, i, o), or a column, (o, n), is that of the response o, else 0."""

    in_groups: Block
    in_columns: Block


class Steps(Ordered):
    """Writes rows by their names, along tokens, responses, places of groups and prompts."""

    def __init__(self, use: Choices, count: Counts, places: Places):
        super().__init__(use)
        self.count, self.places = count, places

    def row(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token."""
        return self.along(name, (n, t), value)

    def each(self, name: str, value: Operand) -> Row:
        """Writes a number for each response."""
        return self.along(name, (n,), value)

    def table(self, name: str, value: Operand) -> Row:
        """Writes a number for each response of each prompt."""
        return self.along(name, (q, i), value)

    def prompt(self, name: str, value: Operand) -> Row:
        """Writes a number for each prompt."""
        return self.along(name, (q,), value)

    def in_groups(self, name: str, of: Given) -> Row:
        """Lays a number of each response, (n), out by prompt and response, (q, i); on the way there it stands in a column."""
        down = self.along(f"{name}.column", (o,), Sum(n, self.places.in_columns[o, n] * of[n]))
        return self.table(name, Sum(o, self.places.in_groups[q, i, o] * down[o]))

    def of_response(self, name: str, of: Given) -> Row:
        """Takes back to each response, (n), what stands at its place, (q, i)."""
        return self.each(name, Sum((q, i), of[q, i] * self.places.in_groups[q, i, n]))
