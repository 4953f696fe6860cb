"""Identities of the recursion: what it comes to is known otherwise where λ is 0 or 1, or γ is 0."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Arithmetic, Block, Max, Operand, constant, equal, maximum, where
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, Choices, Row
from blueprint.workbooks.common.definitions.gae import Gae, discounted_sum, td_errors

ZERO, ONE = constant(0), constant(1)
"""Written out, for they are what is tried; a 0 or 1 of Python's would vanish from the equation."""


class Identity(NamedTuple):
    """Rows that a distance needs beside what is there, such as a definition run where its result is known; and the distance."""

    rows: tuple[Block, ...]
    residual: Block

    @property
    def listed(self) -> tuple[Block, ...]:
        """The rows, and then the distance."""
        return (*self.rows, self.residual)


def identities(made: Gae, r: Block, use: Choices) -> list[Identity]:
    """Runs the recursion of the advantage at the ends of λ and γ."""
    return [lambda_0(made, use), lambda_1(made, r, use), gamma_0(made, r, use)]


def lambda_0(made: Gae, use: Choices) -> Identity:
    """With λ = 0 no later TD error counts: A is δ, but where it is passed over."""
    row, gamma = (use.n, use.t), use.used["gamma"]
    A = discounted_sum(use.row("identity.lambda_0"), made.td_errors, made.reach, use, gamma, ZERO)
    off = use.row("check.lambda_0")
    off[row] = (1 - made.reach.over[row]) * abs(A[row] - made.td_errors[row])
    return Identity((A,), off)


def lambda_1(made: Gae, r: Block, use: Choices) -> Identity:
    """With λ = 1 the values in between cancel: A + V is the discounted reward to go, up to the end of an episode."""
    n, t = row = (use.n, use.t)
    here, over, stop, done = made.reach
    gamma, V = use.used["gamma"], made.ahead
    A = discounted_sum(use.row("identity.lambda_1"), made.td_errors, made.reach, use, gamma, ONE)
    G = use.row("identity.to_go")
    off = use.row("check.lambda_1")
    G[n, t.last + 1] = V[n, t.last + 1]
    following, later = _following(G, V, stop, done, use)
    otherwise = over[row] * G[n, t + 1] if isinstance(over, Block) else V[row]
    G[row] = _inside(here[row] - over[row], r[row] + gamma * later, otherwise)
    size = largest(A, made.td_errors, V, use)
    counted = here if isinstance(over, Block) else EVERYWHERE
    off[row] = counted[row] * abs(A[row] + V[row] - G[row]) / maximum(1, size.residual)
    return Identity((A, *following, G, *size.listed), off)


def _following(G: Block, V: Block, stop: Row, done: Row, use: Choices) -> tuple[tuple[Block, ...], Arithmetic]:
    """Returns what follows a column, and the row that says it where that is not always the next column's reward to go."""
    n, t = row = (use.n, use.t)
    if not isinstance(done, Block):
        return (), G[n, t + 1]
    after = use.row("identity.after")
    after[row] = where(equal(done[row], 1), (1 - stop[row]) * V[n, t + 1], G[n, t + 1])
    return (after,), after[row]


def _inside(here: Operand, counted: Operand, otherwise: Operand) -> Operand:
    """Takes what is counted where `here` is 1; everywhere, if it is the number 1."""
    return where(equal(here, 1), counted, otherwise) if isinstance(here, Arithmetic) else counted


def largest(A: Block, delta: Block, V: Block, use: Choices) -> Identity:
    """Returns the largest number of a recursion, and the row in which it is found: what cancels there rounds by its size."""
    at = A.axes
    size = use.row("identity.sizes")
    most = use.one("identity.largest")
    size[at] = abs(A[at]) + abs(delta[at]) + abs(V[at])
    most[()] = Max(at, size[at])
    return Identity((size,), most)


def gamma_0(made: Gae, r: Block, use: Choices) -> Identity:
    """With γ = 0 nothing later counts, whatever λ is: A is r − V, but where it is passed over."""
    row, (here, over, _, _) = (use.n, use.t), made.reach
    lam = use.used["gae_lambda"]
    delta = td_errors(use.row("identity.gamma_0_td"), r, made, use, ZERO)
    A = discounted_sum(use.row("identity.gamma_0"), delta, made.reach, use, ZERO, lam)
    off = use.row("check.gamma_0")
    off[row] = (1 - over[row]) * abs(A[row] - (here[row] - over[row]) * (r[row] - made.V[row]))
    return Identity((delta, A), off)
