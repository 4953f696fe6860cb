"""The exceptions of the notation: sentences that say what to write instead, or where a computation ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blueprint.language.axes import Axis
    from blueprint.language.blocks import Block
    from blueprint.language.values import Values


class NotationError(ValueError):
    """Something was written that the notation does not mean; the message names the line's right form."""


class NoNumber(NotationError):
    """A cell has no number: an overflow, a logarithm of 0, a quotient by 0, a look-up outside its list.

    block, places: the first such cell in the order of computation, by 0-based places; reason: the step that fails there.
    equation: the block's equation, and with the numbers put in. values: everything computed, NaN where nothing is.
    """

    def __init__(self, block: Block, places: tuple[int, ...], reason: str, equation: str, values: Values):
        self.block, self.places, self.reason, self.equation, self.values = block, places, reason, equation, values
        super().__init__(self._told(""))

    def at(self, address: str) -> NoNumber:
        """Adds to the sentence where the cell stands on the page."""
        self.args = (self._told(address),)
        return self

    def _told(self, address: str) -> str:
        at = ", ".join(filter(None, (*map(self._member, self.block.axes, self.places), address)))
        return f"{self.block.name}{f' ({at})' if at else ''} has no number: {self.reason}; {self.equation}"

    def _member(self, axis: Axis, place: int) -> str:
        """Names a member as people count; the cells before the first and after the last are the start and the end."""
        if 0 <= place < self.values.size(axis):
            return f"{axis.letter} = {place + axis.start}"
        return f"{axis.letter}: the {'start' if place < 0 else 'end'}"
