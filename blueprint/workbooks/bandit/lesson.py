"""A bandit: what is thought of each arm, which arm is pulled, what it pays, and what is thought of it then; what the pulls cost,
and what a temperature makes of the estimates; and misconceptions about it.

A row has a column for each pull, (t), and where it says something of every arm a line for each, (a): what is thought after one
pull decides the next. `estimate` and `arm.pulls` have a cell before the first pull, where nothing is known.
"""

from pathlib import Path

from blueprint.inputs import Level, Part, settings_in
from blueprint.inputs.entries import Draw, Number, Word
from blueprint.language import Axis, Block, Max, Sum, at_most, equal, find, maximum, number, size, where
from blueprint.misconceptions import equation, instead, of, operand, operation, row, turned, whole, without
from blueprint.workbooks.common import (
    Choices,
    Rows,
    Settings,
    Written,
    all_in_range,
    labels,
    softmax,
)
from blueprint.workbooks.common.definitions.writing_rows import counted, running_sum
from blueprint.workbooks.common.lesson import Lesson
from blueprint.workbooks.common.numbers_file import number_from

FOLDER = Path(__file__).parent
SETTINGS = settings_in(FOLDER).settings


LEVEL = Level(
    "bandit",
    "pulls",
    "arms and what they pay on average, and a uniform and a normal draw for every pull",
    parts=(
        Part("arms.names", Word, ("arm",), "what each arm is called", noun="arm", block="arm.name"),
        Part("arms.means", Number, ("arm",), "what each arm pays on average; whoever pulls does not know it", block="arm.mean"),
        Part("pulls.uniform", Draw, ("pull",), "which arm is pulled: a number from 0.01 to 0.99", block="pull.uniform"),
        Part("pulls.normal", Number, ("pull",), "what the arm pays above its mean, in units of noise", block="pull.noise"),
        Part("sweep.temperatures", number_from(0.001, 1000.0), ("temperature",),
             "temperatures that are tried on the last estimates",
             block="tau.value"),
    ),
    tables={
        "bandit": "settings; one that is left out is as here", "arms": "what may be pulled", "pulls": "chance, typed",
        "sweep": "what is tried at the end",
    },
    settings=SETTINGS,
    of_settings="bandit",
    limits={"arm": (1, 16), "pull": (2, 200), "temperature": (2, 32)},
)  # fmt: skip


t = Axis("t", "pull", start=1)
a = Axis("a", "arm", start=1)
s = Axis("s", "temperature", start=1)
LABELS = labels(own=__package__)


def arms(of: Rows, use: Written) -> None:
    """Types what each arm pays on average, (a), and says how much less that is than the best. of: nothing yet."""
    use.typed("arm.name", (a,), "arm", "name of the arm", text=True)
    mean = use.typed("arm.mean", (a,), "q", "what the arm pays on average", decimals=2)
    counted("arm.place", a, use)
    use.one("arm.count", size(a))
    best = use.one("arm.best", Max(a, mean[a]))
    use.along("arm.gap", (a,), best - mean[a])


def greedy(name: str, q: Block, of: Rows, use: Written) -> Block:
    """Finds the arm that looks best, 1 there; of several the first. What is less than `tie` below the largest looks just as good.

    q: an estimate for each arm. Sums of the same parts may differ in their last digit, so a tie is not left to that.
    """
    at, row = q.axes, q.axes[:-1]
    top = use.along(f"{name}.top", row, Max(a, q[at]))
    is_top = use.along(f"{name}.is_top", at, at_most(top[row] - q[at], use.used["tie"]))
    early = use.along(f"{name}.early", at, is_top[at] * (of["arm.count"] - of["arm.place"][a]))
    place = use.along(f"{name}.id", row, of["arm.count"] - Max(a, early[at]))
    return use.along(f"{name}.is", at, equal(place[row], of["arm.place"][a]))


