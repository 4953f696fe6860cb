"""What is multiplied with ∇log π, and what that does: five estimates of one gradient from the same traces, GAE for a row of λ, and
one long trace, of which bias and variance are known exactly; and misconceptions about it.

A row of the traces has a column for each step, (t), and a line for each trace, (n). A trace ends after its last step, so that what
comes then is worth 0; the long trace, (s), is cut, and goes on with the value of what comes next.
"""

from pathlib import Path
from typing import Any

from blueprint.inputs import Level, Numbers, Part, settings_in
from blueprint.inputs.entries import Flag, Number
from blueprint.language import (
    Arithmetic,
    Axis,
    Block,
    Sum,
    choose,
    constant,
    exp,
    less,
    maximum,
    number,
    size,
    sqrt,
    where,
)
from blueprint.misconceptions import equation, instead, of, operand, operation, turned, without
from blueprint.workbooks.common import (
    Choices,
    Identity,
    Rows,
    Settings,
    Written,
    all_in_range,
    labels,
)
from blueprint.workbooks.common.definitions.writing_rows import counted, discounted
from blueprint.workbooks.common.lesson import Lesson
from blueprint.workbooks.common.numbers_file import number_from

FOLDER = Path(__file__).parent
SETTINGS = settings_in(FOLDER).settings
NAMES = ("whole", "to go", "less b", "less V", "GAE")


def _typed(numbers: Numbers) -> dict[str, Any]:
    """Name the five weights."""
    return {"weight.name": list(NAMES)}


LEVEL = Level(
    "advantage",
    "traces",
    "actions, rewards and values of a few traces, four λ, and one long trace",
    parts=(
        Part("traces.actions", Flag, ("trace", "step"), "which of two actions was taken: a row per trace", block="trace.action"),
        Part("traces.rewards", Number, ("trace", "step"), "what each step earned", block="trace.reward"),
        Part("traces.values", Number, ("trace", "step"), "what a critic expected from this step on; after the last one it is 0",
             block="trace.value"),
        Part("sweep.lambdas", number_from(0, 1), ("λ",), "four λ from 0 to 1", block="sweep.lambda"),
        Part("long.rewards", Number, ("step of the long trace",), "the rewards of one long trace", block="long.reward"),
        Part("long.values", Number, ("step of the long trace",), "its values", block="long.value"),
        Part("long.last_value", Number, (), "the value of what comes after its last step", block="long.last_value"),
    ),
    tables={
        "advantage": "settings; one that is left out is as here", "traces": "what happened, trace by trace",
        "sweep": "what is tried", "long": "one long trace",
    },
    settings=SETTINGS,
    of_settings="advantage",
    limits={"trace": (2, 64), "step": (1, 100), "λ": (4, 4), "step of the long trace": (2, 200)},
    more_typed=_typed,
)  # fmt: skip


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


def traces(of: Rows, use: Written) -> None:
    """Types actions, rewards and values, (n, t); computes ∇log π of a policy of two actions, and the returns. of: nothing yet.

    Source: Schulman et al. 2016, sec. 2. The policy takes action 1 with σ(θ), in every step alike: ∇log π by θ is a − σ(θ).
    """
    action = use.typed("trace.action", (n, t), "a", "action that was taken", unit="0 or 1", decimals=0)
    r = use.typed("trace.reward", (n, t), "r", "reward of the step", decimals=1)
    value = use.typed("trace.value", (n, t), "v", "what the critic expects from here on", decimals=1)
    p = use.one("action.p", 1 / (1 + exp(-use.used["theta"])))
    use.along("trace.slope", (n, t), action[n, t] - p)
    G = discounted("trace.return", (n, t), t, r[n, t], use.used["gamma"], use)
    first = use.one("step.first", 0)
    use.along("weight.whole", (n, t), G[n, first])
    count = use.one("trace.count", size(n))
    mean = use.along("trace.mean", (t,), Sum(n, G[n, t]) / count)
    use.along("weight.less_mean", (n, t), G[n, t] - mean[t])
    V = use.along("trace.values", (n, t))
    V[n, t.last + 1] = 0
    V[n, t] = value[n, t]
    use.along("weight.less_value", (n, t), G[n, t] - V[n, t])
    delta = use.along("trace.delta", (n, t), r[n, t] + use.used["gamma"] * V[n, t + 1] - V[n, t])
    _faded("weight.gae", delta, use.used["gae_lambda"], use)
    use.along("trace.step", (t,), number(t))


def _faded(name: str, delta: Block, lam: Arithmetic, use: Written) -> Block:
    """Computes GAE: δ and all later δ, each step fainter by γλ. Source: Schulman et al. 2016, eq. 16."""
    return discounted(name, (n, t), t, delta[n, t], use.used["gamma"] * lam, use)


def gradients(of: Rows, use: Written) -> None:
    """Estimates the gradient from each trace, with each of five weights: their mean over the traces, (c), and their variance."""
    weights = {name: of["trace.return" if name == "to_go" else f"weight.{name}"] for name in WEIGHTS}
    by = {
        name: use.along(f"gradient.{name}", (n,), Sum(t, of["trace.slope"][n, t] * w[n, t]))
        for name, w in weights.items()
    }
    use.typed("weight.name", (c,), "weight", "what is multiplied with ∇log π", text=True)
    each = use.along("gradient.each", (c, n), choose(number(c) - 1, **{name: row[n] for name, row in by.items()}))
    _, variance = _spread("gradient", each, of, use)
    most = use.one("gradient.most", variance[of["step.first"]])
    share = use.along("gradient.share", (c,), where(less(0, most), variance[c] / most, 1))
    use.along("gradient.error", (c,), sqrt(variance[c] / of["trace.count"]))
    last = use.one("weight.last", constant(2) + 2)  # the fifth, from 0
    use.one("gradient.left", share[last])


