"""A grid with walls and a goal: what each cell is worth if one always takes the best move, and if one moves at random, both by
sweeps over all cells; and misconceptions about it.
"""

from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import Level, Numbers, Part, Values, settings_in
from blueprint.language import Axis, Block, Expr, Max, Position, Sum, equal, maximum, size, where
from blueprint.misconceptions import equation, instead, of, operand, operation, turned, without
from blueprint.workbooks.common import (
    Choices,
    Rows,
    Settings,
    Written,
    all_in_range,
    labels,
)
from blueprint.workbooks.common.lesson import Lesson
from blueprint.workbooks.common.numbers_file import ARROWS, FREE, GOAL, MOVES, START, WALL, Cell, whole_to, with_map

FOLDER = Path(__file__).parent
SETTINGS = settings_in(FOLDER).settings


def _typed(numbers: Numbers) -> dict[str, Any]:
    """List what is typed and not in a file: the numbers of the sweeps, and an arrow for every set of moves."""
    return {"sweep.number": np.arange(1.0, numbers["grid.sweeps"] + 1), "arrows": np.array(ARROWS, dtype=object)}


def _saved(file: Any, parts: Values) -> Values:
    """Return how many sweeps a saved workbook has."""
    return {"grid.sweeps": file.array("sweep.number", 1).size}


LEVEL = Level(
    "value_iteration",
    "grid",
    "a map with walls and a goal",
    parts=(
        Part("grid.map", Cell, ("row", "column"), "S start, G goal, # wall, . free; who walks into a wall stays", noun="cell",
             block="grid.map"),
        Part("grid.sweeps", whole_to(32), (), "how often every cell is computed anew, from 0 on"),
    ),
    tables={"value_iteration": "settings; one that is left out is as here", "grid": "the map, and how many sweeps"},
    settings=SETTINGS,
    of_settings="value_iteration",
    limits={"row": (1, 8), "column": (1, 8)},
    make=with_map,
    more_typed=_typed,
    more_saved=_saved,
)  # fmt: skip


k = Axis("k", "sweep", start=1)
i = Axis("i", "row", start=1)
j = Axis("j", "column", start=1)
d = Axis("d", "set of moves")
LABELS = labels(own=__package__)
AROUND = ((i.first - 1, j), (i.last + 1, j), (i, j.first - 1), (i, j.last + 1))
"""The cells around the map, in which one cannot stand."""
TO: dict[str, tuple[Position | Axis, Position | Axis]] = {
    "up": (i - 1, j),
    "down": (i + 1, j),
    "left": (i, j - 1),
    "right": (i, j + 1),
}
"""By move the cell to which it leads."""


def grid(of: Rows, use: Written) -> None:
    """Read the map: where one can stand, where an episode ends, and what it pays to step on a cell. of: nothing yet."""
    cell = use.typed("grid.map", (i, j), "map", "S start, G goal, # wall, . free", text=True)
    can = use.along("grid.open", (i, j), where(equal(cell[i, j], WALL), 0, 1))
    for edge in AROUND:
        can[edge] = 0
    ends = use.along("grid.goal", (i, j), equal(cell[i, j], GOAL))
    use.along("grid.start", (i, j), equal(cell[i, j], START))
    use.along("grid.lives", (i, j), can[i, j] * (1 - ends[i, j]))
    use.along("grid.reward", (i, j), where(equal(ends[i, j], 1), use.used["goal_reward"], use.used["step_reward"]))
    known = [equal(cell[i, j], each) for each in (WALL, GOAL, START, FREE)]
    use.along("grid.strange", (i, j), 1 - known[0] - known[1] - known[2] - known[3])
    use.typed("arrows", (d,), "arrows", "moves: up 1, down 2, left 4, right 8", text=True)


def swept(name: str, of: Rows, use: Written) -> tuple[Block, list[Expr]]:
    """Begin a row of sweeps: every value from 0, what it is worth to land on a cell, and what each move gives.

    name: how the blocks begin. Returns the values, which have no equation yet but for sweep 0, and the moves.
    """
    can, enter = of["grid.open"], of["grid.reward"]
    V, worth = (use.along(f"{name}.{each}", (k, i, j)) for each in ("value", "worth"))
    V[k.first - 1, i, j] = 0
    for edge in AROUND:
        worth[(k, *edge)] = 0
    worth[k, i, j] = enter[i, j] + use.used["gamma"] * V[k - 1, i, j]
    moves = [
        use.along(f"{name}.{move}", (k, i, j), where(equal(can[to], 1), worth[(k, *to)], worth[k, i, j]))
        for move, to in TO.items()
    ]
    return V, [row[k, i, j] for row in moves]


def sweeps(of: Rows, use: Written) -> None:
    """Give every cell the best of its four moves, again and again: V(s) ← max_a [r + γ·V(s′)].

    A move into a wall, or off the map, leaves one where one is. Source: Sutton & Barto 2018, sec. 4.4.
    """
    V, (up, down, left, right) = swept("sweep", of, use)
    best = use.along("sweep.best", (k, i, j), maximum(maximum(up, down), maximum(left, right)))
    V[k, i, j] = where(equal(of["grid.lives"][i, j], 1), best[k, i, j], 0)


