"""Generalised advantage estimation: from rewards and values to TD errors, advantages and returns.

One recursion for all: over the words of a response; over slots, of which some may be holes; over the steps of an
environment, in which one episode may follow another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from blueprint.language import Arithmetic, Block, Operand
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, NOWHERE, Choices, Row
from blueprint.workbooks.common.settings import Switch


class Reach(NamedTuple):
    """How far back a later column is seen, all rows of 0 and 1.

    here: where the recursion runs. over: where it is passed over, as if the column were not there. stop: where the value of
    the next column is not looked at. done: where nothing of later columns reaches back.
    """

    here: Row = EVERYWHERE
    over: Row = NOWHERE
    stop: Row = NOWHERE
    done: Row = NOWHERE


class After(NamedTuple):
    """What enters behind the last column, where something follows there: the value looked at, and the advantage; (n)."""

    ahead: Block
    advantages: Block


class Seen(NamedTuple):
    """The reach, the value of each column, and the value that the column before looks at; rows with an end column."""

    reach: Reach
    V: Block
    ahead: Block


class Gae(NamedTuple):
    """The reach, the value that the column before looks at, TD errors δ, advantages A and returns R, all rows."""

    reach: Reach
    V: Block
    ahead: Block
    td_errors: Block
    advantages: Block
    returns: Block


def kept_values(made: Block, V: Block, kept: Block, end: Operand | None = 0) -> Block:
    """Keeps values where they count, so that none leaks in from behind the end of a response.

    A value is that of the state *before* the decision. V: (n, t); kept: (n, t) or a row.
    end: the value behind the last column; 0: no bootstrap; None: there is no such column.
    """
    *lead, n, t = made.axes
    if end is not None:
        made[*lead, n, t.last + 1] = end
    made[made.axes] = kept[kept.axes] * V[n, t]
    return made


def holes(S: Block, kept: Block, use: Choices) -> Row:
    """Tells which slots are passed over; none, where a hole counts as 0."""
    carry = use.switch["advantage.gae_holes"]
    if not isinstance(carry, Switch):
        return NOWHERE
    row = (*use.lead, use.n, use.t)
    over = use.row("gae.over")
    over[row] = S[use.n, use.t] * (1 - kept[row]) * carry.says("carry")
    return over


def gae(r: Block, V: Block, reach: Reach, use: Choices, after: After | None = None) -> Gae:
    """Estimates advantages backward in time, and the returns, the targets of the critic.

    r: a row; V: a row with an end column, the value after the last one. A is the raw advantage: whitening comes after the
    returns. after: what enters behind the last column.
    """
    lead, n, t = use.lead, use.n, use.t
    row, gamma, lam = (*lead, n, t), use.used["gamma"], use.used["gae_lambda"]
    seen = Seen(reach, V, _ahead(V, reach.over, use, after))
    delta = td_errors(use.row("td_errors"), r, seen, use, gamma)
    R = use.row("returns")
    begin = 0 if after is None else after.advantages[n]
    A = discounted_sum(use.row("advantages"), delta, reach, use, gamma, lam, begin)
    R[row] = A[row] + V[row]
    return Gae(*seen, delta, A, R)


def _ahead(V: Block, over: Row, use: Choices, after: After | None) -> Block:
    """Returns the value that the column before looks at: that of the next column, or of the one behind what is passed over."""
    if not isinstance(over, Block):
        return V
    lead, n, t = use.lead, use.n, use.t
    ahead = use.row("gae.ahead")
    ahead[*lead, n, t.last + 1] = 0 if after is None else after.ahead[n]
    ahead[*lead, n, t] = V[*lead, n, t] + over[*lead, n, t] * ahead[*lead, n, t + 1]
    return ahead


def td_errors(delta: Block, r: Block, of: Seen | Gae, use: Choices, gamma: Arithmetic) -> Block:
    """Compares each value with the reward and the discounted value after it."""
    lead, n, t = use.lead, use.n, use.t
    row, (here, over, stop, _) = (*lead, n, t), of.reach
    later = gamma * (1 - stop[row]) * of.ahead[*lead, n, t + 1]
    delta[row] = (here[n, t] - over[row]) * (r[row] + later - of.V[row])
    return delta


def discounted_sum(
    A: Block,
    delta: Block,
    reach: Reach,
    use: Choices,
    gamma: Arithmetic,
    lam: Arithmetic,
    begin: Operand = 0,
) -> Block:
    """Adds later TD errors, discounted by γ·λ from column to column; what is passed over discounts nothing.

    begin: what comes in behind the last column, where the recursion begins.
    """
    lead, n, t = use.lead, use.n, use.t
    row = (*lead, n, t)
    here, over, _, done = reach
    A[*lead, n, t.last + 1] = begin
    A[row] = delta[row] + ((here[n, t] - over[row]) * gamma * lam * (1 - done[row]) + over[row]) * A[*lead, n, t + 1]
    return A


def with_lambda(made: Gae, use: Choices) -> Callable[[Block, Block], Block]:
    """Returns the recursion over the same TD errors, to define a row with another λ."""

    def run(A: Block, lam: Block) -> Block:
        return discounted_sum(A, made.td_errors, made.reach, use, use.used["gamma"], lam)

    return run
