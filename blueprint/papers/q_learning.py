"""Q-learning on a grid, on one page of plain torch: a loop over episodes and steps, as one would program it.

Watkins & Dayan 1992, Q-learning; Sutton & Barto 2018, Reinforcement Learning, sec. 6.5. The grid is that of
`papers.value_iteration`. What decides chance, a number from 0 to 1 for each step, is given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from blueprint.papers.value_iteration import MOVES, Map, landing, places


@dataclass(frozen=True)
class Learner:
    """How one learns and explores.

    temperature: of the soft-max by which moves are drawn; None: ε-greedy, with the first of several best moves.
    """

    alpha: float = 0.1
    gamma: float = 0.99
    epsilon: float = 0.1
    temperature: float | None = None
    initial: float = 0.0
    step_reward: float = -0.01
    goal_reward: float = 1.0


class Step(NamedTuple):
    """One step: where and what, where it led, whether to a goal, what it earned; and what was learned of it."""

    state: int
    move: int
    after: int
    done: bool
    reward: float
    old: float
    next_best: float
    error: float
    new: float


@dataclass(frozen=True)
class Walk:
    """All steps, and the table of values after each of them, [S, 4]."""

    steps: list[Step] = field(default_factory=list)
    tables: list[Tensor] = field(default_factory=list)

    @property
    def lengths(self) -> list[int]:
        """How many steps each episode took that reached a goal."""
        ends = [at for at, step in enumerate(self.steps) if step.done]
        return [end - before for end, before in zip(ends, [-1, *ends], strict=False)]


def chances(values: Tensor, learner: Learner) -> Tensor:
    """Returns how likely each move is, [4], from the values of the state's moves."""
    if learner.temperature is not None:
        return (values / learner.temperature).softmax(-1)
    any_move = torch.full_like(values, learner.epsilon / len(values))
    any_move[int((values == values.max()).nonzero()[0])] += 1 - learner.epsilon
    return any_move


def learn(rows: Map, learner: Learner, draws: Sequence[float], episodes: int, told: Sequence[int] = ()) -> Walk:
    """Walks and learns until all episodes have ended or no draw is left.

    draws: of each step, which of the moves laid side by side is taken. told: a move for each step, −1 where it is drawn.
    """
    walk, goals, begin = Walk(), places(rows, "G"), next(iter(places(rows, "S")), 0)
    table = torch.full((len(rows) * len(rows[0]), len(MOVES)), learner.initial, dtype=torch.float64)
    state, ended = begin, 0
    for u, move in zip(draws, [*told] or [-1] * len(draws), strict=True):
        if ended == episodes:
            break
        if move < 0:  # rounded, so that a last digit decides nothing
            move = int((chances(table[state], learner).cumsum(-1)[:-1].mul(1e9).round().div(1e9) <= u).sum())
        after = landing(rows, state, move)
        done = after in goals
        reward = learner.goal_reward if done else learner.step_reward
        best = 0.0 if done else float(table[after].max())
        old = float(table[state, move])
        error = reward + learner.gamma * best - old
        table = table.clone()
        table[state, move] = old + learner.alpha * error
        walk.steps.append(Step(state, move, after, done, reward, old, best, error, float(table[state, move])))
        walk.tables.append(table)
        state, ended = (begin, ended + 1) if done else (after, ended)
    return walk


def advantages(walk: Walk, gamma: float, lam: float) -> list[float]:
    """Returns PPO's advantages (1506.02438, eq. 16) with V(s) = Q(s, a) and V(s′) = max Q(s′, ·), an episode at a time."""
    found, later = [], 0.0
    for step in reversed(walk.steps):
        later = step.error + (0.0 if step.done else gamma * lam * later)
        found.append(later)
    return found[::-1]
