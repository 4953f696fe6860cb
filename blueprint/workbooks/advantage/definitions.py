"""What is multiplied with ∇log π, and what that does: five estimates of one gradient from the same traces, GAE for a row of λ, and
one long trace, of which bias and variance are known exactly; and misconceptions about it.

A row of the traces has a column for each step, (t), and a line for each trace, (n). A trace ends after its last step, so that what
comes then is worth 0; the long trace, (s), is cut, and goes on with the value of what comes next.
"""

from blueprint.language import (
    Arithmetic,
    Axis,
    Block,
    Sum,
    choose,
    constant,
    exp,
    less,
    number,
    size,
    sqrt,
    typed,
    where,
)
from blueprint.misconceptions import equation, instead, of, operand, operation, turned, without
from blueprint.workbooks.common import Choices, Rows, labels, named

n = Axis("n", "trace", start=1)
t = Axis("t", "step", start=1)
c = Axis("c", "weight", start=1, size=5)
b = Axis("b", "λ", start=1)
d = b.alias("d")
s = Axis("s", "step of the long trace", start=1)
LABELS = labels(own=__package__)
WEIGHTS = ("whole", "to_go", "less_mean", "less_value", "gae")
"""What stands beside ∇log π, in the order of Schulman et al. 2016, sec. 2."""
FOUR = ("1", "2", "3", "4")
"""The λ of the row, by number."""


def traces(of: Rows, use: Choices) -> Rows:
    """Types actions, rewards and values, (n, t); computes ∇log π of a policy of two actions, and the returns. of: nothing yet.

    Source: Schulman et al. 2016, sec. 2. The policy takes action 1 with σ(θ), in every step alike: ∇log π by θ is a − σ(θ).
    """
    action = typed("trace.action", (n, t), "a", "action that was taken", unit="0 or 1", decimals=0)
    r = typed("trace.reward", (n, t), "r", "reward of the step", decimals=1)
    value = typed("trace.value", (n, t), "v", "what the critic expects from here on", decimals=1)
    p = use.one("action.p", 1 / (1 + exp(-use.used["theta"])))
    slope = use.along("trace.slope", (n, t), action[n, t] - p)
    G = use.along("trace.return", (n, t))
    G[n, t.last + 1] = 0
    G[n, t] = r[n, t] + use.used["gamma"] * G[n, t + 1]
    first = use.one("step.first", 0)
    whole_return = use.along("weight.whole", (n, t), G[n, first])
    count = use.one("trace.count", size(n))
    mean = use.along("trace.mean", (t,), Sum(n, G[n, t]) / count)
    less_mean = use.along("weight.less_mean", (n, t), G[n, t] - mean[t])
    V = use.along("trace.values", (n, t))
    V[n, t.last + 1] = 0
    V[n, t] = value[n, t]
    less_value = use.along("weight.less_value", (n, t), G[n, t] - V[n, t])
    delta = use.along("trace.delta", (n, t), r[n, t] + use.used["gamma"] * V[n, t + 1] - V[n, t])
    A = _faded("weight.gae", delta, use.used["gae_lambda"], use)
    step = use.along("trace.step", (t,), number(t))
    return named(
        step, action, r, value, p, slope, G, first, whole_return, count, mean, less_mean, V, less_value, delta, A
    )


def _faded(name: str, delta: Block, lam: Arithmetic, use: Choices) -> Block:
    """Computes GAE: δ and all later δ, each step fainter by γλ. Source: Schulman et al. 2016, eq. 16."""
    A = use.along(name, (n, t))
    A[n, t.last + 1] = 0
    A[n, t] = delta[n, t] + use.used["gamma"] * lam * A[n, t + 1]
    return A


def gradients(of: Rows, use: Choices) -> Rows:
    """Estimates the gradient from each trace, with each of five weights: their mean over the traces, (c), and their variance."""
    weights = {name: of["trace.return" if name == "to_go" else f"weight.{name}"] for name in WEIGHTS}
    by = {
        name: use.along(f"gradient.{name}", (n,), Sum(t, of["trace.slope"][n, t] * w[n, t]))
        for name, w in weights.items()
    }
    names = typed("weight.name", (c,), "weight", "what is multiplied with ∇log π", text=True)
    each = use.along("gradient.each", (c, n), choose(number(c) - 1, **{name: row[n] for name, row in by.items()}))
    made = _spread("gradient", each, of, use)
    variance = made["gradient.variance"]
    most = use.one("gradient.most", variance[of["step.first"]])
    share = use.along("gradient.share", (c,), where(less(0, most), variance[c] / most, 1))
    error = use.along("gradient.error", (c,), sqrt(variance[c] / of["trace.count"]))
    last = use.one("weight.last", constant(2) + 2)  # the fifth, from 0
    left = use.one("gradient.left", share[last])
    return {**named(*by.values(), names, each), **made, **named(most, share, error, last, left)}