def pulls(of: Rows, use: Written) -> None:
    """Pulls an arm, sees what it pays, and thinks of it anew, one pull after the other.

    Sources: Sutton & Barto 1998, sec. 2.2 (ε-greedy), eq. 2.4 and sec. 2.6 (the update); the draw is by inverse transform.
    """
    by, place = use.used, of["arm.place"]
    after, counts = use.along("estimate", (t, a)), use.along("arm.pulls", (t, a))
    after[t.first - 1, a] = by["start"]
    counts[t.first - 1, a] = 0
    before = use.along("estimate.before", (t, a), after[t - 1, a])
    hot = greedy("greedy", before, of, use)
    even = use.along("greedy.p", (t, a), by["epsilon"] / of["arm.count"] + (1 - by["epsilon"]) * hot[t, a])
    soft = softmax("boltzmann", use.along("boltzmann.logits", (t, a), before[t, a] / by["tau"]), use)
    p = use.along("arm.p", (t, a), use.switch["strategy"].choose(epsilon_greedy=even[t, a], softmax=soft.p[t, a]))
    upto = running_sum("arm.cumulative", p, use)
    u = use.typed("pull.uniform", (t,), "u", "uniform draw, typed", unit="0.01 … 0.99", decimals=2)
    chosen = use.along("pull.id", (t,), find(a, upto[t, a - 1], u[t]))
    use.along("pull.arm", (t,), of["arm.name"][chosen[t]])
    pulled = use.along("pull.is", (t, a), equal(chosen[t], place[a]))
    counts[t, a] = counts[t - 1, a] + pulled[t, a]
    z = use.typed("pull.noise", (t,), "z", "normal draw, typed", decimals=1)
    paid = use.along("pull.reward", (t,), of["arm.mean"][chosen[t]] + by["noise"] * z[t])
    thought = use.along("pull.estimate", (t,), before[t, chosen[t]])
    error = use.along("pull.error", (t,), paid[t] - thought[t])
    count = use.along("pull.count", (t,), counts[t, chosen[t]])
    share = use.along("pull.share", (t,), 1 / count[t])
    fixed = use.along("pull.constant", (t,), by["alpha"])
    step = use.along("pull.step", (t,), use.switch["step"].choose(mean=share[t], constant=fixed[t]))
    anew = use.along("pull.new", (t,), thought[t] + step[t] * error[t])
    after[t, a] = where(equal(chosen[t], place[a]), anew[t], before[t, a])


def regret(of: Rows, use: Written) -> None:
    """Adds up what is lost against pulling the best arm every time: by the arms' means, so that luck does not count.

    Source: Lattimore & Szepesvári 2020, Bandit Algorithms, sec. 4.4 and 4.5.
    """
    chosen, gap = of["pull.id"], of["arm.gap"]
    use.along("pull.number", (t,), number(t))
    lost = use.along("regret.pull", (t,), gap[chosen[t]])
    expected = use.along("regret.expected", (t,), Sum(a, of["arm.p"][t, a] * gap[a]))
    running_sum("regret.total", lost, use)
    running_sum("regret.awaited", expected, use)
    is_best = use.along("pull.is_best", (t,), equal(lost[t], 0))
    is_greedy = use.along("pull.is_greedy", (t,), equal(chosen[t], of["greedy.id"][t]))
    count = use.one("pull.all", size(t))
    use.one("regret.mean", Sum(t, lost[t]) / count)
    use.one("regret.sum", Sum(t, lost[t]))
    use.one("regret.mean_expected", Sum(t, expected[t]) / count)
    use.one("pull.mean", Sum(t, of["pull.reward"][t]) / count)
    use.one("share.best", Sum(t, is_best[t]) / count)
    use.one("share.explored", 1 - Sum(t, is_greedy[t]) / count)