def policy(of: Rows, use: Written) -> None:
    """Read the greedy policy off the moves, ties and all; and count the cells that no later sweep changes."""
    V, best, lives = of["sweep.value"], of["sweep.best"][k, i, j], of["grid.lives"]
    up, down, left, right = (equal(of[f"sweep.{move}"][k, i, j], best) for move in MOVES)
    code = use.along("sweep.moves", (k, i, j), up + 2 * (down + 2 * (left + 2 * right)))
    use.along("sweep.arrow", (k, i, j), where(equal(lives[i, j], 1), of["arrows"][code[k, i, j]], of["grid.map"][i, j]))
    change = use.along("sweep.change", (k, i, j), abs(V[k, i, j] - V[k - 1, i, j]))
    use.along("sweep.largest", (k,), Max((i, j), change[k, i, j]))
    moved = use.along("sweep.moved", (k, i, j), where(equal(change[k, i, j], 0), 0, 1))
    later = use.along("sweep.moves_on", (k, i, j))
    later[k.last + 1, i, j] = 0
    later[k, i, j] = maximum(moved[k, i, j], later[k + 1, i, j])
    right_now = use.along("sweep.is_right", (k, i, j), lives[i, j] * (1 - later[k + 1, i, j]))
    use.along("sweep.right_count", (k,), Sum((i, j), right_now[k, i, j]))
    use.along("sweep.start", (k,), Sum((i, j), of["grid.start"][i, j] * V[k, i, j]))


def random_policy(of: Rows, use: Written) -> None:
    """Evaluate the policy that takes each move equally often: V(s) ← mean of its four moves.

    Source: Sutton & Barto 2018, sec. 4.1.
    """
    V, (up, down, left, right) = swept("random", of, use)
    mean = use.along("random.mean", (k, i, j), ((up + down) / 2 + (left + right) / 2) / 2)
    V[k, i, j] = where(equal(of["grid.lives"][i, j], 1), mean[k, i, j], 0)
    use.along("random.start", (k,), Sum((i, j), of["grid.start"][i, j] * V[k, i, j]))
    above = use.along("random.above", (k, i, j), maximum(0, V[k, i, j] - of["sweep.value"][k, i, j]))
    use.along("random.most_above", (k,), Max((i, j), above[k, i, j]))


def progress(of: Rows, use: Written) -> None:
    """Lay what each sweep comes to out downwards, and take what the last one says of the start."""
    use.typed("sweep.number", (k,), "k", "number of the sweep", decimals=0)
    down = [
        use.along(f"progress.{name}", (k,), of[row][k])
        for name, row in (
            ("start", "sweep.start"),
            ("right", "sweep.right_count"),
            ("change", "sweep.largest"),
            ("random", "random.start"),
            ("above", "random.most_above"),
        )
    ]
    down[2][k.last + 1] = 0
    count = use.one("progress.count", size(k))
    last = use.one("progress.last", count - 1)
    for name, row in zip(("value", "right", "change", "random"), down, strict=False):
        use.one(f"final.{name}", row[last])


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measure how far from 0 is what must be 0.

    A sweep changes no cell by more than γ times the largest change before it, and no policy is worth more than the best one.
    """
    change, gamma = of["progress.change"], use.used["gamma"]
    return [
        use.one("check.map", Max((i, j), of["grid.strange"][i, j])),
        use.along("check.shrinks", (k,), maximum(0, change[k + 1] - gamma * change[k])),
        use.one("check.random", Max(k, of["progress.above"][k])),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=k,
    steps=(grid, sweeps, policy, random_policy, progress),
    checks=checks_of,
    sizes={k: "sweep.number", i: "grid.map", j: ("grid.map", 1), d: len(ARROWS)},
)


# fmt: off
MISCONCEPTIONS = (
    *of("grid.reward",
        ("goal-pays-a-step", "The goal is left out: to step on it pays r_G.",
         equation(lambda b: b("step_reward")))),
    *of("sweep.worth",
        ("gamma-forgotten", "γ is forgotten: what comes later counts γ times.", without("gamma")),
        ("reward-forgotten", "The reward of the step is forgotten: r + γ·V.", operand("add", 1)),
        ("this-sweep", "The value is that of this sweep: a sweep reads what the one before left.",
         equation(lambda b: b["grid.reward"][i, j] + b("gamma") * b["sweep.value"][k, i, j])),
        ("step-subtracted", "The sign is turned: r is negative already.", turned("grid.reward"))),
    *of("sweep.best",
        ("mean-for-max", "This is the mean of the moves, the random policy: the best one counts.",
         equation(lambda b: ((b["sweep.up"][k, i, j] + b["sweep.down"][k, i, j]) / 2
                             + (b["sweep.left"][k, i, j] + b["sweep.right"][k, i, j]) / 2) / 2)),
        ("vertical-only", "Moves to the left and right are forgotten.", operand("maximum")),
        ("horizontal-only", "Moves up and down are forgotten.", operand("maximum", 1)),
        ("worst-for-best", "This is the worst move: the best one counts.", operation("maximum", "minimum"))),
    *of("random.mean",
        ("max-for-mean", "This is the best move: the random policy takes each equally often.",
         equation(lambda b: maximum(maximum(b["random.up"][k, i, j], b["random.down"][k, i, j]),
                                    maximum(b["random.left"][k, i, j], b["random.right"][k, i, j])))),
        ("not-halved", "The sum of two halves is not halved: each of four moves counts a quarter.", operand("div"))),
    *of("random.worth",
        ("gamma-forgotten", "γ is forgotten: what comes later counts γ times.", without("gamma")),
        ("best-for-random", "These are the values of the best policy: the random one has its own.",
         instead("random.value", "sweep.value"))),
)
# fmt: on
