"""Identities of the recursion: what it comes to is known otherwise where λ is 0 or 1, or γ is 0."""

from typing import NamedTuple

from blueprint.language import Arithmetic, Block, Max, constant, equal, maximum, where
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, Choices, rows
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
    row, delta = (use.n, use.t), made.td_errors
    A = discounted_sum(use.row("identity.lambda_0"), delta, made.reach, use, use.used["gamma"], ZERO)
    return Identity((A,), use.row("check.lambda_0", (1 - made.reach.over[row]) * abs(A[row] - delta[row])))


def lambda_1(made: Gae, r: Block, use: Choices) -> Identity:
    """With λ = 1 the values in between cancel: A + V is the discounted reward to go, up to the end of an episode."""
    n, t = row = (use.n, use.t)
    (here, over, stop, done), gamma, V, G = made.reach, use.used["gamma"], made.ahead, use.row("identity.to_go")
    A = discounted_sum(use.row("identity.lambda_1"), made.td_errors, made.reach, use, gamma, ONE)
    G[n, t.last + 1] = V[n, t.last + 1]
    ended = where(equal(done[row], 1), (1 - stop[row]) * V[n, t + 1], G[n, t + 1])
    after = use.step(isinstance(done, Block), "identity.after", ended if isinstance(done, Block) else G[n, t + 1])
    here_counts, following = here[row] - over[row], r[row] + gamma * after.cell
    if isinstance(here_counts, Arithmetic):  # else it is 1 everywhere
        otherwise = over[row] * G[n, t + 1] if isinstance(over, Block) else V[row]
        following = where(equal(here_counts, 1), following, otherwise)
    G[row] = following
    sizes = use.row("identity.sizes", abs(A[row]) + abs(made.td_errors[row]) + abs(V[row]))
    largest = use.one("identity.largest", Max(row, sizes[row]))
    counted = here if isinstance(over, Block) else EVERYWHERE
    distance = counted[row] * abs(A[row] + V[row] - G[row]) / maximum(1, largest)  # what cancels rounds by its size
    return Identity(rows(A, after, G, sizes, largest), use.row("check.lambda_1", distance))


def gamma_0(made: Gae, r: Block, use: Choices) -> Identity:
    """With γ = 0 nothing later counts, whatever λ is: A is r − V, but where it is passed over."""
    row, (here, over, _, _) = (use.n, use.t), made.reach
    delta = td_errors("identity.gamma_0_td", r, made.V, made.ahead, made.reach, use, ZERO)
    A = discounted_sum(use.row("identity.gamma_0"), delta, made.reach, use, ZERO, use.used["gae_lambda"])
    distance = abs(A[row] - (here[row] - over[row]) * (r[row] - made.V[row]))
    return Identity((delta, A), use.row("check.gamma_0", (1 - over[row]) * distance))
