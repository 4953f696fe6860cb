"""What one computes of a policy whose response is one token: exactly, from draws, and for other policies from the same draws; and
misconceptions about it.
"""

from pathlib import Path
from typing import Any

from blueprint.inputs import LONGEST, Level, Numbers, Part, settings_in
from blueprint.inputs.entries import Draw, Number, Text, Word
from blueprint.language import (
    Axis,
    Block,
    Max,
    Sum,
    constant,
    equal,
    exp,
    find,
    join,
    less,
    maximum,
    number,
    size,
    where,
)
from blueprint.misconceptions import (
    becomes,
    equation,
    instead,
    of,
    operand,
    operation,
    row,
    turned,
    upside_down,
    whole,
    without,
)
from blueprint.workbooks.common import (
    Choices,
    Rows,
    Settings,
    Written,
    all_in_range,
    labels,
    several,
    softmax,
)
from blueprint.workbooks.common.definitions.writing_rows import counted, running_sum
from blueprint.workbooks.common.lesson import Lesson, with_vocabulary

FOLDER = Path(__file__).parent
SETTINGS = settings_in(FOLDER).settings


def _typed(numbers: Numbers) -> dict[str, Any]:
    """List what the chart of baselines is drawn over, and the names of two."""
    return {"chart.share": [place / 10 for place in range(-10, 11)], "chart.names": ["none", "in use"]}


LEVEL = Level(
    "reinforce",
    "bandit",
    "a policy over a few tokens, the reward of each, and uniform draws",
    parts=(
        Part("text.prompt", Text, (), "what is asked; the response is one token", block="prompt"),
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token", block="vocabulary"),
        Part("policy.logits", Number, ("token",), "a logit per token: the policy is their soft-max", block="policy.logits"),
        Part("policy.direction", Number, ("token",), "where training takes the logits: what one step adds to each",
             block="moved.direction"),
        Part("policy.steps", Number, ("step",), "how many such steps other policies are away; 0 is the policy itself",
             block="moved.step"),
        Part("reward.scores", Number, ("token",), "the reward of each token, whenever it is drawn", block="reward.scores"),
        Part("draws.uniform", Draw, ("draw",), "a number from 0.01 to 0.99 per draw", block="draws.uniform"),
    ),
    tables={
        "reinforce": "settings; one that is left out is as in the preset",
        "text": "what was asked, and the tokens that may be the answer",
        "policy": "the policy that draws, and where others stand", "reward": "a number per token", "draws": "chance, typed",
    },
    settings=SETTINGS,
    of_settings="reinforce",
    limits={"token": (2, 16), "step": (1, 32), "draw": (2, LONGEST)},
    make=with_vocabulary,
    more_typed=_typed,
)  # fmt: skip


v = Axis("v", "token")
j = v.alias("j")
n = Axis("n", "draw", start=1)
s = Axis("s", "step", start=1)
GRID = Axis("c", "baseline tried", start=1, size=21)
LABELS = labels(own=__package__)


def policy(of: Rows, use: Written) -> None:
    """Makes the policy, the soft-max of its logits, and ∇log π of every token: one-hot less the policy, (v, j). of: nothing yet.

    Source: Williams 1992. A column is a token that may be drawn, a line of ∇log π the logit by which is differentiated.
    """
    use.typed("prompt", (), "prompt", "what is asked; the response is one token", text=True)
    use.typed("vocabulary", (v,), "token", "token that may be drawn", text=True)
    z = use.typed("policy.logits", (v,), "z", "logit of the token", decimals=2)
    r = use.typed("reward.scores", (v,), "r", "reward of the token, whenever it is drawn", decimals=2)
    soft = softmax("policy", z, use)
    running_sum("policy.cumulative", soft.p, use)
    column, row = use.along("token.column", (v,), number(v)), counted("token.row", j, use)
    hot = use.along("token.is", (v, j), equal(column[v], row[j]))
    down = use.along("policy.p_down", (j,), soft.p[row[j]])
    score = use.along("slope", (v, j), hot[v, j] - down[j])
    use.along("slope.square", (v,), Sum(j, score[v, j] * score[v, j]))
    for name, each in {"policy.logits_down": z, "reward.down": r, "policy.log_p_down": soft.logp}.items():
        use.along(name, (j,), each[row[j]])


