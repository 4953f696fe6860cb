"""A grid with walls and a goal: what each cell is worth if one always takes the best move, and if one moves at random, both by
sweeps over all cells; and misconceptions about it.
"""

from blueprint.language import Axis, Block, Max, Position, Sum, equal, maximum, size, typed, where
from blueprint.misconceptions import equation, instead, of, operand, operation, turned, without
from blueprint.workbooks.common import Choices, Rows, labels, named
from blueprint.workbooks.common.grid_map import FREE, GOAL, MOVES, START, WALL

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


def grid(of: Rows, use: Choices) -> Rows:
    """Read the map: where one can stand, where an episode ends, and what it pays to step on a cell. of: nothing yet."""
    cell = typed("grid.map", (i, j), "map", "S start, G goal, # wall, . free", text=True)
    can = use.along("grid.open", (i, j), where(equal(cell[i, j], WALL), 0, 1))
    for edge in AROUND:
        can[edge] = 0
    ends = use.along("grid.goal", (i, j), equal(cell[i, j], GOAL))
    begins = use.along("grid.start", (i, j), equal(cell[i, j], START))
    lives = use.along("grid.lives", (i, j), can[i, j] * (1 - ends[i, j]))
    enter = use.along(
        "grid.reward", (i, j), where(equal(ends[i, j], 1), use.used["goal_reward"], use.used["step_reward"])
    )
    known = [equal(cell[i, j], each) for each in (WALL, GOAL, START, FREE)]
    strange = use.along("grid.strange", (i, j), 1 - known[0] - known[1] - known[2] - known[3])
    arrows = typed("arrows", (d,), "arrows", "moves: up 1, down 2, left 4, right 8", text=True)
    return named(cell, can, ends, begins, lives, enter, strange, arrows)


def swept(name: str, backed_up: str, of: Rows, use: Choices) -> tuple[Block, list[Block], Block]:
    """Begin a row of sweeps: every value from 0, what it is worth to land on a cell, and what each move gives.

    name: how the blocks begin. Returns the values, which have no equation yet but for sweep 0; worth and moves; and the name
    under which what the moves come to is to stand.
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
    return V, [worth, *moves], use.along(f"{name}.{backed_up}", (k, i, j))


def sweeps(of: Rows, use: Choices) -> Rows:
    """Give every cell the best of its four moves, again and again: V(s) ← max_a [r + γ·V(s′)].

    A move into a wall, or off the map, leaves one where one is. Source: Sutton & Barto 2018, sec. 4.4.
    """
    V, rows, best = swept("sweep", "best", of, use)
    _, up, down, left, right = (row[k, i, j] for row in rows)
    best[k, i, j] = maximum(maximum(up, down), maximum(left, right))
    V[k, i, j] = where(equal(of["grid.lives"][i, j], 1), best[k, i, j], 0)
    return named(*rows, best, V)


def policy(of: Rows, use: Choices) -> Rows:
    """Read the greedy policy off the moves, ties and all; and count the cells that no later sweep changes."""
    V, best, lives = of["sweep.value"], of["sweep.best"][k, i, j], of["grid.lives"]
    up, down, left, right = (equal(of[f"sweep.{move}"][k, i, j], best) for move in MOVES)
    code = use.along("sweep.moves", (k, i, j), up + 2 * (down + 2 * (left + 2 * right)))
    arrow = use.along(
        "sweep.arrow", (k, i, j), where(equal(lives[i, j], 1), of["arrows"][code[k, i, j]], of["grid.map"][i, j])
    )
    change = use.along("sweep.change", (k, i, j), abs(V[k, i, j] - V[k - 1, i, j]))
    largest = use.along("sweep.largest", (k,), Max((i, j), change[k, i, j]))
    moved = use.along("sweep.moved", (k, i, j), where(equal(change[k, i, j], 0), 0, 1))
    later = use.along("sweep.moves_on", (k, i, j))
    later[k.last + 1, i, j] = 0
    later[k, i, j] = maximum(moved[k, i, j], later[k + 1, i, j])
    right_now = use.along("sweep.is_right", (k, i, j), lives[i, j] * (1 - later[k + 1, i, j]))
    count = use.along("sweep.right_count", (k,), Sum((i, j), right_now[k, i, j]))
    start = use.along("sweep.start", (k,), Sum((i, j), of["grid.start"][i, j] * V[k, i, j]))
    return named(code, arrow, change, largest, moved, later, right_now, count, start)


def random_policy(of: Rows, use: Choices) -> Rows:
    """Evaluate the policy that takes each move equally often: V(s) ← mean of its four moves.

    Source: Sutton & Barto 2018, sec. 4.1.
    """
    V, rows, mean = swept("random", "mean", of, use)
    _, up, down, left, right = (row[k, i, j] for row in rows)
    mean[k, i, j] = ((up + down) / 2 + (left + right) / 2) / 2
    V[k, i, j] = where(equal(of["grid.lives"][i, j], 1), mean[k, i, j], 0)
    start = use.along("random.start", (k,), Sum((i, j), of["grid.start"][i, j] * V[k, i, j]))
    above = use.along("random.above", (k, i, j), maximum(0, V[k, i, j] - of["sweep.value"][k, i, j]))
    most = use.along("random.most_above", (k,), Max((i, j), above[k, i, j]))
    return named(*rows, mean, V, start, above, most)


def progress(of: Rows, use: Choices) -> Rows:
    """Lay what each sweep comes to out downwards, and take what the last one says of the start."""
    number = typed("sweep.number", (k,), "k", "number of the sweep", decimals=0)
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
    finals = [
        use.one(f"final.{name}", row[last])
        for name, row in zip(("value", "right", "change", "random"), down, strict=False)
    ]
    return named(number, *down, count, last, *finals)


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
