"""All responses of a small language: the policy that is best for reward less KL, and two losses whose optimum it is; and
misconceptions about it.
"""

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import Level, Numbers, Part, Values, settings_in
from blueprint.inputs.entries import Number, Text, Word
from blueprint.language import Axis, Block, Max, Sum, constant, equal, exp, log, match, maximum, minimum, number, size
from blueprint.misconceptions import equation, instead, of, operand, operation, row, turned, without
from blueprint.workbooks.common import (
    Choices,
    Rows,
    Settings,
    Written,
    all_in_range,
    labels,
    softmax,
)
from blueprint.workbooks.common.definitions.writing_rows import counted
from blueprint.workbooks.common.lesson import Lesson, with_vocabulary

FOLDER = Path(__file__).parent
SETTINGS = settings_in(FOLDER).settings
TABLES = ("reward.scores", "policy.beside")
"""What is a table in a numbers file, by first and second token, and a row in the workbook."""


def _typed(numbers: Numbers) -> dict[str, Any]:
    """Lists what is typed of every response and every pair."""
    words = numbers["text.vocabulary"]
    firsts, seconds = np.array([*product(words, repeat=2)], dtype=object).T
    both = np.array([*combinations(range(1, 1 + len(firsts)), 2)], dtype=float)
    return {
        **{name: np.ravel(numbers[name]) for name in TABLES},
        "word.first": firsts,
        "word.second": seconds,
        "response": firsts + " " + seconds,
        "pair.left": both[:, 0],
        "pair.right": both[:, 1],
    }


def _saved(file: Any, parts: Values) -> Values:
    """Return the tables of a saved workbook."""
    many = len(parts["text.vocabulary"])
    return {name: file.array(name, 1).reshape(many, many) for name in TABLES}


_TABLE = ("first token", "token")
LEVEL = Level(
    "optimum",
    "enumerated",
    "a language of a few tokens, and the reward of every response of two of them",
    parts=(
        Part("text.prompt", Text, (), "what is asked; a response is two tokens", block="prompt"),
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token", block="vocabulary"),
        Part("reference.first", Number, ("token",), "the logit of each first token, under the reference", block="reference.first"),
        Part("reference.second", Number, _TABLE, "those of the second token: a row for each first one", block="reference.second"),
        Part("reward.scores", Number, _TABLE, "the reward of each response: a row for each first token, a column for each second"),
        Part("policy.beside", Number, _TABLE, "what is added to the policy's logit of each response; 0 is on the way"),
        Part("way.steps", Number, ("step",), "which policies on the way are shown; 0 is the reference, 1 the optimum",
             block="way.step"),
    ),
    tables={
        "optimum": "settings; one that is left out is as here", "text": "what was asked, and the tokens of the language",
        "reference": "logits, token by token", "reward": "a number per response", "policy": "where it stands beside the way",
        "way": "what the charts show",
    },
    settings=SETTINGS,
    of_settings="optimum",
    limits={"token": (2, 5), "first token": (2, 5), "step": (2, 32)},
    make=with_vocabulary,
    more_typed=_typed,
    more_saved=_saved,
)  # fmt: skip


v = Axis("v", "token")
u = v.alias("u")
y = Axis("y", "response", start=1)
o = y.alias("o")
q = Axis("q", "pair", start=1)
d = q.alias("d")
s = Axis("s", "step", start=1)
LABELS = labels(own=__package__)


