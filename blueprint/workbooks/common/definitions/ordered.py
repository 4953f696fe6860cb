"""Steps in order: rows are written one after the other, and stand on their sheet in that order, under the title at hand.

A row may stand there once for each library (`Choices.lead`); definitions read and write it by its own letters alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from blueprint.language import Arithmetic, Axis, Block, Expr, Operand, Ref, link, maximum, minimum, needs
from blueprint.language.blocks import At
from blueprint.workbooks.common.definitions.choices import Choices, Used, limited

FIXED = "Numbers that are always the same"
"""The title under which they stand; a setting picks one of them where it asks for nothing."""
Axes = tuple[Axis, ...]
Ends = tuple[Callable[[Used], Operand], Callable[[Used], Operand]]


class Lined(Arithmetic):
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


Given: TypeAlias = Block | Lined
"""What stands in a file, once for all libraries, or a row that was made."""


class Ordered:
    """Writes rows by their names; `sections` has them by title. constant: those through which nothing flows back."""

    def __init__(self, use: Choices):
        self.use, self.sections, self.constant = use, dict[str, list[Block]](), list[Block]()
        self.fixed: dict[int, Lined] = {}

    @property
    def rows(self) -> dict[str, Block]:
        """The rows by the names that they have without a library."""
        prefix = self.use.prefix
        return {block.name.removeprefix(prefix): block for made in self.sections.values() for block in made}

    def under(self, title: str) -> None:
        """Begins a section, or goes on with it; what is written next stands in it."""
        self.here = self.sections.setdefault(title, [])

    def along(self, name: str, at: Axes, value: Operand | None = None) -> Lined:
        """Writes a row along any axes; where no library moves it, it stands there once for all of them."""
        made = Lined(self.use.along(name, (*self.use.lead, *at)), self.use.lead)
        if value is not None:
            made[at] = value
            if self.use.lead and not any({*self.use.lead} & {*need.read.axes} for need in needs(made.block)):
                made = Lined(self.use.along(name, at, value), ())
        self.here.append(made.block)
        return made

    def known(self, name: str) -> Lined:
        """Returns a row that was written before, by its name without a library."""
        found = self.rows[name]
        return Lined(found, tuple(axis for axis in self.use.lead if axis in found.axes))

    def one(self, name: str, value: Operand) -> Lined:
        """Writes a number for the batch."""
        return self.along(name, (), value)

    def held(self, name: str, of: Given) -> Lined:
        """Repeats a row as numbers: nothing flows back through it."""
        block, lead = (of.block, of.lead) if isinstance(of, Lined) else (of, ())
        made = link(self.use.prefix + name, block)
        self.here.append(made)
        self.constant.append(made)
        return Lined(made, lead)

    def pick(self, name: str, at: Axes, setting: str, **alternatives: Operand) -> Lined:
        """Writes each alternative as a row of its own, `name.word`, and takes the one that the setting says.

        Those of words that this workbook does not offer are left out.
        """
        switch = self.use.switch[setting]
        if len(switch.words) == 1:
            return self.along(name, at, alternatives[switch.words[0]])
        rows = {
            word: self._seen(f"{name}.{word}", at, each) for word, each in alternatives.items() if word in switch.words
        }
        return self.along(name, at, switch.choose(**rows))

    def _seen(self, name: str, at: Axes, value: Operand) -> Expr:
        """Returns an alternative as the cell of a row; one that is none yet is written."""
        if isinstance(value, Ref | Lined | Block):
            return value.expression()
        made = self._fixed(value) if isinstance(value, int) else self.along(name, at, value)
        return made[made.axes]

    def _fixed(self, value: int) -> Lined:
        """Returns the row of a number that is always the same, such as the 1 by which nothing is divided."""
        if value not in self.fixed:
            here = self.here
            self.under(FIXED)
            self.fixed[value] = self.one(f"fixed.{value}", value)
            self.here = here
        return self.fixed[value]

    def within(self, name: str, x: Given, low: str, high: str, ends: Ends) -> Lined:
        """Holds a row between two settings, either of which may be off; ends: what the limits mean, from the settings."""
        at, (least, most) = x.axes, ends
        raised = self.along(
            f"{name}.raised", at, limited(self.use.used[low], x[at], lambda by: maximum(least(by), x[at]))
        )
        return self.along(name, at, limited(self.use.used[high], raised[at], lambda by: minimum(most(by), raised[at])))

    def clamped(self, name: str, x: Lined, setting: str) -> Lined:
        """Holds a row within ± a setting, which may be off."""
        cell = x[x.axes]
        held = limited(self.use.used[setting], cell, lambda by: maximum(-by, minimum(by, cell)))
        return self.along(name, x.axes, held)