def temperatures(of: Rows, use: Written) -> None:
    """Makes a policy of the last estimates for each temperature of a row, (s): greedy near 0, uniform where it is large.

    Source: Sutton & Barto 1998, sec. 2.3.
    """
    tau = use.typed("tau.value", (s,), "τ_s", "temperature that is tried", unit="> 0", decimals=3)
    last = use.one("pull.last", of["pull.all"] - 1)
    q = use.along("last.estimate", (a,), of["estimate"][last, a])
    use.along("last.share", (a,), of["arm.pulls"][last, a] / of["pull.all"])
    looks = greedy("last.greedy", q, of, use)
    soft = softmax("tau", use.along("tau.logits", (s, a), q[a] / tau[s]), use)
    p = soft.p
    from_greedy = use.along("tau.apart_greedy", (s, a), abs(p[s, a] - looks[a]))
    from_even = use.along("tau.apart_uniform", (s, a), abs(p[s, a] - 1 / of["arm.count"]))
    use.along("tau.to_greedy", (s,), Max(a, from_greedy[s, a]))
    use.along("tau.to_uniform", (s,), Max(a, from_even[s, a]))
    use.along("tau.entropy", (s,), -soft.p_log_p[s])
    use.along("tau.regret", (s,), Sum(a, p[s, a] * of["arm.gap"][a]))


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measure how far from 0 is what must be 0: probabilities and pulls add up, and the regret counts arms, not rewards."""
    return [
        use.along("check.policy", (t,), abs(Sum(a, of["arm.p"][t, a]) - 1)),
        use.along("check.pulled", (t,), abs(Sum(a, of["pull.is"][t, a]) - 1)),
        use.one("check.all_pulls", abs(Sum(a, of["last.share"][a]) - 1)),
        use.along("check.tau", (s,), abs(Sum(a, of["tau.p"][s, a]) - 1)),
        use.along("check.regret", (t,), maximum(0, -of["regret.pull"][t])),
        use.one("check.decomposed", abs(Sum(a, of["last.share"][a] * of["arm.gap"][a]) - of["regret.mean"])),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=t,
    steps=(arms, pulls, regret, temperatures),
    checks=checks_of,
    sizes={a: "arm.name", t: "pull.uniform", s: "tau.value"},
    names={a: "arm.name"},
)


# fmt: off
MISCONCEPTIONS = (
    *of("greedy.p",
        ("only-other-arms", "Exploring draws among all arms, so the greedy one has its share of ε as well.",
         equation(lambda b: b["greedy.is"][t, a] * (1 - b("epsilon"))
                  + (1 - b["greedy.is"][t, a]) * (b("epsilon") / b("arm.count")))),
        ("epsilon-exploits", "ε is how often one explores: the greedy arm has 1 − ε.",
         equation(lambda b: (1 - b("epsilon")) / b("arm.count") + b("epsilon") * b["greedy.is"][t, a])),
        ("epsilon-not-shared", "ε is shared among the arms: each has ε/K of it.", without("arm.count"))),
    *of("boltzmann.logits",
        ("tau-multiplies", "τ divides: a high temperature makes the arms more alike.", operation("div", "mul")),
        ("tau-forgotten", "τ is forgotten: it divides the estimates.", without("tau"))),
    *of("pull.reward",
        ("noise-forgotten", "The noise is forgotten: this is what the arm pays on average.", operand("add")),
        ("arm-forgotten", "The arm is forgotten: this is noise alone.", operand("add", 1))),
    *of("pull.error",
        ("sign-turned", "The sign is turned: it is what was paid less what was thought.", turned()),
        ("estimate-forgotten", "What was thought is not subtracted: this is the reward.", operand("sub"))),
    *of("pull.share",
        ("all-pulls-counted", "All pulls are counted: those of this arm count.", equation(lambda b: 1 / number(t))),
        ("not-inverted", "It is 1 over the count.", whole(lambda right: 1 / right))),
    *of("pull.new",
        ("step-forgotten", "The step is forgotten: this is the reward itself.", without("pull.step")),
        ("error-subtracted", "The error is subtracted: a good surprise makes an arm look worse.", operation("add", "sub")),
        ("reward-for-error", "The reward stands for the error: what was thought is not taken off.",
         instead("pull.error", "pull.reward")),
        ("estimate-forgotten", "The old estimate is forgotten: this is only how far it moves.", operand("add", 1))),
    *of("regret.pull",
        ("reward-for-mean", "What was paid holds luck: regret is by the arms’ means.",
         equation(lambda b: b("arm.best") - b["pull.reward"][t])),
        ("best-estimate", "This is how far the arm is below what looked best.",
         equation(lambda b: b["greedy.top"][t] - b["pull.estimate"][t]))),
    *of("regret.total",
        ("not-added-up", "It is not added up: this is the pull’s own regret.", row("regret.pull"))),
    *of("regret.expected",
        ("plain-sum", "Gaps count alike: each counts as often as its arm is pulled.",
         equation(lambda b: Sum(a, b["arm.gap"][a])))),
    *of("arm.gap",
        ("sign-turned", "The sign is turned: it is the best less this one.", turned())),
    *of("tau.logits",
        ("tau-multiplies", "τ divides: a high temperature makes the arms more alike.", operation("div", "mul"))),
)
# fmt: on
