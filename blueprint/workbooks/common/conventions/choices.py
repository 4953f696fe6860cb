"""What a set of conventions says, and for whom: one for the whole workbook, or a row for each of several libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from blueprint.language import Axis, Block, block
from blueprint.language.nodes import Arithmetic
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.settings import Switch


class Choices(NamedTuple):
    """Settings in use, by key: numbers, and for each word the switch that picks by it.

    lead:   () where there is one set of conventions; (library,) where every row is there once for each library.
    prefix: stands before the names of the blocks.
    """

    used: Mapping[str, Arithmetic]
    switch: Mapping[str, Switch]
    lead: tuple[Axis, ...] = ()
    prefix: str = ""

    def row(
        self,
        name: str,
        symbol: str,
        meaning: str,
        *,
        unit: str = "",
        source: str = "",
        decimals: int = 4,
        reads: str = "",
    ) -> Block:
        """Makes a block with a number for every decision."""
        axes, name = (*self.lead, n, t), self.prefix + name
        return block(name, axes, symbol, meaning, unit=unit, source=source, decimals=decimals, reads=reads)

    def each(self, name: str, symbol: str, meaning: str, *, source: str = "", decimals: int = 4) -> Block:
        """Makes a block with a number for every response."""
        return block(self.prefix + name, (*self.lead, n), symbol, meaning, source=source, decimals=decimals)

    def one(
        self, name: str, symbol: str, meaning: str, *, unit: str = "", source: str = "", decimals: int = 4
    ) -> Block:
        """Makes a block with one number for the batch."""
        return block(self.prefix + name, self.lead, symbol, meaning, unit=unit, source=source, decimals=decimals)
