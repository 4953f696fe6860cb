"""From rewards and values to advantages, where episodes may end anywhere in the row."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, block, maximum, sqrt
from blueprint.workbooks.classic_ppo import sources
from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.common.settings import Settings


class Gae(NamedTuple):
    """Where V(next) counts, TD errors δ, advantages A and returns R, all (n, t); A has an end column, where it is 0."""

    stop: Block
    td_errors: Block
    advantages: Block
    returns: Block


class Whitened(NamedTuple):
    """Advantages with mean 0 and variance 1 over all steps: the steps to it, and the ones that the loss uses."""

    mean: Block
    centred: Block
    variance: Block
    deviation: Block
    plus: Block
    largest: Block
    divisor: Block
    whitened: Block
    used: Block


def gae(r: Block, V: Block, done: Block, terminated: Block, chosen: Settings) -> Gae:
    """Estimates advantages; neither V(next) nor later advantages reach back over an end.

    r, done, terminated: (n, t), the last two 0 or 1. V: (n, t) with an end column, the value after the last step.
    """
    gamma, lam = chosen.used["gamma"], chosen.used["gae_lambda"]
    stop = block("stop", (n, t), "stop", "1 where V(next) is cut off", decimals=0, source=sources.BOOTSTRAP)
    delta = block("td_errors", (n, t), "δ", "TD error: how far above expectation", source=sources.TD_ERROR)
    R = block("returns", (n, t), "R", "return, the value target: A + V_old", source=sources.RETURNS)
    stop[n, t] = chosen.switch["bootstrap"].choose(done=done[n, t], terminated=terminated[n, t])
    delta[n, t] = r[n, t] + gamma * (1 - stop[n, t]) * V[n, t + 1] - V[n, t]
    A = faded_sum("advantages", "A", "advantage (GAE): δ and faded later δ", delta, done, gamma, lam)
    R[n, t] = A[n, t] + V[n, t]
    return Gae(stop, delta, A, R)


def faded_sum(
    name: str, symbol: str, meaning: str, delta: Block, done: Block, gamma: Block | int, lam: Block | int
) -> Block:
    """Adds later TD errors of the same episode, each step further faded by γ·λ; all (n, t), 0 in the end column."""
    A = block(name, (n, t), symbol, meaning, source=sources.GAE)
    A[n, t.last + 1] = 0
    A[n, t] = delta[n, t] + gamma * lam * (1 - done[n, t]) * A[n, t + 1]
    return A


def whiten(A: Block, N: Block, chosen: Settings) -> Whitened:
    """Shifts and scales the advantages (n, t) over all N steps of the batch; a switch decides whether they are used."""
    eps = chosen.used["whiten_eps"]
    mean = block("advantage.mean", (), "μ", "mean advantage over all steps")
    centred = block("advantage.centred", (n, t), "A_c", "advantage − its mean")
    var = block("advantage.variance", (), "σ²", "variance of the advantages (by N − 1)", unit="≥ 0")
    deviation = block("advantage.deviation", (), "σ", "their standard deviation", unit="≥ 0")
    plus = block("advantage.std_plus", (), "σ_plus", "std_plus: σ + ε_w", unit="> 0")
    largest = block("advantage.std_max", (), "σ_max", "std_max: σ, or ε_w if that is larger", unit="> 0")
    divisor = block("advantage.divisor", (), "σ_used", "what is divided by", unit="> 0", source=sources.WHITEN)
    white = block("advantage.whitened", (n, t), "Â", "whitened advantage", source=sources.WHITEN)
    used = block("advantages_used", (n, t), "Â_used", "advantage used by the loss")
    mean[()] = Sum((n, t), A[n, t]) / N
    centred[n, t] = A[n, t] - mean
    var[()] = Sum((n, t), centred[n, t] * centred[n, t]) / maximum(N - 1, 1)
    deviation[()] = sqrt(var)
    plus[()] = deviation + eps
    largest[()] = maximum(deviation, eps)
    divisor[()] = chosen.switch["whiten_form"].choose(std_plus=plus, std_max=largest)
    white[n, t] = centred[n, t] / divisor
    used[n, t] = chosen.switch["whiten_advantages"].choose(on=white[n, t], off=A[n, t])
    return Whitened(mean, centred, var, deviation, plus, largest, divisor, white, used)
