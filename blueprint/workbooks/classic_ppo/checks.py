"""What must hold in classic PPO whatever one types: each check is a distance that must be 0."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, block, equal, less, maximum, where
from blueprint.workbooks.classic_ppo.advantage import Gae, Whitened, faded_sum
from blueprint.workbooks.classic_ppo.axes import a, n, t
from blueprint.workbooks.common.definitions.checks import Identity, largest
from blueprint.workbooks.common.settings import Settings


class Ends(NamedTuple):
    """Rows (n, t) of 0 and 1: where an episode ended, and where the task itself did."""

    done: Block
    terminated: Block


def sums_to_one(name: str, p: Block) -> Block:
    """Measures how far the probabilities of the actions are from summing to 1."""
    off = block(f"check.sum_{name}", (n, t), "|Σp−1|", f"probabilities sum to 1: {name} policy")
    off[n, t] = abs(Sum(a, p[n, t, a]) - 1)
    return off


def no_action(actions: Block, known: Block) -> Block:
    """Measures how far an action is from the ids 0 … known − 1."""
    off = block("check.actions", (n, t), "outside", "actions are among those that exist")
    off[n, t] = maximum(0, maximum(-actions[n, t], actions[n, t] + 1 - known))
    return off


def flags(ends: Ends) -> tuple[Block, Block]:
    """Measures how far the ends are from 0 or 1, and finds a task that terminated in an episode that goes on."""
    off = block("check.done", (n, t), "0 or 1", "done and terminated are 0 or 1")
    early = block("check.terminated", (n, t), "early", "what terminated is done", decimals=0)
    done, over = ends.done[n, t], ends.terminated[n, t]
    off[n, t] = abs(done * (1 - done)) + abs(over * (1 - over))
    early[n, t] = less(done, over)
    return off, early


def not_negative(name: str, meaning: str, x: Block) -> Block:
    """Measures how far something is below 0 that cannot be."""
    below = block(f"check.{name}", (n, t), "below 0", meaning)
    below[n, t] = maximum(0, -x[n, t])
    return below


def adds_up(A: Block, V: Block, R: Block) -> Block:
    """Measures how far returns are from A + V."""
    off = block("check.returns", (n, t), "|R−V_old−A|", "returns are A + V_old")
    off[n, t] = abs(R[n, t] - V[n, t] - A[n, t]) / maximum(1, abs(A[n, t]) + abs(V[n, t]))
    return off


def centred(white: Whitened, N: Block) -> Block:
    """Measures how far the mean of the whitened advantages is from 0."""
    off = block("check.whitened", (), "|mean Â|", "whitened advantages have mean 0")
    off[()] = abs(Sum((n, t), white.whitened[n, t]) / N)
    return off


def as_built(used: Block, built: Block) -> Block:
    """Tells whether the setting asks for another norm than the one whose rows were built."""
    off = block("check.norm", (), "other", "the norm in use is the one that was built", decimals=0)
    off[()] = 1 - equal(used, built)
    return off


def identities(made: Gae, r: Block, V: Block, ends: Ends, chosen: Settings) -> list[Identity]:
    """Runs the recursion of the advantage where its result is known otherwise: at λ = 0, λ = 1 and γ = 0."""
    gamma, lam = chosen.used["gamma"], chosen.used["gae_lambda"]
    return [_lambda_0(made, ends.done, gamma), _lambda_1(made, r, V, ends.done, gamma), _gamma_0(r, V, ends.done, lam)]


def _lambda_0(made: Gae, done: Block, gamma: Block) -> Identity:
    """With λ = 0 no later TD error counts: A is δ."""
    A = faded_sum("identity.lambda_0", "A_λ0", "advantage for λ = 0", made.td_errors, done, gamma, 0)
    off = block("check.lambda_0", (n, t), "|A_λ0−δ|", "λ = 0: advantage is the TD error")
    off[n, t] = abs(A[n, t] - made.td_errors[n, t])
    return Identity((A,), off)


def _lambda_1(made: Gae, r: Block, V: Block, done: Block, gamma: Block) -> Identity:
    """With λ = 1 the values in between cancel: A + V is the discounted reward to go, up to the end of the episode."""
    A = faded_sum("identity.lambda_1", "A_λ1", "advantage for λ = 1", made.td_errors, done, gamma, 1)
    after = block("identity.after", (n, t), "G_next", "what comes after the step")
    G = block("identity.to_go", (n, t), "G", "discounted reward to go")
    off = block("check.lambda_1", (n, t), "|A_λ1+V−G|", "λ = 1: advantage + value is reward to go")
    G[n, t.last + 1] = V[n, t.last + 1]
    after[n, t] = where(equal(done[n, t], 1), (1 - made.stop[n, t]) * V[n, t + 1], G[n, t + 1])
    G[n, t] = r[n, t] + gamma * after[n, t]
    size = largest(A, made.td_errors, V)
    off[n, t] = abs(A[n, t] + V[n, t] - G[n, t]) / maximum(1, size.residual)
    return Identity((A, after, G, *size.listed), off)


def _gamma_0(r: Block, V: Block, done: Block, lam: Block) -> Identity:
    """With γ = 0 nothing later counts, whatever λ is: A is r − V."""
    delta = block("identity.gamma_0_td", (n, t), "δ_γ0", "TD error for γ = 0")
    delta[n, t] = r[n, t] - V[n, t]
    A = faded_sum("identity.gamma_0", "A_γ0", "advantage for γ = 0", delta, done, 0, lam)
    off = block("check.gamma_0", (n, t), "|A_γ0−r+V|", "γ = 0: advantage is reward − value")
    off[n, t] = abs(A[n, t] - (r[n, t] - V[n, t]))
    return Identity((delta, A), off)
