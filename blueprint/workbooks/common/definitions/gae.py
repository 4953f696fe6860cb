"""Generalised advantage estimation: from rewards and values to TD errors, advantages and returns.

One recursion for all: over the words of a response; over slots, of which some may be holes; over the steps of an
environment, in which one episode may follow another.
"""

from collections.abc import Callable
from typing import NamedTuple

from blueprint.language import Arithmetic, Block, Operand
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, NOWHERE, Choices, Row, defined
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


class Gae(NamedTuple):
    """The reach, the values, the value that the column before looks at, TD errors δ, advantages A and returns R, all rows."""

    reach: Reach
    V: Block
    ahead: Block
    td_errors: Block
    advantages: Block
    returns: Block


def kept_values(made: Block, V: Block, kept: Block, end: Operand | None = 0) -> Block:
    """Keeps values where they count, so that none leaks in from behind the end of a response.

    A value is that of the state *before* the token. V: (n, t); kept: (n, t) or a row.
    end: the value behind the last column; 0: no bootstrap; None: there is no such column.
    """
    *lead, n, t = made.axes
    if end is not None:
        made[*lead, n, t.last + 1] = end
    return defined(made, kept[kept.axes] * V[n, t])


def holes(S: Block, kept: Block, use: Choices) -> Row:
    """Tells which slots are passed over; none, where a hole counts as 0."""
    carry = use.switch["advantage.gae_holes"]
    if not isinstance(carry, Switch):
        return NOWHERE
    return use.row("gae.over", S[use.n, use.t] * (1 - kept[use.at]) * carry.says("carry"))


def gae(r: Block, V: Block, reach: Reach, use: Choices, after: After | None = None) -> Gae:
    """Estimates advantages backward in time, and the returns, the targets of the critic.

    r: a row; V: a row with an end column, the value after the last one. A is the raw advantage: whitening comes after the
    returns. after: what enters behind the last column.
    """
    row, gamma = use.at, use.used["gamma"]
    ahead = _ahead(V, reach.over, use, after)
    delta = td_errors("td_errors", r, V, ahead, reach, use, gamma)
    begin = after.advantages[use.n] if after else 0
    A = discounted_sum(use.row("advantages"), delta, reach, use, gamma, use.used["gae_lambda"], begin)
    return Gae(reach, V, ahead, delta, A, use.row("returns", A[row] + V[row]))


def _ahead(V: Block, over: Row, use: Choices, after: After | None) -> Block:
    """Returns the value that the column before looks at: that of the next column, or of the one behind what is passed over."""
    if not isinstance(over, Block):
        return V
    lead, n, t, row, ahead = use.lead, use.n, use.t, use.at, use.row("gae.ahead")
    ahead[*lead, n, t.last + 1] = after.ahead[n] if after else 0
    ahead[row] = V[row] + over[row] * ahead[*lead, n, t + 1]
    return ahead


def td_errors(name: str, r: Block, V: Block, ahead: Block, reach: Reach, use: Choices, gamma: Arithmetic) -> Block:
    """Compares each value with the reward and the discounted value after it."""
    row, (here, over, stop, _) = use.at, reach
    later = gamma * (1 - stop[row]) * ahead[*use.lead, use.n, use.t + 1]
    return use.row(name, (here[use.n, use.t] - over[row]) * (r[row] + later - V[row]))


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
    lead, n, t, row, (here, over, _, done) = use.lead, use.n, use.t, use.at, reach
    A[*lead, n, t.last + 1] = begin
    A[row] = delta[row] + ((here[n, t] - over[row]) * gamma * lam * (1 - done[row]) + over[row]) * A[*lead, n, t + 1]
    return A


def with_lambda(made: Gae, use: Choices) -> Callable[[Block, Block], Block]:
    """Returns the recursion over the same TD errors, to define a row with another λ."""
    return lambda A, lam: discounted_sum(A, made.td_errors, made.reach, use, use.used["gamma"], lam)
