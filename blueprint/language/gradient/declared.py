"""Derivatives that are declared for a group of steps, because a textbook writes them in one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from blueprint.language.axes import Axis
from blueprint.language.blocks import Block
from blueprint.language.nodes import Expr, Ref

OneHot = Callable[[Axis, Expr], Ref]
"""Makes a row that is 1 at the member of an axis whose number is given, else 0."""


@dataclass(frozen=True)
class Adjoint:
    """The adjoint of a block, read by that block's own letters.

    ahead: the axes of the total along which it lies besides.
    """

    row: Block
    ahead: tuple[Axis, ...] = ()

    def __getitem__(self, at: Axis | tuple[Axis, ...]) -> Ref:
        """Returns the cell at a place."""
        return self.row[(*self.ahead, *(at if isinstance(at, tuple) else (at,)))]


@dataclass(frozen=True)
class Declared:
    """What the adjoint of `of` adds to that of each block on which it is declared to hang, past the steps between.

    of:     the block whose derivative is declared.
    shares: for each block that it hangs on, a function from the adjoint of `of`, and what makes rows of 1 and 0, to an
            expression over that block's letters: `{z: lambda g, hot: g[n, t] * (hot(v, a[n, t]) - p[n, t, v])}`.
    """

    of: Block
    shares: Mapping[Block, Callable[[Adjoint, OneHot], Expr]]
