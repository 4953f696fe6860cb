"""A grid, and an agent that learns by walking on it: where each move leads, what each step teaches, and what is known after each
episode; and misconceptions about it.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import WithJsonSchema

from blueprint.inputs import Level, Numbers, Part, Values, settings_in
from blueprint.inputs.entries import Draw, Text, must_be
from blueprint.language import (
    Axis,
    Block,
    Max,
    Sum,
    at_most,
    constant,
    equal,
    exp,
    filled,
    find,
    match,
    maximum,
    minimum,
    rounded,
    size,
    where,
)
from blueprint.language import number as number_of
from blueprint.misconceptions import equation, instead, of, operand, row, turned, without
from blueprint.workbooks.common import (
    Choices,
    Rows,
    Settings,
    Written,
    all_in_range,
    labels,
)
from blueprint.workbooks.common.definitions.writing_rows import running_sum
from blueprint.workbooks.common.lesson import Lesson
from blueprint.workbooks.common.numbers_file import (
    ARROWS,
    DOWNWARDS,
    GOAL,
    MOVES,
    RIGHTWARDS,
    START,
    WALL,
    Cell,
    whole_to,
    with_map,
)

FOLDER = Path(__file__).parent
SETTINGS = settings_in(FOLDER).settings
MOST_STATES, MOST_EPISODES, MOST_STEPS = 16, 16, 160
Move = Annotated[
    Text,
    must_be("up, down, left, right or nothing", lambda text: text in ("", *MOVES)),
    WithJsonSchema({"enum": ["", *MOVES]}),
]


def _typed(numbers: Numbers) -> dict[str, Any]:
    """List what is typed and not in a file: the numbers of states, moves and episodes, and where they are."""
    height, width = len(numbers["grid.map"]), len(numbers["grid.map"][0])
    place = np.arange(float(height * width))
    return {
        "grid.number": place.reshape(height, width),
        "state.number": place,
        "state.row": place // width,
        "state.column": place % width,
        "move.word": np.array(MOVES, dtype=object),
        "move.down": np.array(DOWNWARDS),
        "move.right": np.array(RIGHTWARDS),
        "move.number": np.arange(4.0),
        "move.weight": 2 ** np.arange(4.0),
        "draw.digits": 9.0,
        "arrows": np.array(ARROWS, dtype=object),
        "episode.number": np.arange(1.0, numbers["grid.episodes"] + 1),
    }


def _saved(file: Any, parts: Values) -> Values:
    """Return how many episodes a saved workbook has."""
    return {"grid.episodes": file.array("episode.number", 1).size}


LEVEL = Level(
    "q_learning",
    "steps",
    "a map, and a uniform draw for every step",
    parts=(
        Part("grid.map", Cell, ("row", "column"), "S start, G goal, # wall, . free; who walks into a wall stays", noun="cell",
             block="grid.map"),
        Part("grid.episodes", whole_to(MOST_EPISODES), (), "after how many episodes learning ends"),
        Part("steps.uniform", Draw, ("step",), "a number from 0.01 to 0.99 per step: chance, typed", block="step.uniform"),
        Part("steps.moves", Move, ("step",), "up, down, left or right; nothing: as the policy draws", noun="move",
             block="step.typed_move"),
    ),
    tables={"q_learning": "settings; one that is left out is as here", "grid": "the map, and how many episodes",
            "steps": "an entry per step, all episodes one after the other"},
    settings=SETTINGS,
    of_settings="q_learning",
    limits={"row": (1, MOST_STATES), "column": (1, MOST_STATES), "step": (1, MOST_STEPS)},
    make=partial(with_map, most=MOST_STATES),
    more_typed=_typed,
    more_saved=_saved,
)  # fmt: skip


i = Axis("i", "row", start=1)
j = Axis("j", "column", start=1)
s = Axis("s", "state")
a = Axis("a", "move", start=1)
t = Axis("t", "step", start=1)
e = Axis("e", "episode", start=1)
d = Axis("d", "set of moves")
LABELS = labels(own=__package__)


def states(of: Rows, use: Written) -> None:
    """Number the cells of the map, row by row from 0: what each of them is. of: nothing yet."""
    cell = use.typed("grid.map", (i, j), "map", "S start, G goal, # wall, . free", text=True)
    use.typed("grid.number", (i, j), "s_ij", "number of the cell, its state", decimals=0)
    number, at_row, at_column = (
        use.typed(f"state.{name}", (s,), symbol, meaning, decimals=0)
        for name, symbol, meaning in (
            ("number", "s", "number of the state"),
            ("row", "row", "its row, from 0"),
            ("column", "col", "its column, from 0"),
        )
    )
    line = use.along("state.line", (s, j), cell[at_row[s], j])
    word = use.along("state.cell", (s,), line[s, at_column[s]])
    for name, sign in (("wall", WALL), ("goal", GOAL), ("start", START)):
        use.along(f"state.{name}", (s,), equal(word[s], sign))
    use.one("start.state", Sum(s, of["state.start"][s] * number[s]))


def moves(of: Rows, use: Written) -> None:
    """Say where each move leads from each state: to the neighbour; off the map, or into a wall, one stays."""
    use.typed("move.word", (a,), "move", "the moves", text=True)
    down, right, number = (
        use.typed(f"move.{name}", (a,), symbol, meaning, decimals=0)
        for name, symbol, meaning in (
            ("down", "Δrow", "rows further down"),
            ("right", "Δcol", "columns further to the right"),
            ("number", "a", "number of the move, from 0"),
        )
    )
    rows_, columns = use.one("grid.rows", size(i)), use.one("grid.columns", size(j))
    last_row, last_column = use.one("grid.last_row", rows_ - 1), use.one("grid.last_column", columns - 1)
    to_row, to_column = (
        use.along(f"to.{name}", (s, a), maximum(0, minimum(last, of[f"state.{name}"][s] + by[a])))
        for name, last, by in (("row", last_row, down), ("column", last_column, right))
    )
    ahead = use.along("to.cell", (s, a), to_row[s, a] * columns + to_column[s, a])
    use.along("to.state", (s, a), where(equal(of["state.wall"][ahead[s, a]], 1), of["state.number"][s], ahead[s, a]))
    use.along("to.slot", (s, a), 2 * (2 * of["state.number"][s]) + number[a])
    use.typed("arrows", (d,), "arrows", "moves: up 1, down 2, left 4, right 8", text=True)
    use.typed("move.weight", (a,), "w_a", "what the move adds to a set", decimals=0)


def explored(here: Block, top: Block, use: Written) -> Block:
    """Make the policy of a state out of its values: ε-greedy, with the first of several best moves, or a soft-max at τ.

    Returns where on the line from 0 to 1 each move begins, which a draw falls on.

    here: the values of the state's four moves. top: the largest of them. Source: Sutton & Barto 2018, sec. 2.2 and 2.8.
    """
    count = use.one("move.count", size(a))
    is_top = use.along("move.is_top", (t, a), at_most(top[t], here[t, a]))
    so_far = running_sum("move.so_far", is_top, use)
    first = use.along("move.first", (t, a), is_top[t, a] * equal(so_far[t, a], 1))
    epsilon = use.used["epsilon"]
    greedy = use.along("move.greedy", (t, a), (1 - epsilon) * first[t, a] + epsilon / count)
    heap = use.along("soft.exponentials", (t, a), exp((here[t, a] - top[t]) / use.used["tau"]))
    parts = use.along("soft.total", (t,), Sum(a, heap[t, a]))
    soft = use.along("soft.p", (t, a), heap[t, a] / parts[t])
    p = use.along("step.p", (t, a), use.switch["exploration"].choose(epsilon_greedy=greedy[t, a], softmax=soft[t, a]))
    up_to = running_sum("step.up_to", p, use)
    # A draw of 0.95 must fall on the same move whether 0.925 + 0.025 is 0.95 or a last digit more.
    digits = use.typed("draw.digits", (), "digits", "decimals of what a draw is compared with", decimals=0)
    return use.along("step.begins", (t, a), rounded(up_to[t, a - 1], digits))


def steps(of: Rows, use: Written) -> None:
    """Walk and learn, step by step: Q(s, a) ← Q(s, a) + α·[r + γ·max_a′ Q(s′, a′) − Q(s, a)].

    A new episode begins after a step on to the goal; behind the last episode nothing is learned. Source: Sutton & Barto 2018,
    sec. 6.5; Watkins & Dayan 1992.
    """
    u = use.typed("step.uniform", (t,), "u", "uniform draw, typed", unit="0.01 … 0.99", decimals=2)
    told = use.typed("step.typed_move", (t,), "move_typed", "up, down, left, right; blank: as drawn", text=True)
    episodes = use.one("episode.count", size(e))
    episode, state, lands, done, Q = (
        use.along(name, along)
        for name, along in (
            ("step.episode", (t,)), ("step.state", (t,)), ("step.next", (t,)), ("step.done", (t,)), ("q.table", (t, a, s)),
        )
    )  # fmt: skip
    episode[t.first - 1], lands[t.first - 1], done[t.first - 1] = 0, 0, 1
    Q[t.first - 1, a, s] = use.used["initial"]
    episode[t] = episode[t - 1] + done[t - 1]
    counts = use.along("step.counts", (t,), at_most(episode[t], episodes))
    state[t] = where(equal(done[t - 1], 1), of["start.state"], lands[t - 1])
    here = use.along("step.q_here", (t, a), Q[t - 1, a, state[t]])
    top = use.along("step.q_top", (t,), Max(a, here[t, a]))
    begins = explored(here, top, use)
    drawn = use.along("step.drawn", (t,), find(a, begins[t, a], u[t]))
    action = use.along("step.action", (t,), where(filled(told[t]), match(a, of["move.word"][a], told[t]), drawn[t]))
    use.along("step.move", (t,), of["move.word"][action[t]])
    leads = use.along("step.leads", (t, a), of["to.state"][state[t], a])
    lands[t] = leads[t, action[t]]
    done[t] = of["state.goal"][lands[t]]
    reward = use.along("step.earned", (t,), where(equal(done[t], 1), use.used["goal_reward"], use.used["step_reward"]))
    q = use.along("step.q", (t,), here[t, action[t]])
    after = use.along("step.q_after", (t, a), Q[t - 1, a, lands[t]])
    best = use.along("step.q_next", (t,), Max(a, after[t, a]))
    target = use.along("step.target", (t,), reward[t] + use.used["gamma"] * (1 - done[t]) * best[t])
    error = use.along("step.td_error", (t,), target[t] - q[t])
    new = use.along("step.q_new", (t,), q[t] + use.used["alpha"] * error[t])
    slot = use.along("step.slot", (t,), where(equal(counts[t], 1), 2 * (2 * state[t]) + action[t], -constant(1)))
    Q[t, a, s] = where(equal(of["to.slot"][s, a], slot[t]), new[t], Q[t - 1, a, s])


def as_gae(of: Rows, use: Written) -> None:
    """Set PPO's advantage beside the TD error: δ = r + γ·V(s′) − V(s) with V(s) = Q(s, a) and V(s′) = max Q(s′, ·), then GAE.

    With λ = 0 the advantage is δ, and δ is the TD error. Source: 1506.02438, eq. 16.
    """
    gamma, done = use.used["gamma"], of["step.done"]
    delta = use.along(
        "gae.delta", (t,), of["step.earned"][t] + gamma * ((1 - done[t]) * of["step.q_next"][t]) - of["step.q"][t]
    )
    A = use.along("gae.advantage", (t,))
    A[t.last + 1] = 0
    A[t] = of["step.counts"][t] * (delta[t] + gamma * use.used["gae_lambda"] * (1 - done[t]) * A[t + 1])
    use.along("gae.difference", (t,), A[t] - of["step.counts"][t] * of["step.td_error"][t])


def episodes(of: Rows, use: Written) -> None:
    """Read the table at the end of each episode: all values, the best of each state, and the moves that reach it."""
    number = use.typed("episode.number", (e,), "e", "number of the episode", decimals=0)
    time = use.along("step.time", (t,), number_of(t))
    sums = use.along("step.return", (t,))
    sums[t.first - 1] = 0
    sums[t] = (1 - of["step.done"][t - 1]) * sums[t - 1] + of["step.earned"][t]
    end = use.along("episode.end", (e,))
    end[e.first - 1] = -constant(1)
    # Numbers that only ever grow, for a search among equal ones ends at another of them in some programs.
    count = use.one("step.count", size(t))
    clock = use.along("step.clock", (t,), of["step.episode"][t] + time[t] / (count + 1))
    end[e] = find(t, clock[t], number[e] + 1)
    use.along("episode.steps", (e,), end[e] - end[e - 1])
    began = use.along("episode.began", (e,), equal(of["step.episode"][end[e]], number[e]))
    use.along("episode.ended", (e,), began[e] * of["step.done"][end[e]])
    use.along("episode.return", (e,), began[e] * sums[end[e]])
    table = use.along("episode.q", (e, s, a), of["q.table"][end[e], a, s])
    best = use.along("episode.best", (e, s), Max(a, table[e, s, a]))
    is_best = use.along("episode.is_best", (e, s, a), at_most(best[e, s], table[e, s, a]))
    use.along("episode.moves", (e, s), Sum(a, is_best[e, s, a] * of["move.weight"][a]))


def pictures(of: Rows, use: Written) -> None:
    """Lay the best values and their moves out as the map has its cells; and take what is known of the start at the end."""
    place = of["grid.number"]
    use.along("picture.value", (e, i, j), of["episode.best"][e, place[i, j]])
    word = use.along("picture.cell", (i, j), of["state.cell"][place[i, j]])
    code = use.along("picture.moves", (e, i, j), of["episode.moves"][e, place[i, j]])
    lives = use.along("picture.lives", (i, j), 1 - equal(word[i, j], WALL) - equal(word[i, j], GOAL))
    use.along("picture.arrow", (e, i, j), where(equal(lives[i, j], 1), of["arrows"][code[e, i, j]], word[i, j]))
    start = use.along("episode.start", (e,), of["episode.best"][e, of["start.state"]])
    last = use.one("episode.last", of["episode.count"] - 1)
    for name, each in (("start", start), ("steps", of["episode.steps"]), ("earned", of["episode.return"])):
        use.one(f"final.{name}", each[last])
    use.one("final.ended", Sum(e, of["episode.ended"][e]))


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measure how far from 0 is what must be 0: chances add up, a step changes one value, and with λ = 0 GAE is the TD error."""
    lam = use.used["gae_lambda"]
    return [
        use.along("check.chances", (t,), abs(Sum(a, of["step.p"][t, a]) - 1)),
        use.along("check.gae", (t,), where(equal(lam, 0), abs(of["gae.difference"][t]), 0)),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=t,
    steps=(states, moves, steps, as_gae, episodes, pictures),
    checks=checks_of,
    sizes={
        i: "grid.map",
        j: ("grid.map", 1),
        s: "state.number",
        a: "move.number",
        t: "step.uniform",
        e: "episode.number",
        d: "arrows",
    },
    names={a: "move.word"},
)


