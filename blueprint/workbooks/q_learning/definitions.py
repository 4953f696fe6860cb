"""A grid, and an agent that learns by walking on it: where each move leads, what each step teaches, and what is known after each
episode; and misconceptions about it.
"""

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
    typed,
    where,
)
from blueprint.language import number as number_of
from blueprint.misconceptions import equation, instead, of, operand, row, turned, without
from blueprint.workbooks.common import Choices, Rows, labels, named
from blueprint.workbooks.common.grid_map import GOAL, START, WALL

i = Axis("i", "row", start=1)
j = Axis("j", "column", start=1)
s = Axis("s", "state")
a = Axis("a", "move", start=1)
t = Axis("t", "step", start=1)
e = Axis("e", "episode", start=1)
d = Axis("d", "set of moves")
LABELS = labels(own=__package__)


def states(of: Rows, use: Choices) -> Rows:
    """Number the cells of the map, row by row from 0: what each of them is. of: nothing yet."""
    cell = typed("grid.map", (i, j), "map", "S start, G goal, # wall, . free", text=True)
    numbers = typed("grid.number", (i, j), "s_ij", "number of the cell, its state", decimals=0)
    number, at_row, at_column = (
        typed(f"state.{name}", (s,), symbol, meaning, decimals=0)
        for name, symbol, meaning in (
            ("number", "s", "number of the state"),
            ("row", "row", "its row, from 0"),
            ("column", "col", "its column, from 0"),
        )
    )
    line = use.along("state.line", (s, j), cell[at_row[s], j])
    word = use.along("state.cell", (s,), line[s, at_column[s]])
    is_wall, is_goal, is_start = (
        use.along(f"state.{name}", (s,), equal(word[s], sign))
        for name, sign in (("wall", WALL), ("goal", GOAL), ("start", START))
    )
    begin = use.one("start.state", Sum(s, is_start[s] * number[s]))
    return named(cell, numbers, number, at_row, at_column, line, word, is_wall, is_goal, is_start, begin)