def exact(of: Rows, use: Written) -> None:
    """Enumerates all tokens: expected reward, its gradient, the optimal baseline, and the variance of one draw's estimate.

    Source: Sutton & Barto 2018, eq. 13.10; Greensmith et al. 2004.
    """
    p, r, g, square = of["policy.p"], of["reward.scores"], of["slope"], of["slope.square"]
    J = use.one("expected_reward", Sum(v, p[v] * r[v]))
    use.along("slope.average", (j,), Sum(v, p[v] * g[v, j]))
    paid = use.along("reward.weighted", (v,), p[v] * r[v])
    gradient = use.along("gradient", (j,), Sum(v, paid[v] * g[v, j]))
    length = use.one("gradient.square", Sum(j, gradient[j] * gradient[j]))
    mass = use.one("slope.square_mean", Sum(v, p[v] * square[v]))
    pulled = use.one("slope.square_paid", Sum(v, paid[v] * square[v]))
    best = use.one("baseline.optimal", where(less(0, mass), pulled / mass, J))
    better = use.along("least.advantage", (v,), r[v] - best)
    weighed = use.along("least.weighted", (v,), p[v] * better[v])
    second = use.along("least.second", (v,), weighed[v] * better[v])
    use.one("least.variance", Sum(v, second[v] * square[v]) - length)


def variances(of: Rows, use: Written) -> None:
    """Says how far one draw's estimate is from the gradient, squared, on average; without a baseline, and with the one in use.

    The mean of the rewards of other draws is a baseline that varies itself, by Var(r)/(N − 1). That of all draws is the same,
    times (N − 1)/N: it holds a share of the own reward, and shortens the gradient by it.
    """
    p, r, square, paid = of["policy.p"], of["reward.scores"], of["slope.square"], of["reward.weighted"]
    J, length, mass = of["expected_reward"], of["gradient.square"], of["slope.square_mean"]
    switch, draws = use.switch["baseline"], of["draws.count"]
    b = use.one("baseline.fixed", switch.choose(typed=use.used["baseline_value"], expected=J, batch=J,
                                                optimal=of["baseline.optimal"], leave_one_out=J))  # fmt: skip
    away = use.along("reward.spread", (v,), r[v] - J)
    weighed = use.along("reward.spread_weighted", (v,), p[v] * away[v])
    spread = use.one("reward.square", Sum(v, weighed[v] * away[v]))
    varies = use.one("baseline.varies", (switch.says("batch") + switch.says("leave_one_out")) * spread / (draws - 1))
    keeps = use.one("baseline.keeps", 1 - switch.says("batch") / draws)
    better = use.along("advantage", (v,), r[v] - b)
    pulls = use.along("advantage.weighted", (v,), p[v] * better[v])
    use.along("gradient.with", (j,), keeps * Sum(v, pulls[v] * of["slope"][v, j]))
    bare = use.along("reward.second", (v,), paid[v] * r[v])
    second = use.along("advantage.second", (v,), pulls[v] * better[v])
    without = use.one("variance.without", Sum(v, bare[v] * square[v]) - length)
    with_ = use.one("variance.with", keeps * keeps * (Sum(v, second[v] * square[v]) + varies * mass - length))
    use.one("variance.share", where(less(0, without), with_ / without, 1))