def responses(of: Rows, use: Written) -> None:
    """Enumerates every response of two tokens, (y), and how likely the reference finds it: token by token. of: nothing yet."""
    use.typed("prompt", (), "prompt", "what is asked; a response is two tokens", text=True)
    words = use.typed("vocabulary", (v,), "token", "tokens of the language", text=True)
    use.typed("response", (y,), "response", "both tokens of the response", text=True)
    one = use.typed("word.first", (y,), "y_1", "first token of the response", text=True)
    two = use.typed("word.second", (y,), "y_2", "second token of the response", text=True)
    first, second = (
        use.along(f"id.{name}", (y,), match(v, words[v], each[y])) for name, each in (("first", one), ("second", two))
    )
    z = use.typed("reference.first", (v,), "z_1", "logit of the first token", decimals=2)
    after = use.typed("reference.second", (u, v), "Z_2", "logit of the second token after each first", decimals=2)
    begins = softmax("first", z, use)
    goes_on = softmax("second", use.along("second.logits", (y, v), after[first[y], v]), use)
    log_first = use.along("first.logprobs", (y,), begins.logp[first[y]])
    log_second = use.along("second.logprobs", (y,), goes_on.logp[y, second[y]])
    logp = use.along("reference.logp", (y,), log_first[y] + log_second[y])
    use.along("response.p", (y,), exp(logp[y]))


def optimum(of: Rows, use: Written) -> None:
    """Tilts the reference by the reward: π* = π_ref·e^(r/β)/Z, with log Z as the log-sum-exp of log π_ref + r/β.

    Source: 2305.18290, eq. 4.
    """
    r = use.typed("reward.scores", (y,), "r", "reward of the response", decimals=2)
    z = use.along("optimum.logits", (y,), of["reference.logp"][y] + r[y] / use.used["beta"])
    best = softmax("optimum", z, use)
    use.one("objective.best", use.used["beta"] * best.logsumexp)


def policy(of: Rows, use: Written) -> None:
    """Places the policy on the way from the reference (step 0) to the optimum (step 1), and beside it."""
    beside = use.typed("policy.beside", (y,), "δ", "what is added to its logit: beside the way", decimals=2)
    way = of["reward.scores"][y] / use.used["beta"]
    softmax("policy", use.along("policy.theta", (y,), of["reference.logp"][y] + use.used["way"] * way + beside[y]), use)


def objective(of: Rows, use: Written) -> None:
    """Computes what PPO climbs, reward less β times KL to the reference, its gradient, and how far below the best it is.

    J(π) = J(π*) − β·KL(π‖π*). Source: 2305.18290, eq. 3 and appendix A.1.
    """
    p, logp, r, beta = of["policy.p"], of["policy.log_p"], of["reward.scores"], use.used["beta"]
    drift = use.along("policy.log_ratio", (y,), logp[y] - of["reference.logp"][y])
    earns = use.along("reward.penalised", (y,), r[y] - beta * drift[y])
    use.one("mean_reward", Sum(y, p[y] * r[y]))
    use.one("kl.reference", Sum(y, p[y] * drift[y]))
    J = use.one("objective", Sum(y, p[y] * earns[y]))
    use.along("objective.gradient", (y,), p[y] * (earns[y] - J))
    away = use.along("policy.away", (y,), logp[y] - of["optimum.log_p"][y])
    use.one("kl.optimum", Sum(y, p[y] * away[y]))
    use.one("objective.below", of["objective.best"] - J)


def sigmoids(name: str, x: Block, use: Written) -> list[Block]:
    """Makes σ(x), log σ(x) and log σ(−x) of numbers of any size, so that no e^x overflows."""
    at = x.axes
    p = use.along(f"{name}.p", at, exp(minimum(x[at], 0)) / (1 + exp(-abs(x[at]))))
    rest = use.along(f"{name}.rest", at, log(1 + exp(-abs(x[at]))))
    return [
        p,
        rest,
        use.along(f"{name}.log_p", at, -(maximum(0, -x[at]) + rest[at])),
        use.along(f"{name}.log_not", at, -(maximum(0, x[at]) + rest[at])),
    ]


