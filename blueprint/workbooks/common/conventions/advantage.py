"""Generalised advantage estimation over the slots of a response, with or without holes in its mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from blueprint.language import Block
from blueprint.language.nodes import Arithmetic
from blueprint.workbooks.common import sources as papers
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions import sources
from blueprint.workbooks.common.conventions.choices import Choices


class Estimate(NamedTuple):
    """Values kept, where a hole is passed over, the value ahead, TD errors, advantages and returns; all rows (n, t)."""

    V: Block
    over: Block
    ahead: Block
    td_errors: Block
    advantages: Block
    returns: Block


class After(NamedTuple):
    """What enters behind the last column, where the response goes on there: the value looked at, and the advantage; (n)."""

    ahead: Block
    advantages: Block


def estimate(r: Block, v: Block, kept: Block, S: Block, use: Choices, after: After | None = None) -> Estimate:
    """Estimates advantages backward through the slots; a slot outside counts as 0, or is passed over.

    r, kept: rows; v, S: (n, t). Passed over: value ahead and advantage ahead come through a hole unchanged.
    """
    row = (*use.lead, n, t)
    V = use.row("values.kept", "V_kept", "old value, where it is kept", source=sources.TAIL)
    over = use.row("gae.over", "hole", "1 where a slot is passed over", decimals=0, source=sources.HOLES)
    ahead = use.row("gae.ahead", "V_seen", "value that the slot before looks at")
    V[*use.lead, n, t.last + 1] = 0 if after is None else after.ahead[n]
    V[row] = kept[row] * v[n, t]
    over[row] = S[n, t] * (1 - kept[row]) * use.switch["advantage.gae_holes"].says("carry")
    ahead[*use.lead, n, t.last + 1] = 0 if after is None else after.ahead[n]
    ahead[row] = V[row] + over[row] * ahead[*use.lead, n, t + 1]
    delta = use.row("td_errors", "δ", "TD error: how far above expectation", source=papers.TD_ERROR)
    later = r[row] + use.used["gamma"] * ahead[*use.lead, n, t + 1]
    delta[row] = (S[n, t] - over[row]) * (later - V[row])
    told = "advantage (GAE): δ and faded later δ"
    begin = None if after is None else after.advantages
    A = faded("advantages", "A", told, delta, over, S, use, use.used["gamma"] * use.used["gae_lambda"], begin)
    R = use.row("returns", "R", "return, the value target: A + V_kept", source=papers.RETURNS)
    R[row] = A[row] + V[row]
    return Estimate(V, over, ahead, delta, A, R)


def faded(
    name: str,
    symbol: str,
    meaning: str,
    delta: Block,
    over: Block,
    S: Block,
    use: Choices,
    factor: Arithmetic,
    begin: Block | None = None,
) -> Block:
    """Adds later TD errors, faded by `factor` = γ·λ from slot to slot; a hole is passed without fading. All rows (n, t).

    begin: (n), what comes in behind the last column.
    """
    row = (*use.lead, n, t)
    A = use.row(name, symbol, meaning, source=papers.GAE)
    A[*use.lead, n, t.last + 1] = 0 if begin is None else begin[n]
    A[row] = delta[row] + ((S[n, t] - over[row]) * factor + over[row]) * A[*use.lead, n, t + 1]
    return A


def faded_by(made: Estimate, S: Block, use: Choices) -> Callable[[str, str, str, Block], Block]:
    """Returns the recursion over the same TD errors, to be run with another λ."""

    def fade(name: str, symbol: str, meaning: str, gae_lambda: Block) -> Block:
        return faded(name, symbol, meaning, made.td_errors, made.over, S, use, use.used["gamma"] * gae_lambda)

    return fade
