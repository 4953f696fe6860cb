"""From rewards and values to a learning signal for every word."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from blueprint.language import Block, Sum, block, maximum, sqrt
from blueprint.workbooks.common import sources
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.settings import Switch


class Gae(NamedTuple):
    """TD errors δ, advantages A and returns R, all (n, t); A has an end column, where it is 0."""

    td_errors: Block
    advantages: Block
    returns: Block


class Whitened(NamedTuple):
    """Advantages with mean 0 and variance 1 over the response words: the steps, and the ones that the loss uses."""

    mean: Block
    centred: Block
    variance: Block
    whitened: Block
    used: Block


def masked_values(name: str, symbol: str, whose: str, m: Block, head: Block) -> Block:
    """Keeps the critic's number on the response alone, so that none leaks in from behind the end.

    The value is that of the state *before* the decision; after the last written word it is 0: no bootstrap.
    """
    V = block(f"{name}.values", (n, t), symbol, f"{whose} critic's value before the word", source=sources.VALUES)
    V[n, t.last + 1] = 0
    V[n, t] = m[n, t] * head[n, t]
    return V


def kept_on_response(name: str, given: Block, m: Block) -> Block:
    """Keeps given values on the response alone: what stands behind a response may be anything.

    What is given in the end column stays: it is the value after the last column, a bootstrap if it is not 0.
    """
    V = block(name, (n, t), "V_old", "value, on the response alone", source=sources.VALUES)
    V[n, t.last + 1] = given[n, t.last + 1]
    V[n, t] = m[n, t] * given[n, t]
    return V


def gae(r: Block, V: Block, m: Block, gamma: Block, lam: Block) -> Gae:
    """Estimates advantages by generalised advantage estimation, and the returns, the targets of the critic.

    r, m: (n, t); V: (n, t) with its end column. A is the raw advantage: whitening comes after the returns.
    """
    delta = td_errors("td_errors", "δ", "TD error: how far above expectation", r, V, m, gamma)
    A = faded_sum("advantages", "A", "advantage (GAE): δ and faded later δ", delta, m, gamma, lam)
    R = block("returns", (n, t), "R", "return, the value target: A + V_old", source=sources.RETURNS)
    R[n, t] = A[n, t] + V[n, t]
    return Gae(delta, A, R)


def td_errors(name: str, symbol: str, meaning: str, r: Block, V: Block, m: Block, gamma: Block | int) -> Block:
    """Compares each value with the reward and the discounted value after it, over (n, t)."""
    delta = block(name, (n, t), symbol, meaning, source=sources.TD_ERROR)
    delta[n, t] = m[n, t] * (r[n, t] + gamma * V[n, t + 1] - V[n, t])
    return delta


def faded_sum(
    name: str, symbol: str, meaning: str, delta: Block, m: Block, gamma: Block | int, lam: Block | int
) -> Block:
    """Adds later TD errors, each step further faded by γ·λ, over (n, t); 0 in the end column, where the recursion begins."""
    A = block(name, (n, t), symbol, meaning, source=sources.GAE)
    A[n, t.last + 1] = 0
    A[n, t] = delta[n, t] + m[n, t] * gamma * lam * A[n, t + 1]
    return A


def faded_by(used: Gae, m: Block, gamma: Block) -> Callable[[str, str, str, Block], Block]:
    """Returns the recursion over the same TD errors, to be run with another λ."""

    def fade(name: str, symbol: str, meaning: str, lam: Block) -> Block:
        return faded_sum(name, symbol, meaning, used.td_errors, m, gamma, lam)

    return fade


def whiten(A: Block, m: Block, words: Block, eps: Block, switch: Switch) -> Whitened:
    """Shifts and scales the advantages over all response words of the batch; the switch decides whether they are used."""
    mean = block("advantage.mean", (), "μ", "mean advantage over response words")
    centred = block("advantage.centred", (n, t), "A_c", "advantage − its mean")
    var = block("advantage.variance", (), "σ²", "variance of the advantages (by N − 1)", unit="≥ 0")
    white = block("advantage.whitened", (n, t), "Â", "whitened advantage", source=sources.WHITEN)
    used = block("advantages_used", (n, t), "Â_used", "advantage used by the loss")
    mean[()] = Sum((n, t), m[n, t] * A[n, t]) / words
    centred[n, t] = m[n, t] * (A[n, t] - mean)
    var[()] = Sum((n, t), centred[n, t] * centred[n, t]) / maximum(words - 1, 1)
    white[n, t] = centred[n, t] / sqrt(var + eps)
    used[n, t] = switch.choose(on=white[n, t], off=A[n, t])
    return Whitened(mean, centred, var, white, used)