def drawn(of: Rows, use: Written) -> None:
    """Draws tokens, and makes of each draw an estimate of the gradient: reward times ∇log π, without and with a baseline.

    Source: Williams 1992, eq. 11; leave-one-out: Ahmadian et al. 2024.
    """
    down, row = of["policy.p_down"], of["token.row"]
    u = use.typed("draws.uniform", (n,), "u", "uniform draw, typed", unit="0.01 … 0.99", decimals=2)
    a = use.along("draws.token", (n,), find(v, of["policy.cumulative"][v - 1], u[n]))
    use.along("draws.word", (n,), of["vocabulary"][a[n]])
    r = use.along("draws.reward", (n,), of["reward.scores"][a[n]])
    hot = use.along("draws.is", (n, j), equal(a[n], row[j]))
    g = use.along("draws.slope", (n, j), hot[n, j] - down[j])
    N = use.one("draws.count", size(n))
    total = use.one("draws.reward_sum", Sum(n, r[n]))
    others, mean = use.along("draws.others", (n,), (total - r[n]) / (N - 1)), use.one("draws.reward_mean", total / N)
    by = use.switch["baseline"].choose(typed=use.used["baseline_value"], expected=of["expected_reward"],
                                       batch=mean, optimal=of["baseline.optimal"], leave_one_out=others[n])  # fmt: skip
    b = use.along("draws.baseline", (n,), by)
    better = use.along("draws.advantage", (n,), r[n] - b[n])
    estimates("without", r, g, N, use)
    estimates("with", better, g, N, use)


def estimates(name: str, by: Block, g: Block, N: Block, use: Written) -> None:
    """Estimates the gradient by each draw, and by all up to it: m_n = m_{n−1} + (estimate − m_{n−1})/n. by: factor of ∇log π."""
    each = use.along(f"{name}.estimate", (n, j), by[n] * g[n, j])
    running = use.along(f"{name}.running", (n, j))
    running[n.first - 1, j] = 0
    running[n, j] = running[n - 1, j] + (each[n, j] - running[n - 1, j]) / number(n)
    mean = use.along(f"{name}.mean", (j,), Sum(n, each[n, j]) / N)
    length = use.one(f"{name}.mean_square", Sum(j, mean[j] * mean[j]))
    use.one(f"{name}.variance", Sum((n, j), each[n, j] * each[n, j]) / N - length)


def moved(of: Rows, use: Written) -> None:
    """Makes other policies, some steps away, and how they compare with the one that drew: ρ = π_θ/π.

    The draws are worth fewer than they are: one divided by the mean of ρ² of them (Kong 1992's effective sample size).
    """
    way = use.typed("moved.direction", (j,), "Δ", "what one step adds to the logit", decimals=2)
    eta = use.typed("moved.step", (s,), "η", "how many steps this policy is away", decimals=1)
    soft = softmax("moved", use.along("moved.logits", (s, j), of["policy.logits_down"][j] + eta[s] * way[j]), use)
    p, old = soft.p, of["policy.p_down"]
    use.along("moved.reward", (s,), Sum(j, p[s, j] * of["reward.down"][j]))
    better = use.along("advantage.down", (j,), of["reward.down"][j] - of["baseline.fixed"])
    rho = use.along("moved.ratio", (s, j), exp(soft.logp[s, j] - of["policy.log_p_down"][j]))
    use.along("moved.ratio_largest", (s,), Max(j, rho[s, j]))
    weighed = use.along("moved.weighted", (s, j), old[j] * rho[s, j])
    use.along("moved.effective", (s,), 1 / Sum(j, weighed[s, j] * rho[s, j]))
    use.along("moved.gain", (s, j), rho[s, j] * better[j])
    alike = use.along("moved.p_square", (s,), Sum(j, p[s, j] * p[s, j]))
    use.along("moved.slope_square", (s, j), 1 - p[s, j] - p[s, j] + alike[s])