def moves(of: Rows, use: Choices) -> Rows:
    """Say where each move leads from each state: to the neighbour; off the map, or into a wall, one stays."""
    word = typed("move.word", (a,), "move", "the moves", text=True)
    down, right, number = (
        typed(f"move.{name}", (a,), symbol, meaning, decimals=0)
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
    lands = use.along(
        "to.state", (s, a), where(equal(of["state.wall"][ahead[s, a]], 1), of["state.number"][s], ahead[s, a])
    )
    slot = use.along("to.slot", (s, a), 2 * (2 * of["state.number"][s]) + number[a])
    arrows = typed("arrows", (d,), "arrows", "moves: up 1, down 2, left 4, right 8", text=True)
    weight = typed("move.weight", (a,), "w_a", "what the move adds to a set", decimals=0)
    return named(word, down, right, number, rows_, columns, last_row, last_column, to_row, to_column, ahead, lands, slot,
                 arrows, weight)  # fmt: skip


def explored(here: Block, top: Block, use: Choices) -> Rows:
    """Make the policy of a state out of its values: ε-greedy, with the first of several best moves, or a soft-max at τ.

    here: the values of the state's four moves. top: the largest of them. Source: Sutton & Barto 2018, sec. 2.2 and 2.8.
    """
    count = use.one("move.count", size(a))
    is_top = use.along("move.is_top", (t, a), at_most(top[t], here[t, a]))
    so_far = use.along("move.so_far", (t, a))
    so_far[t, a.first - 1] = 0
    so_far[t, a] = so_far[t, a - 1] + is_top[t, a]
    first = use.along("move.first", (t, a), is_top[t, a] * equal(so_far[t, a], 1))
    epsilon = use.used["epsilon"]
    greedy = use.along("move.greedy", (t, a), (1 - epsilon) * first[t, a] + epsilon / count)
    heap = use.along("soft.exponentials", (t, a), exp((here[t, a] - top[t]) / use.used["tau"]))
    parts = use.along("soft.total", (t,), Sum(a, heap[t, a]))
    soft = use.along("soft.p", (t, a), heap[t, a] / parts[t])
    p = use.along("step.p", (t, a), use.switch["exploration"].choose(epsilon_greedy=greedy[t, a], softmax=soft[t, a]))
    up_to = use.along("step.up_to", (t, a))
    up_to[t, a.first - 1] = 0
    up_to[t, a] = up_to[t, a - 1] + p[t, a]
    # A draw of 0.95 must fall on the same move whether 0.925 + 0.025 is 0.95 or a last digit more.
    digits = typed("draw.digits", (), "digits", "decimals of what a draw is compared with", decimals=0)
    begins = use.along("step.begins", (t, a), rounded(up_to[t, a - 1], digits))
    return named(digits, begins, count, is_top, so_far, first, greedy, heap, parts, soft, p, up_to)


def steps(of: Rows, use: Choices) -> Rows:
    """Walk and learn, step by step: Q(s, a) ← Q(s, a) + α·[r + γ·max_a′ Q(s′, a′) − Q(s, a)].

    A new episode begins after a step on to the goal; behind the last episode nothing is learned. Source: Sutton & Barto 2018,
    sec. 6.5; Watkins & Dayan 1992.
    """
    u = typed("step.uniform", (t,), "u", "uniform draw, typed", unit="0.01 … 0.99", decimals=2)
    told = typed("step.typed_move", (t,), "move_typed", "up, down, left, right; blank: as drawn", text=True)
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
    policy = explored(here, top, use)
    drawn = use.along("step.drawn", (t,), find(a, policy["step.begins"][t, a], u[t]))
    action = use.along("step.action", (t,), where(filled(told[t]), match(a, of["move.word"][a], told[t]), drawn[t]))
    word = use.along("step.move", (t,), of["move.word"][action[t]])
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
    return {
        **named(u, told, episodes, episode, counts, state, here, top, drawn, action, word, leads, lands, done, reward, q, after,
                best, target, error, new, slot, Q),
        **policy,
    }  # fmt: skip


def as_gae(of: Rows, use: Choices) -> Rows:
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
    apart = use.along("gae.difference", (t,), A[t] - of["step.counts"][t] * of["step.td_error"][t])
    return named(delta, A, apart)


def episodes(of: Rows, use: Choices) -> Rows:
    """Read the table at the end of each episode: all values, the best of each state, and the moves that reach it."""
    number = typed("episode.number", (e,), "e", "number of the episode", decimals=0)
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
    took = use.along("episode.steps", (e,), end[e] - end[e - 1])
    began = use.along("episode.began", (e,), equal(of["step.episode"][end[e]], number[e]))
    ended = use.along("episode.ended", (e,), began[e] * of["step.done"][end[e]])
    earned = use.along("episode.return", (e,), began[e] * sums[end[e]])
    table = use.along("episode.q", (e, s, a), of["q.table"][end[e], a, s])
    best = use.along("episode.best", (e, s), Max(a, table[e, s, a]))
    is_best = use.along("episode.is_best", (e, s, a), at_most(best[e, s], table[e, s, a]))
    code = use.along("episode.moves", (e, s), Sum(a, is_best[e, s, a] * of["move.weight"][a]))
    return named(number, time, sums, count, clock, end, took, began, ended, earned, table, best, is_best, code)


def pictures(of: Rows, use: Choices) -> Rows:
    """Lay the best values and their moves out as the map has its cells; and take what is known of the start at the end."""
    place = of["grid.number"]
    value = use.along("picture.value", (e, i, j), of["episode.best"][e, place[i, j]])
    word = use.along("picture.cell", (i, j), of["state.cell"][place[i, j]])
    code = use.along("picture.moves", (e, i, j), of["episode.moves"][e, place[i, j]])
    lives = use.along("picture.lives", (i, j), 1 - equal(word[i, j], WALL) - equal(word[i, j], GOAL))
    arrow = use.along("picture.arrow", (e, i, j), where(equal(lives[i, j], 1), of["arrows"][code[e, i, j]], word[i, j]))
    start = use.along("episode.start", (e,), of["episode.best"][e, of["start.state"]])
    last = use.one("episode.last", of["episode.count"] - 1)
    finals = [
        use.one(f"final.{name}", row[last])
        for name, row in (("start", start), ("steps", of["episode.steps"]), ("earned", of["episode.return"]))
    ]
    ended = use.one("final.ended", Sum(e, of["episode.ended"][e]))
    return named(value, word, code, lives, arrow, start, last, *finals, ended)


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