# fmt: off
MISCONCEPTIONS = (
    *of("step.q_next",
        ("taken-for-best", "This is the value of the first move there: the best one counts, whichever is taken.",
         equation(lambda b: b["step.q_after"][t, constant(0)])),
        ("here-for-there", "This is the best move of the state that is left: that of the next state counts.",
         row("step.q_top"))),
    *of("step.target",
        ("gamma-forgotten", "γ is forgotten: the next value counts γ times.", without("gamma")),
        ("reward-forgotten", "The reward is forgotten: r + γ·max Q′.", operand("add", 1)),
        ("reward-alone", "The next value is forgotten: r + γ·max Q′.", operand("add")),
        ("reward-subtracted", "The sign of the reward is turned.", turned("step.earned"))),
    *of("step.td_error",
        ("old-forgotten", "The old value is forgotten: this is the target.", operand("sub")),
        ("turned", "The sign is turned: target less old value.", turned()),
        ("top-for-taken", "The best value of the state stands for that of the move that was taken.",
         instead("step.q", "step.q_top"))),
    *of("step.q_new",
        ("alpha-forgotten", "α is forgotten: only a part of the error is learned.", without("alpha")),
        ("error-alone", "The old value is forgotten: the error is added to it.", operand("add", 1)),
        ("not-learned", "This is the old value: nothing was learned.", operand("add")),
        ("target-for-error", "α times the target is added: α times the error is.", instead("step.td_error", "step.target"))),
    *of("step.earned",
        ("goal-pays-a-step", "The step reached the goal: it pays r_G.", equation(lambda b: b("step_reward")))),
    *of("gae.advantage",
        ("gamma-forgotten", "γ is forgotten: A_t = δ_t + γ·λ·A_{t+1}.", without("gamma"))),
)
# fmt: on