def reused(of: Rows, use: Written) -> None:
    """Estimates the gradients of the other policies: from draws of their own, and from those of the policy, with the ratio.

    E_π[ρ·A·∇log π_θ] = E_πθ[A·∇log π_θ], since π·ρ = π_θ. A is the reward less a baseline that does not hang on the draw.
    Source: Sutton & Barto 2018, sec. 5.5.
    """
    better, gain, p = of["advantage.down"], of["moved.gain"], of["moved.p"]
    share = use.along("draws.share", (j,), Sum(n, of["draws.is"][n, j]) / of["draws.count"])
    old = of["policy.p_down"]
    fresh = _gradient("fresh", use.along("fresh.weight", (s, j), p[s, j] * better[j]), of, use)
    again = _gradient("reused", use.along("reused.weight", (s, j), old[j] * gain[s, j]), of, use)
    _gradient("seen", use.along("seen.weight", (s, j), share[j] * gain[s, j]), of, use)
    _gradient("bare", use.along("bare.weight", (j,), old[j] * better[j]), of, use)
    for name, pulls in (("fresh", better[j]), ("reused", gain[s, j]), ("seen", gain[s, j])):
        _variance(name, use.along(f"{name}.second", (s, j), of[f"{name}.weight"][s, j] * pulls), of, use)
    use.along("reused.adds", (s,), of["reused.variance"][s] - of["fresh.variance"][s])
    use.along("moved.gap", (s, j), abs(fresh[s, j] - again[s, j]))


def _gradient(name: str, weight: Block, of: Rows, use: Written) -> Block:
    """Sums ∇log π_θ over all tokens, with a weight for each: one-hot less π_θ, so that each logit has its weight less π_θ·Σ."""
    at, p = weight.axes, of["moved.p"]
    total = use.along(f"{name}.sum", at[:-1], Sum(j, weight[at]))
    return use.along(f"{name}.gradient", (s, j), weight[at] - p[s, j] * total[at[:-1]])


def _variance(name: str, second: Block, of: Rows, use: Written) -> None:
    """Says how far one draw's estimate is from their mean, squared, on average. second: weight times factor of ∇log π_θ."""
    mean = of[f"{name}.gradient"]
    length = use.along(f"{name}.square", (s,), Sum(j, mean[s, j] * mean[s, j]))
    use.along(f"{name}.variance", (s,), Sum(j, second[s, j] * of["moved.slope_square"][s, j]) - length[s])


def slope_so_far(of: Rows, use: Written) -> None:
    """Makes the rows of the first chart: the slope by the first logit, as the draws so far estimate it."""
    first = use.one("chart.id", 0)
    for name in ("without", "with"):
        use.along(f"chart.{name}", (n,), of[f"{name}.running"][n, first])
    use.along("chart.exact", (n,), of["gradient"][first])
    use.along("chart.draw", (n,), number(n))


