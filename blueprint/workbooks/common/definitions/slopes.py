"""What one sees in a gradient at a glance: which tokens pull and which way, and how long the gradient of each weight is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from blueprint.language import Block, Sum, block, equal, less, sqrt, typed
from blueprint.workbooks.common.definitions.choices import defined
from blueprint.workbooks.common.labels import labels

TINY = 1e-12
"""A slope that is smaller is made of rounding, such as that of a whitened advantage which should be 0."""


class Pulls(NamedTuple):
    """1 where a step makes a token likelier, less likely, or where nothing pulls at it; rows. tiny: the typed number."""

    tiny: Block
    up: Block
    down: Block
    still: Block

    @property
    def rows(self) -> tuple[Block, ...]:
        """The rows, in order."""
        return self.up, self.down, self.still


def pulls(g: Block, m: Block) -> Pulls:
    """Tells which way each token is pulled. g: ∂L/∂log π, (n, t). m: 1 on the response, (n, t)."""
    at = g.axes
    tiny = typed("loss.grad.tiny", (), "g_min", "a smaller slope is mere rounding", decimals=12)
    up, down, still = (_labelled(f"loss.grad.{way}", g) for way in ("up", "down", "still"))
    up[at], down[at] = less(g[at], -tiny), less(tiny, g[at])
    still[at] = m[at] * equal(up[at] + down[at], 0)
    return Pulls(tiny, up, down, still)


def counted(flags: Sequence[Block]) -> tuple[Block, ...]:
    """Counts the tokens of each flag."""
    counts = (_labelled(f"{flag.name}.count") for flag in flags)
    return tuple(defined(count, Sum(flag.axes, flag[flag.axes])) for count, flag in zip(counts, flags, strict=True))


def norm(g: Block) -> Block:
    """Measures how long the gradient of a weight is: the root of the sum of its squares."""
    weight = g.symbol.partition("/∂")[2].partition("_")[0]
    made = block(
        f"{g.name}.norm", (), f"|g_{weight}|", f"norm of {g.symbol}", decimals=6 if g.axes else g.about.decimals
    )
    return defined(made, sqrt(Sum(g.axes, g[g.axes] * g[g.axes])) if g.axes else abs(g))


def joint_norm(name: str, norms: Sequence[Block]) -> Block:
    """Measures how long several gradients are together."""
    return defined(_labelled(name), sqrt(reduce(add, (each * each for each in norms))))


def _labelled(name: str, like: Block | None = None) -> Block:
    label = labels("backward").of(name)
    return block(name, like.axes if like is not None else (), label.symbol, label.meaning, decimals=label.decimals)