def _spread(name: str, each: Block, of: Rows, use: Choices) -> dict[str, Block]:
    """Takes the mean over the traces, and the variance about it, with n − 1. each: one number a trace, in a column of its own."""
    column, _ = each.axes
    mean = use.along(f"{name}.mean", (column,), Sum(n, each[column, n]) / of["trace.count"])
    centred = use.along(f"{name}.centred", (column, n), each[column, n] - mean[column])
    squares = Sum(n, centred[column, n] * centred[column, n])
    return named(mean, centred, use.along(f"{name}.variance", (column,), squares / (of["trace.count"] - 1)))


def lambdas(of: Rows, use: Choices) -> Rows:
    """Computes GAE for a row of λ, (b), from the same traces: the first step's advantage, and the gradient, over the traces."""
    first, delta, slope = of["step.first"], of["trace.delta"], of["trace.slope"]
    lam = typed("sweep.lambda", (b,), "λ_b", "λ that is tried", unit="0 … 1", decimals=2)
    ids: list[Block] = []
    for name in FOUR:
        ids.append(use.one(f"lambda.id.{name}", ids[-1] + 1 if ids else constant(0)))
    at = [use.one(f"lambda.{name}", lam[place]) for name, place in zip(FOUR, ids, strict=True)]
    A = {name: _faded(f"lambda.gae.{name}", delta, value, use) for name, value in zip(FOUR, at, strict=True)}
    pull = {
        name: use.along(f"lambda.gradient.{name}", (n,), Sum(t, slope[n, t] * row[n, t])) for name, row in A.items()
    }
    begins = use.along("sweep.first", (b, n), choose(number(b) - 1, **{f"l{i}": row[n, first] for i, row in A.items()}))
    gradient = use.along(
        "sweep.gradient", (b, n), choose(number(b) - 1, **{f"l{i}": row[n] for i, row in pull.items()})
    )
    over, pulls = _spread("sweep.first", begins, of, use), _spread("sweep.gradient", gradient, of, use)
    sd = use.along("sweep.first.sd", (b,), sqrt(over["sweep.first.variance"][b]))
    start = use.along("trace.start", (n,), of["weight.less_value"][n, first])
    fair = use.one("trace.fair", Sum(n, start[n]) / of["trace.count"])
    bias = use.along("sweep.first.bias", (b,), over["sweep.first.mean"][b] - fair)
    return {
        **named(lam, *ids, *at, *A.values(), *pull.values(), begins, gradient), **over, **pulls, **named(sd, start, fair, bias),
    }  # fmt: skip


def long_trace(of: Rows, use: Choices) -> Rows:
    """Fades the TD errors of one long trace, (s), by each λ, downwards (d); and what that is over all rewards it might have had.

    Rewards vary by σ about m, each by itself, and V stays as it is. So A_1 = Σ (γλ)^k·δ has the mean that the rewards' mean
    gives, and the variance σ²·Σ (γλ)^2k: exactly, for any number of traces. Over the steps of one trace A varies for another
    reason: V is wrong by more in some steps than in others.
    """
    by, first = use.used, of["step.first"]
    r = typed("long.reward", (s,), "r_s", "reward of the step", decimals=3)
    value = typed("long.value", (s,), "v_s", "what the critic expects from here on", decimals=3)
    after = typed("long.last_value", (), "v_end", "value of what comes after the last step", decimals=3)
    V = use.along("long.values", (s,))
    V[s.last + 1] = after
    V[s] = value[s]
    delta = use.along("long.delta", (s,), r[s] + by["gamma"] * V[s + 1] - V[s])
    awaited = use.along("long.delta_mean", (s,), by["reward_mean"] + by["gamma"] * V[s + 1] - V[s])
    place = use.along("lambda.place", (d,))
    place[d.first - 1] = -constant(1)
    place[d] = place[d - 1] + 1
    lam = use.along("lambda.down", (d,), of["sweep.lambda"][place[d]])
    fade = use.along("lambda.fade", (d,), by["gamma"] * lam[d])
    A, expected, spread = (use.along(f"long.{name}", (s, d)) for name in ("gae", "expected", "spread"))
    for row, adds in ((A, delta[s]), (expected, awaited[s])):
        row[s.last + 1, d] = 0
        row[s, d] = adds + fade[d] * row[s + 1, d]
    square = use.along("lambda.fade_square", (d,), fade[d] * fade[d])
    spread[s.last + 1, d] = 0
    spread[s, d] = 1 + square[d] * spread[s + 1, d]
    G = use.along("long.return", (s,))
    G[s.last + 1] = after
    G[s] = by["reward_mean"] + by["gamma"] * G[s + 1]
    count = use.one("long.count", size(s))
    last, fair = use.one("long.last", count - 1), use.one("long.fair", G[first] - V[first])
    mean = use.along("long.mean", (d,), Sum(s, A[s, d]) / count)
    centred = use.along("long.centred", (s, d), A[s, d] - mean[d])
    over_time = use.along("long.variance", (d,), Sum(s, centred[s, d] * centred[s, d]) / count)
    starts, ends = use.along("long.first", (d,), A[first, d]), use.along("long.end", (d,), A[last, d])
    awaits = use.along("long.first_mean", (d,), expected[first, d])
    bias = use.along("long.first_bias", (d,), awaits[d] - fair)
    root = use.along("long.root", (d,), sqrt(spread[first, d]))
    sd = use.along("long.first_sd", (d,), by["reward_sd"] * root[d])
    error = use.along("long.first_error", (d,), bias[d] * bias[d] + sd[d] * sd[d])
    lines = [use.along(f"long.line.{name}", (s,), A[s, of[f"lambda.id.{name}"]]) for name in FOUR]
    return named(r, value, after, V, delta, awaited, place, lam, fade, A, expected, square, spread, G, count, last, fair, mean,
                 centred, over_time, starts, ends, awaits, bias, root, sd, error, *lines,
                 use.along("long.number", (s,), number(s)))  # fmt: skip