def pairs(of: Rows, use: Written) -> None:
    """Asks of every pair of responses, (q), which is preferred, as Bradley and Terry say, and what the policy says of it.

    Every answer counts as often as it is given, so that nothing is drawn: the loss is the DPO loss on average.
    Source: 2305.18290, eq. 1, 6 and 7.
    """
    first, second = (use.typed(f"pair.{name}", (q,), f"{name}", f"number of the {name} response", decimals=0)
                     for name in ("left", "right"))  # fmt: skip
    r, b = of["reward.scores"], use.along("implicit.reward", (y,), use.used["beta"] * of["policy.log_ratio"][y])
    use.along("implicit.left", (y,), r[y] - b[y])
    places = [use.along(f"pair.place.{each.name[5:]}", (q,), each[q] - 1) for each in (first, second)]
    (true_one, true_two), (by_one, by_two) = (
        [use.along(f"pair.{name}.{side}", (q,), row[place[q]]) for side, place in zip(("left", "right"), places, strict=True)]
        for name, row in (("reward", r), ("implicit", b))
    )  # fmt: skip
    true = use.along("pair.difference", (q,), true_one[q] - true_two[q])
    h = use.along("pair.margin", (q,), by_one[q] - by_two[q])
    asked, said = sigmoids("prefers", true, use), sigmoids("says", h, use)
    odds = use.along("prefers.log_odds", (q,), asked[2][q] - asked[3][q])
    use.along("prefers.gap", (q,), abs(odds[q] - true[q]))
    P, not_P = asked[0], use.along("prefers.not", (q,), 1 - asked[0][q])
    loss = use.along("pair.loss", (q,), -(P[q] * said[2][q] + not_P[q] * said[3][q]))
    least = use.along("pair.least", (q,), -(P[q] * asked[2][q] + not_P[q] * asked[3][q]))
    use.along("pair.pull", (q,), said[0][q] - P[q])
    count = use.one("count.pairs", size(q))
    whole = use.one("dpo_loss", Sum(q, loss[q]) / count)
    reached = use.one("dpo_loss.best", Sum(q, least[q]) / count)
    use.one("dpo_loss.above", whole - reached)


def downwards(of: Rows, use: Written) -> None:
    """Lays what the columns say of responses, (y), and of pairs, (q), out downwards, (o) and (d)."""
    response, pair = counted("response.down", o, use), counted("pair.down", d, use)
    for name in ("reference.logp", "reward.scores", "optimum.log_p"):
        use.along(f"{name}_down", (o,), of[name][response[o]])
    for name in ("pair.difference", "prefers.p", "prefers.not"):
        use.along(f"{name}_down", (d,), of[name][pair[d]])


def pull_of(of: Rows, use: Written) -> None:
    """Sums the pull of all pairs on the logit of each response: β·(σ(h) − P), up for the left one and down for the right one."""
    left, right, down = of["pair.place.left"], of["pair.place.right"], of["response.down"]
    side = use.along("pair.side", (q, o), equal(left[q], down[o]) - equal(right[q], down[o]))
    slope = use.along(
        "dpo.gradient_down", (o,), use.used["beta"] * Sum(q, side[q, o] * of["pair.pull"][q]) / of["count.pairs"]
    )
    place = use.along("response.place", (y,), number(y) - 1)
    use.along("dpo.gradient", (y,), slope[place[y]])