def variance_by_baseline(of: Rows, use: Written) -> None:
    """Makes the rows of the second chart: the least variance, and E|∇|² times the squared distance from its baseline.

    Source: Greensmith et al. 2004.
    """
    best, least, mass = several(of, "baseline.optimal", "least.variance", "slope.square_mean")
    share = use.typed("chart.share", (GRID,), "x", "how far from b_best, in reaches", decimals=2)
    reach = use.one("chart.reach", maximum(1, abs(best)))
    b = use.along("chart.baseline", (GRID,), best + share[GRID] * reach)
    use.along("chart.variance", (GRID,), least + mass * (b[GRID] - best) * (b[GRID] - best))
    none, used = (Axis(f"b{place}", "baseline", size=1) for place in (1, 2))
    known = join("b", "baseline", none, used)
    use.typed("chart.names", (known,), "name", "baselines that have a name", text=True)
    at = use.along("chart.known", (known,))
    at[none], at[used] = 0, of["baseline.fixed"]
    use.along("chart.known_variance", (known,), least + mass * (at[known] - best) * (at[known] - best))


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measures how far from 0 is what must be 0: what is known of the gradient otherwise, and of means and variances."""
    gradient, least, best = several(of, "gradient", "least.variance", "baseline.optimal")
    known = of["policy.p_down"][j] * (of["reward.down"][j] - of["expected_reward"])
    whole = of["variance.without"]
    return [
        use.along("check.gradient", (j,), abs(gradient[j] - known)),
        use.along("check.mean", (j,), abs(of["slope.average"][j])),
        use.along("check.baseline", (j,), abs(of["gradient.with"][j] - of["baseline.keeps"] * gradient[j])),
        use.one("check.variance", abs(whole - least - of["slope.square_mean"] * best * best) / maximum(1, whole)),
        use.one("check.reused", Max((s, j), of["moved.gap"][s, j])),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=n,
    steps=(policy, exact, drawn, variances, moved, reused, slope_so_far, variance_by_baseline),
    checks=checks_of,
    sizes={v: "vocabulary", n: "draws.uniform", s: "moved.step"},
    names={v: "vocabulary", j: "vocabulary"},
)

# fmt: off
MISCONCEPTIONS = (
    *of("slope",
        ("gradient-of-the-probability", "∇π stands for ∇log π: it is not divided by π.",
         equation(lambda b: b["policy.p"][v] * (b["token.is"][v, j] - b["policy.p_down"][j]))),
        ("policy-forgotten", "The policy is not subtracted: only the token drawn has a slope.", operand("sub")),
        ("one-hot-forgotten", "The one-hot is forgotten: only the policy is left.", operand("sub", 1)),
        ("sign-turned", "The sign is turned: it is one-hot less policy.", turned())),
    *of("draws.slope",
        ("policy-forgotten", "The policy is not subtracted: only the token drawn has a slope.", operand("sub")),
        ("sign-turned", "The sign is turned: it is one-hot less policy.", turned())),
    *of("expected_reward",
        ("plain-mean", "All tokens count alike: each counts as often as the policy draws it.",
         equation(lambda b: Sum(v, b["reward.scores"][v]) / size(v)))),
    *of("gradient",
        ("reward-forgotten", "The reward is forgotten: what is left is the mean of ∇log π, which is 0.",
         instead("reward.weighted", "policy.p")),
        ("probability-forgotten", "Tokens count alike: each counts as often as the policy draws it.",
         instead("reward.weighted", "reward.scores"))),
    *of("baseline.optimal",
        ("upside-down", "The quotient is upside down.", upside_down),
        ("expected-reward", "The expected reward is near the best baseline, and another number.", row("expected_reward"))),
    *of("advantage",
        ("baseline-forgotten", "The baseline is not subtracted.", operand("sub")),
        ("baseline-added", "The baseline is added.", operation("sub", "add"))),
    *of("draws.advantage",
        ("baseline-forgotten", "The baseline is not subtracted.", operand("sub")),
        ("baseline-added", "The baseline is added.", operation("sub", "add")),
        ("mean-with-itself", "The mean of all rewards holds the own one: its gradient is short by a share of 1/N.",
         becomes("draws.baseline", lambda b: b("draws.reward_mean")))),
    *of("draws.others",
        ("itself-among-them", "The own reward is among them: it is to be taken off the sum.", without("draws.reward")),
        ("one-too-many", "The divisor counts the own draw: there are N − 1 others.",
         equation(lambda b: (b("draws.reward_sum") - b["draws.reward"][n]) / b("draws.count")))),
    *of("without.estimate",
        ("reward-forgotten", "The reward is forgotten: whatever is drawn is made likelier.", without("draws.reward")),
        ("advantage-for-reward", "The baseline is subtracted: this is the estimate without.",
         instead("draws.reward", "draws.advantage"))),
    *of("with.estimate",
        ("reward-for-advantage", "The baseline is not subtracted: the reward stands for the advantage.",
         instead("draws.advantage", "draws.reward")),
        ("baseline-for-advantage", "The baseline stands for the advantage.", instead("draws.advantage", "draws.baseline"))),
    *of("variance.without",
        ("square-of-the-mean-forgotten", "The squared length of the mean is not subtracted: it is the second moment.",
         operand("sub"))),
    *of("moved.ratio",
        ("upside-down", "The ratio is upside down: π_θ, which is in training, stands above.",
         whole(lambda right: 1 / right)),
        ("difference-of-log-probs", "exp is forgotten: this is the log-ratio.", operand("exp")),
        ("ratio-forgotten", "The ratio is forgotten: each draw counts once.", equation(lambda b: constant(1)))),
    *of("reused.weight",
        ("ratio-forgotten", "The ratio is forgotten: these are the weights of the old policy.",
         becomes("moved.gain", lambda b: b("advantage.down")))),
    *of("moved.effective",
        ("upside-down", "Upside down: the mean of ρ² is how many draws stand for one.", upside_down)),
)
# fmt: on
