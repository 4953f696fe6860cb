"""Q-learning on a 4×4 grid: are the values higher, the nearer the goal? `python -m tests.errata.grid`

The agent begins in the upper left and is to reach the lower right; a step costs 0.01 and the goal pays 1. A wall leaves it where it
is. Rows and columns are numbered from 0; actions are up, down, left, right.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SIDE, GOAL = 4, (3, 3)
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
STEP, GAIN = -0.01, 1.0
ALPHA, GAMMA, EPSILON = 0.1, 0.99, 0.1
EPISODES, LONGEST = 500, 100


def move(row: int, column: int, action: int) -> tuple[int, int, float]:
    """Returns the next cell and the reward."""
    down, right = MOVES[action]
    row, column = min(max(row + down, 0), SIDE - 1), min(max(column + right, 0), SIDE - 1)
    return row, column, GAIN if (row, column) == GOAL else STEP


def best_values() -> Array:
    """Returns V*, [4, 4], by sweeps of value iteration until nothing changes."""
    values = np.zeros((SIDE, SIDE))
    while True:
        swept = np.array([[_best(values, row, column) for column in range(SIDE)] for row in range(SIDE)])
        if (swept == values).all():
            return values
        values = swept


def _best(values: Array, row: int, column: int) -> float:
    if (row, column) == GOAL:
        return 0.0
    worth = []
    for action in range(4):
        down, right, reward = move(row, column, action)
        worth.append(reward + GAMMA * float(values[down, right]))
    return max(worth)


def learned(seed: int) -> tuple[Array, list[int]]:
    """Returns the largest Q of each cell, [4, 4], and the number of steps of each episode."""
    random = np.random.default_rng(seed)
    Q, lengths = np.zeros((SIDE, SIDE, 4)), []
    for _ in range(EPISODES):
        row, column, steps = 0, 0, 0
        while (row, column) != GOAL and steps < LONGEST:
            action = int(random.integers(4)) if random.random() < EPSILON else int(Q[row, column].argmax())
            down, right, reward = move(row, column, action)
            td_error = reward + GAMMA * Q[down, right].max() - Q[row, column, action]  # Q of the goal stays 0
            Q[row, column, action] += ALPHA * td_error
            row, column, steps = down, right, steps + 1
        lengths.append(steps)
    return Q.max(axis=2), lengths


def falls(values: Array) -> int:
    """Counts the 22 steps towards the goal, from a cell to the one below or to the right, at which the value falls."""
    down, right = np.diff(values, axis=0) < 0, np.diff(values, axis=1) < 0
    down[-1, -1] = right[-1, -1] = False  # the goal's own value is 0: nothing comes after it
    return int(down.sum() + right.sum())


def main() -> None:
    """Prints V*, the heat map of one seed, and how many steps towards the goal go down in value."""
    exact, (learnt, _) = best_values(), learned(0)
    print("V*                          largest Q after 500 episodes")
    for wanted, found in zip(exact, learnt, strict=True):
        print(" ".join(f"{value:.3f}" for value in wanted), "   ", " ".join(f"{value:6.3f}" for value in found))
    for seed in range(4):
        values, lengths = learned(seed)
        first, last = np.mean(lengths[:10]), np.mean(lengths[-50:])
        went = f"first ten episodes {first:.1f} steps, last fifty {last:.2f}"
        print(f"seed {seed}: {went}; {falls(values)} of 22 steps to the goal go down")
    print(f"V*: {falls(exact)} of 22")


if __name__ == "__main__":
    main()
