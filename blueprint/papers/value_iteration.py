"""Value iteration on a grid, on one page of plain torch: moves as matrices, so that a sweep is a product and a maximum.

Sutton & Barto 2018, Reinforcement Learning, sec. 4.1 (evaluation of a policy, by sweeps and as the solution of a
linear system) and 4.4 (value iteration). S cells, four moves; a move off the map or into a wall leaves one where one is, and
nothing comes after a goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Up, down, to the left, to the right: rows and columns further."""


Map = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Grid:
    """A grid: the chance of each cell after each move, and what the move earns.

    moves: [4, S, S], 0 in the rows of cells where one cannot stand or nothing comes after. rewards: [4, S]. lives: [S], 1 where
    one moves on. start: the place of the start among the cells, or None.
    """

    moves: Tensor
    rewards: Tensor
    lives: Tensor
    start: int | None

    def like(self, other: Tensor) -> Grid:
        """Returns the grid in the format and on the device of another tensor."""
        return Grid(self.moves.to(other), self.rewards.to(other), self.lives.to(other), self.start)


def landing(rows: Map, place: int, move: int) -> int:
    """Returns the place to which a move leads: places are numbered row by row, from 0."""
    row, column = divmod(place, len(rows[0]))
    down, right = row + MOVES[move][0], column + MOVES[move][1]
    inside = 0 <= down < len(rows) and 0 <= right < len(rows[0])
    return down * len(rows[0]) + right if inside and rows[down][right] != "#" else place


def places(rows: Map, sign: str) -> list[int]:
    """Returns the places at which a sign stands."""
    return [place for place, each in enumerate(each for row in rows for each in row) if each == sign]


def grid_of(rows: Map, step_reward: float, goal_reward: float) -> Grid:
    """Makes a grid of a map: S start, G goal, # wall, anything else free."""
    count, goals = len(rows) * len(rows[0]), places(rows, "G")
    moves = torch.zeros(len(MOVES), count, count, dtype=torch.float64)
    rewards, lives = torch.zeros(len(MOVES), count, dtype=torch.float64), torch.zeros(count, dtype=torch.float64)
    for place in set(range(count)) - {*goals, *places(rows, "#")}:
        lives[place] = 1
        for move in range(len(MOVES)):
            to = landing(rows, place, move)
            moves[move, place, to] = 1
            rewards[move, place] = goal_reward if to in goals else step_reward
    return Grid(moves, rewards, lives, next(iter(places(rows, "S")), None))


def action_values(grid: Grid, values: Tensor, gamma: float) -> Tensor:
    """Returns Q(s, a) = r + γ·V(s′), [4, S], 0 where one does not move on. values: [S]."""
    later: Tensor = grid.moves @ values
    return grid.rewards + gamma * later


def sweep(grid: Grid, values: Tensor, gamma: float) -> Tensor:
    """Returns the values after one more sweep: the best of four moves (sec. 4.4)."""
    return action_values(grid, values, gamma).amax(0)


def swept_at_random(grid: Grid, values: Tensor, gamma: float) -> Tensor:
    """Returns the values after one more sweep of the policy that takes each move equally often (sec. 4.1)."""
    return action_values(grid, values, gamma).mean(0)


def at_random(grid: Grid, gamma: float) -> Tensor:
    """Returns the exact values of that policy, [S]: the solution of V = r + γ·P·V. γ = 1 needs a goal in reach of every cell."""
    some = torch.eye(len(grid.lives), dtype=torch.float64) - gamma * grid.moves.mean(0)
    found: Tensor = torch.linalg.solve(some, grid.rewards.mean(0))
    return found


def steps_at_random(grid: Grid) -> Tensor:
    """Returns how many steps that policy takes to the goal, on average, from each cell, [S]."""
    some = torch.eye(len(grid.lives), dtype=torch.float64) - grid.moves.mean(0)
    found: Tensor = torch.linalg.solve(some, grid.lives)
    return found