def along_the_way(of: Rows, use: Written) -> None:
    """Goes from the reference through the optimum and beyond, (s): how far the objective and the DPO loss are from their best.

    On the way the implicit reward is the step times the reward, and a constant.
    """
    step = use.typed("way.step", (s,), "η", "step: 0 is the reference, 1 the optimum", decimals=2)
    beta = use.used["beta"]
    logits = use.along(
        "way.logits", (s, o), of["reference.logp_down"][o] + step[s] * of["reward.scores_down"][o] / beta
    )
    soft = softmax("way", logits, use)
    away = use.along("way.away", (s, o), soft.logp[s, o] - of["optimum.log_p_down"][o])
    use.along("way.below", (s,), beta * Sum(o, soft.p[s, o] * away[s, o]))
    h = use.along("way.margin", (s, d), step[s] * of["pair.difference_down"][d])
    said = sigmoids("way.says", h, use)
    P, not_P = of["prefers.p_down"], of["prefers.not_down"]
    loss = use.along("way.loss", (s, d), -(P[d] * said[2][s, d] + not_P[d] * said[3][s, d]))
    use.along("way.above", (s,), Sum(d, loss[s, d]) / of["count.pairs"] - of["dpo_loss.best"])


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measures how far from 0 is what must be 0: the identities that tie the two objectives to the optimum."""
    beta, best = use.used["beta"], of["objective.best"]
    tilted = beta * (of["optimum.log_p"][y] - of["reference.logp"][y])
    return [
        use.one("check.reference", abs(Sum(y, of["response.p"][y]) - 1)),
        use.one("check.below", abs(of["objective.below"] - beta * of["kl.optimum"])),
        use.along("check.left", (y,), abs(of["reward.scores"][y] - tilted - best)),
        use.one("check.odds", Max(q, of["prefers.gap"][q])),
        use.one("check.slope", abs(Sum(y, of["dpo.gradient"][y]))),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=y,
    steps=(responses, optimum, policy, objective, pairs, downwards, pull_of, along_the_way),
    checks=checks_of,
    sizes={v: "vocabulary", y: "response", q: "pair.left", s: "way.step"},
    names={v: "vocabulary", u: "vocabulary", o: "response"},
)


# fmt: off
MISCONCEPTIONS = (
    *of("optimum.logits",
        ("reward-forgotten", "The reward is forgotten: this is the reference.", operand("add")),
        ("reference-forgotten", "The reference is forgotten: this is the soft-max of the rewards.", operand("add", 1)),
        ("beta-multiplies", "β multiplies the reward: it divides it.",
         equation(lambda b: b["reference.logp"][y] + b["reward.scores"][y] * b("beta"))),
        ("beta-forgotten", "β is forgotten: the reward is divided by it.", without("beta"))),
    *of("objective.best",
        ("beta-forgotten", "β is forgotten: the best is β·log Z.", without("beta"))),
    *of("policy.log_ratio",
        ("reference-forgotten", "The reference is forgotten: this is a log-prob.", operand("sub")),
        ("sign-turned", "The sign is turned: the policy stands above, the reference below.", turned())),
    *of("reward.penalised",
        ("penalty-added", "The KL is paid for, not earned: it is subtracted.", operation("sub", "add")),
        ("beta-forgotten", "β is forgotten.", without("beta")),
        ("kl-forgotten", "The penalty is forgotten: this is the reward alone.", operand("sub"))),
    *of("objective.gradient",
        ("mean-forgotten", "J is not subtracted.", operand("sub")),
        ("probability-forgotten", "π is forgotten: it multiplies.",
         equation(lambda b: b["reward.penalised"][y] - b("objective")))),
    *of("implicit.reward",
        ("beta-forgotten", "β is forgotten: this is the log-ratio.", without("beta")),
        ("reference-forgotten", "The reference is forgotten.",
         equation(lambda b: b("beta") * b["policy.log_p"][y]))),
    *of("pair.difference",
        ("sides-swapped", "The sides are swapped: left less right.", turned())),
    *of("prefers.log_odds",
        ("odds-for-probability", "This is the probability: its log-odds are asked for.", row("prefers.p"))),
    *of("pair.margin",
        ("sides-swapped", "The sides are swapped: left less right.", turned()),
        ("sum-for-difference", "The implicit rewards are added: their difference is the margin.", operation("sub", "add"))),
    *of("pair.loss",
        ("one-answer-only", "Only the answer “left” counts: the other one is given, too, 1 − P of the time.",
         equation(lambda b: -(b["prefers.p"][q] * b["says.log_p"][q]))),
        ("sign-forgotten", "The minus is forgotten: a loss is made small.", turned())),
    *of("pair.pull",
        ("preference-forgotten", "P is not subtracted.", operand("sub")),
        ("label-for-preference", "1 stands for P: as if the left one were always preferred.",
         equation(lambda b: b["says.p"][q] - constant(1)))),
    *of("dpo.gradient_down",
        ("beta-forgotten", "β is forgotten: the margin holds it.", without("beta")),
        ("pull-of-the-policy", "σ(h) stands for σ(h) − P.", instead("pair.pull", "says.p"))),
)
# fmt: on
