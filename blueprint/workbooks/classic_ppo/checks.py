"""What must hold in classic PPO whatever one types: each check is a distance that must be 0."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, block, equal, less, maximum
from blueprint.workbooks.classic_ppo.axes import a, n, t
from blueprint.workbooks.common.definitions.whitening import Whitened


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
