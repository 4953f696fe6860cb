"""Derivatives that are declared for a group of steps, because a textbook writes them in one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from blueprint.language.blocks import Block
from blueprint.language.nodes import Expr


@dataclass(frozen=True)
class Declared:
    """What the adjoint of `of` adds to that of each block on which it is declared to hang, past the steps between.

    of:     the block whose derivative is declared.
    shares: for each block that it hangs on, a function from the adjoint of `of` to an expression over that block's own
            letters: `{z: lambda g: g[n, t] * (is_a[n, t, v] - p[n, t, v])}`.
    """

    of: Block
    shares: Mapping[Block, Callable[[Block], Expr]]