def _spread(name: str, each: Block, of: Rows, use: Written) -> tuple[Block, Block]:
    """Takes the mean over the traces, and the variance about it, with n − 1. each: one number a trace, in a column of its own."""
    column, _ = each.axes
    mean = use.along(f"{name}.mean", (column,), Sum(n, each[column, n]) / of["trace.count"])
    centred = use.along(f"{name}.centred", (column, n), each[column, n] - mean[column])
    squares = Sum(n, centred[column, n] * centred[column, n])
    return mean, use.along(f"{name}.variance", (column,), squares / (of["trace.count"] - 1))


def lambdas(of: Rows, use: Written) -> None:
    """Computes GAE for a row of λ, (b), from the same traces: the first step's advantage, and the gradient, over the traces."""
    first, delta, slope = of["step.first"], of["trace.delta"], of["trace.slope"]
    lam = use.typed("sweep.lambda", (b,), "λ_b", "λ that is tried", unit="0 … 1", decimals=2)
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
    mean, variance = _spread("sweep.first", begins, of, use)
    _spread("sweep.gradient", gradient, of, use)
    use.along("sweep.first.sd", (b,), sqrt(variance[b]))
    start = use.along("trace.start", (n,), of["weight.less_value"][n, first])
    fair = use.one("trace.fair", Sum(n, start[n]) / of["trace.count"])
    use.along("sweep.first.bias", (b,), mean[b] - fair)


def long_trace(of: Rows, use: Written) -> None:
    """Fades the TD errors of one long trace, (s), by each λ, downwards (d); and what that is over all rewards it might have had.

    Rewards vary by σ about m, each by itself, and V stays as it is. So A_1 = Σ (γλ)^k·δ has the mean that the rewards' mean
    gives, and the variance σ²·Σ (γλ)^2k: exactly, for any number of traces. Over the steps of one trace A varies for another
    reason: V is wrong by more in some steps than in others.
    """
    by, first = use.used, of["step.first"]
    r = use.typed("long.reward", (s,), "r_s", "reward of the step", decimals=3)
    value = use.typed("long.value", (s,), "v_s", "what the critic expects from here on", decimals=3)
    after = use.typed("long.last_value", (), "v_end", "value of what comes after the last step", decimals=3)
    V = use.along("long.values", (s,))
    V[s.last + 1] = after
    V[s] = value[s]
    delta = use.along("long.delta", (s,), r[s] + by["gamma"] * V[s + 1] - V[s])
    awaited = use.along("long.delta_mean", (s,), by["reward_mean"] + by["gamma"] * V[s + 1] - V[s])
    place = counted("lambda.place", d, use)
    lam = use.along("lambda.down", (d,), of["sweep.lambda"][place[d]])
    fade = use.along("lambda.fade", (d,), by["gamma"] * lam[d])
    square = use.along("lambda.fade_square", (d,), fade[d] * fade[d])
    A = discounted("long.gae", (s, d), s, delta[s], fade[d], use)
    expected = discounted("long.expected", (s, d), s, awaited[s], fade[d], use)
    spread = discounted("long.spread", (s, d), s, constant(1), square[d], use)
    G = discounted("long.return", (s,), s, by["reward_mean"], by["gamma"], use, end=after)
    count = use.one("long.count", size(s))
    last, fair = use.one("long.last", count - 1), use.one("long.fair", G[first] - V[first])
    mean = use.along("long.mean", (d,), Sum(s, A[s, d]) / count)
    centred = use.along("long.centred", (s, d), A[s, d] - mean[d])
    use.along("long.variance", (d,), Sum(s, centred[s, d] * centred[s, d]) / count)
    use.along("long.first", (d,), A[first, d])
    use.along("long.end", (d,), A[last, d])
    awaits = use.along("long.first_mean", (d,), expected[first, d])
    bias = use.along("long.first_bias", (d,), awaits[d] - fair)
    root = use.along("long.root", (d,), sqrt(spread[first, d]))
    sd = use.along("long.first_sd", (d,), by["reward_sd"] * root[d])
    use.along("long.first_error", (d,), bias[d] * bias[d] + sd[d] * sd[d])
    for name in FOUR:
        use.along(f"long.line.{name}", (s,), A[s, of[f"lambda.id.{name}"]])
    use.along("long.number", (s,), number(s))


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block | Identity]:
    """Measure how far from 0 is what must be 0: GAE at its ends, and what is left about a mean."""
    gamma, delta = use.used["gamma"], of["trace.delta"]
    size = discounted("check.size", (n, t), t, abs(delta[n, t]), gamma, use)
    own = discounted("identity.lambda_one", (n, t), t, delta[n, t], gamma, use)
    largest = 1 + size[n, t]
    apart = use.along("check.lambda_one", (n, t), abs(own[n, t] - of["weight.less_value"][n, t]) / largest)
    return [
        Identity((size, own), apart),
        use.along("check.action", (n, t), abs(of["trace.action"][n, t] * (1 - of["trace.action"][n, t]))),
        use.along(
            "check.less_mean", (t,), abs(Sum(n, of["weight.less_mean"][n, t])) / maximum(1, abs(of["trace.mean"][t]))
        ),
        use.along(
            "check.lambda_range", (b,), maximum(0, -of["sweep.lambda"][b]) + maximum(0, of["sweep.lambda"][b] - 1)
        ),
        use.along("check.spread", (d,), maximum(0, use.used["reward_sd"] - of["long.first_sd"][d])),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=n,
    steps=(traces, gradients, lambdas, long_trace),
    checks=checks_of,
    sizes={n: "trace.action", t: ("trace.action", 1), b: "sweep.lambda", s: "long.reward"},
    names={c: "weight.name"},
)


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