# fmt: off
MISCONCEPTIONS = (
    *of("trace.slope",
        ("sign-turned", "The sign is turned: it is the action less its probability.", turned()),
        ("policy-forgotten", "The probability is forgotten: action 0 pushes, too.", operand("sub"))),
    *of("trace.return",
        ("gamma-forgotten", "γ is forgotten: later rewards count less.", without("gamma")),
        ("reward-alone", "Only the step’s own reward counts: all later ones follow it.", operand("add"))),
    *of("trace.mean",
        ("sum-for-mean", "The sum is not divided by the number of traces.", operand("div"))),
    *of("weight.less_mean",
        ("baseline-forgotten", "The mean is not subtracted: this is the return.", operand("sub")),
        ("baseline-added", "The mean is added.", operation("sub", "add")),
        ("sign-turned", "The sign is turned: it is the return less the mean.", turned())),
    *of("weight.less_value",
        ("value-forgotten", "The value is not subtracted: this is the return.", operand("sub")),
        ("delta-for-advantage", "This is the TD error: the return holds all later rewards, not the next value.",
         equation(lambda k: k["trace.delta"][n, t])),
        ("sign-turned", "The sign is turned: it is the return less the value.", turned())),
    *of("trace.delta",
        ("next-value-forgotten", "What comes next is forgotten: γ·V of the next step is part of it.",
         equation(lambda k: k["trace.reward"][n, t] - k["trace.values"][n, t])),
        ("value-forgotten", "What was expected is not subtracted.", operand("sub")),
        ("gamma-forgotten", "γ is forgotten: it discounts the next value.", without("gamma"))),
    *of("weight.gae",
        ("lambda-forgotten", "λ is forgotten: A_t = δ_t + γ·λ·A_{t+1}.", without("gae_lambda")),
        ("gamma-forgotten", "γ is forgotten: A_t = δ_t + γ·λ·A_{t+1}.", without("gamma")),
        ("delta-alone", "Later TD errors are forgotten: this is δ.", operand("add")),
        ("reward-for-delta", "The reward stands for the TD error.", instead("trace.delta", "trace.reward"))),
    *of("gradient.mean",
        ("sum-for-mean", "The sum is not divided by the number of traces.", operand("div"))),
    *of("gradient.variance",
        ("count-for-count-less-one", "It is divided by N − 1: the mean is of the same traces.",
         equation(lambda k: Sum(n, k["gradient.centred"][c, n] * k["gradient.centred"][c, n]) / k("trace.count"))),
        ("mean-not-subtracted", "The mean is not subtracted: these are squares, not squared distances.",
         instead("gradient.centred", "gradient.each"))),
    *of("gradient.error",
        ("root-forgotten", "The root is forgotten.", operand("sqrt")),
        ("count-forgotten", "This is the spread of one trace: the mean of N has less.", without("trace.count"))),
    *of("sweep.first.sd",
        ("root-forgotten", "The root is forgotten: this is the variance.", operand("sqrt"))),
    *of("long.first_sd",
        ("over-time", "This is the spread over the steps of one trace: the estimator’s is over many traces.",
         equation(lambda k: sqrt(k["long.variance"][d]))),
        ("lambda-zero", "This is the spread of one reward: later ones add theirs, each times (γλ)^k.", without("long.root"))),
    *of("long.first_bias",
        ("fair-forgotten", "The advantage itself is no bias: what λ = 1 has on average is subtracted.", operand("sub")),
        ("sign-turned", "The sign is turned.", turned())),
    *of("long.variance",
        ("sum-for-mean", "The sum is not divided by the number of steps.", operand("div"))),
)
# fmt: on
