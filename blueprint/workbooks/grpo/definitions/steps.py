"""Steps in order: rows are written one after the other, and stand on their sheet in that order, under the title at hand.

A row may stand there once for each library (`Choices.lead`); definitions read and write it by its own letters alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from blueprint.language import Arithmetic, Axis, Block, Expr, Operand, Ref, Sum, link, maximum, minimum
from blueprint.language.blocks import At
from blueprint.workbooks.common import Choices, Used, labels, limited
from blueprint.workbooks.grpo.definitions.axes import i, n, o, q, t

LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.grpo"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
FIXED = "Numbers that are always the same"
"""The title under which they stand; a setting picks one of them where it asks for nothing."""
Axes = tuple[Axis, ...]
Ends = tuple[Callable[[Used], Operand], Callable[[Used], Operand]]


class Row(Arithmetic):
    """A block that is read and written by its own letters; in front of them stand those of the libraries, if there are several."""

    def __init__(self, block: Block, lead: Axes):
        self.block, self.lead, self.axes = block, lead, block.axes[len(lead) :]

    def __getitem__(self, at: At | tuple[At, ...]) -> Ref:
        """Reads the cells at a place."""
        return self.block[self._place(at)]

    def __setitem__(self, at: At | tuple[At, ...], value: Operand) -> None:
        """Defines the cells at a place."""
        self.block[self._place(at)] = value

    def expression(self) -> Expr:
        """Returns a row without letters of its own as a number in a larger expression."""
        return self.block[self.lead] if self.lead and not self.axes else self.block.expression()

    def _place(self, at: At | tuple[At, ...]) -> tuple[At, ...]:
        return (*self.lead, *(at if isinstance(at, tuple) else (at,)))


Given: TypeAlias = Block | Row
"""What stands in a file, once for all libraries, or a row that was made."""


class Counts(NamedTuple):
    """How many prompts there are, responses to each, and responses in all."""

    prompts: Block
    group: Block
    responses: Block


class Places(NamedTuple):
    """Where responses stand: 1 where a place of a group, (q, i, o), or a column, (o, n), is that of the response o, else 0."""

    in_groups: Block
    in_columns: Block


class Steps:
    """Writes rows by their names; `sections` has them by title. constant: those through which nothing flows back."""

    def __init__(self, use: Choices, count: Counts, places: Places):
        self.use, self.count, self.places, self.sections, self.constant = (
            use,
            count,
            places,
            dict[str, list[Block]](),
            list[Block](),
        )
        self.fixed: dict[int, Row] = {}

    def under(self, title: str) -> None:
        """Begins a section, or goes on with it; what is written next stands in it."""
        self.here = self.sections.setdefault(title, [])

    def along(self, name: str, at: Axes, value: Operand | None = None) -> Row:
        """Writes a row along any axes."""
        made = Row(self.use.along(name, (*self.use.lead, *at)), self.use.lead)
        self.here.append(made.block)
        if value is not None:
            made[at] = value
        return made

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

    def one(self, name: str, value: Operand) -> Row:
        """Writes a number for the batch."""
        return self.along(name, (), value)

    def in_groups(self, name: str, of: Given) -> Row:
        """Lays a number of each response, (n), out by prompt and response, (q, i); on the way there it stands in a column."""
        down = self.along(f"{name}.column", (o,), Sum(n, self.places.in_columns[o, n] * of[n]))
        return self.table(name, Sum(o, self.places.in_groups[q, i, o] * down[o]))

    def of_response(self, name: str, of: Given) -> Row:
        """Takes back to each response, (n), what stands at its place, (q, i)."""
        return self.each(name, Sum((q, i), of[q, i] * self.places.in_groups[q, i, n]))

    def held(self, name: str, of: Given) -> Row:
        """Repeats a row as numbers: nothing flows back through it."""
        block, lead = (of.block, of.lead) if isinstance(of, Row) else (of, ())
        made = link(self.use.prefix + name, block)
        self.here.append(made)
        self.constant.append(made)
        return Row(made, lead)

    def pick(self, name: str, at: Axes, setting: str, **alternatives: Operand) -> Row:
        """Writes each alternative as a row of its own, `name.word`, and takes the one that the setting says."""
        switch = self.use.switch[setting]
        if len(switch.words) == 1:
            return self.along(name, at, alternatives[switch.words[0]])
        rows = {word: self._seen(f"{name}.{word}", at, each) for word, each in alternatives.items()}
        return self.along(name, at, switch.choose(**rows))

    def _seen(self, name: str, at: Axes, value: Operand) -> Expr:
        """Returns an alternative as the cell of a row; one that is none yet is written."""
        if isinstance(value, Ref | Row | Block):
            return value.expression()
        made = self._fixed(value) if isinstance(value, int) else self.along(name, at, value)
        return made[made.axes]

    def _fixed(self, value: int) -> Row:
        """Returns the row of a number that is always the same, such as the 1 by which nothing is divided."""
        if value not in self.fixed:
            here = self.here
            self.under(FIXED)
            self.fixed[value] = self.one(f"fixed.{value}", value)
            self.here = here
        return self.fixed[value]

    def within(self, name: str, x: Given, low: str, high: str, ends: Ends) -> Row:
        """Holds a row between two settings, either of which may be off; ends: what the limits mean, from the settings."""
        at, (least, most) = x.axes, ends
        raised = self.along(
            f"{name}.raised", at, limited(self.use.used[low], x[at], lambda by: maximum(least(by), x[at]))
        )
        return self.along(name, at, limited(self.use.used[high], raised[at], lambda by: minimum(most(by), raised[at])))

    def clamped(self, name: str, x: Row, setting: str) -> Row:
        """Holds a row within ± a setting, which may be off."""
        cell = x[x.axes]
        held = limited(self.use.used[setting], cell, lambda by: maximum(-by, minimum(by, cell)))
        return self.along(name, x.axes, held)
