"""All responses of a small language: the policy that is best for reward less KL, and two losses whose optimum it is; and
misconceptions about it.
"""

from blueprint.language import Axis, Block, Sum, constant, equal, exp, log, match, maximum, minimum, number, size, typed
from blueprint.misconceptions import equation, instead, of, operand, operation, row, turned, without
from blueprint.workbooks.common import Choices, Rows, labels, named, softmax

v = Axis("v", "token")
u = v.alias("u")
y = Axis("y", "response", start=1)
o = y.alias("o")
q = Axis("q", "pair", start=1)
d = q.alias("d")
s = Axis("s", "step", start=1)
LABELS = labels(own=__package__)


def responses(of: Rows, use: Choices) -> Rows:
    """Enumerates every response of two tokens, (y), and how likely the reference finds it: token by token. of: nothing yet."""
    prompt = typed("prompt", (), "prompt", "what is asked; a response is two tokens", text=True)
    words = typed("vocabulary", (v,), "token", "tokens of the language", text=True)
    response = typed("response", (y,), "response", "both tokens of the response", text=True)
    one = typed("word.first", (y,), "y_1", "first token of the response", text=True)
    two = typed("word.second", (y,), "y_2", "second token of the response", text=True)
    first, second = (
        use.along(f"id.{name}", (y,), match(v, words[v], each[y])) for name, each in (("first", one), ("second", two))
    )
    z = typed("reference.first", (v,), "z_1", "logit of the first token", decimals=2)
    after = typed("reference.second", (u, v), "Z_2", "logit of the second token after each first", decimals=2)
    begins = softmax("first", z, use)
    goes_on = softmax("second", use.along("second.logits", (y, v), after[first[y], v]), use)
    log_first = use.along("first.logprobs", (y,), begins.logp[first[y]])
    log_second = use.along("second.logprobs", (y,), goes_on.logp[y, second[y]])
    logp = use.along("reference.logp", (y,), log_first[y] + log_second[y])
    p = use.along("response.p", (y,), exp(logp[y]))
    return named(prompt, words, response, one, two, first, second, z, after, *begins[1:-1], *goes_on[:-1],
                 log_first, log_second, logp, p)  # fmt: skip


def optimum(of: Rows, use: Choices) -> Rows:
    """Tilts the reference by the reward: π* = π_ref·e^(r/β)/Z, with log Z as the log-sum-exp of log π_ref + r/β.

    Source: 2305.18290, eq. 4.
    """
    r = typed("reward.scores", (y,), "r", "reward of the response", decimals=2)
    z = use.along("optimum.logits", (y,), of["reference.logp"][y] + r[y] / use.used["beta"])
    best = softmax("optimum", z, use)
    reached = use.one("objective.best", use.used["beta"] * best.logsumexp)
    return named(r, *best[:-1], reached)


def policy(of: Rows, use: Choices) -> Rows:
    """Places the policy on the way from the reference (step 0) to the optimum (step 1), and beside it."""
    beside = typed("policy.beside", (y,), "δ", "what is added to its logit: beside the way", decimals=2)
    way = of["reward.scores"][y] / use.used["beta"]
    z = use.along("policy.theta", (y,), of["reference.logp"][y] + use.used["way"] * way + beside[y])
    return named(beside, *softmax("policy", z, use)[:-1])


def objective(of: Rows, use: Choices) -> Rows:
    """Computes what PPO climbs, reward less β times KL to the reference, its gradient, and how far below the best it is.

    J(π) = J(π*) − β·KL(π‖π*). Source: 2305.18290, eq. 3 and appendix A.1.
    """
    p, logp, r, beta = of["policy.p"], of["policy.log_p"], of["reward.scores"], use.used["beta"]
    drift = use.along("policy.log_ratio", (y,), logp[y] - of["reference.logp"][y])
    earns = use.along("reward.penalised", (y,), r[y] - beta * drift[y])
    reward, kl = use.one("mean_reward", Sum(y, p[y] * r[y])), use.one("kl.reference", Sum(y, p[y] * drift[y]))
    J = use.one("objective", Sum(y, p[y] * earns[y]))
    gradient = use.along("objective.gradient", (y,), p[y] * (earns[y] - J))
    away = use.along("policy.away", (y,), logp[y] - of["optimum.log_p"][y])
    far = use.one("kl.optimum", Sum(y, p[y] * away[y]))
    below = use.one("objective.below", of["objective.best"] - J)
    return named(drift, earns, reward, kl, J, gradient, away, far, below)


def sigmoids(name: str, x: Block, use: Choices) -> list[Block]:
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


def pairs(of: Rows, use: Choices) -> Rows:
    """Asks of every pair of responses, (q), which is preferred, as Bradley and Terry say, and what the policy says of it.

    Every answer counts as often as it is given, so that nothing is drawn: the loss is the DPO loss on average.
    Source: 2305.18290, eq. 1, 6 and 7.
    """
    first, second = (typed(f"pair.{name}", (q,), f"{name}", f"number of the {name} response", decimals=0)
                     for name in ("left", "right"))  # fmt: skip
    r, b = of["reward.scores"], use.along("implicit.reward", (y,), use.used["beta"] * of["policy.log_ratio"][y])
    left = use.along("implicit.left", (y,), r[y] - b[y])
    places = [use.along(f"pair.place.{each.name[5:]}", (q,), each[q] - 1) for each in (first, second)]
    (true_one, true_two), (by_one, by_two) = (
        [use.along(f"pair.{name}.{side}", (q,), row[place[q]]) for side, place in zip(("left", "right"), places, strict=True)]
        for name, row in (("reward", r), ("implicit", b))
    )  # fmt: skip
    true = use.along("pair.difference", (q,), true_one[q] - true_two[q])
    h = use.along("pair.margin", (q,), by_one[q] - by_two[q])
    asked, said = sigmoids("prefers", true, use), sigmoids("says", h, use)
    odds = use.along("prefers.log_odds", (q,), asked[2][q] - asked[3][q])
    gap = use.along("prefers.gap", (q,), abs(odds[q] - true[q]))
    P, not_P = asked[0], use.along("prefers.not", (q,), 1 - asked[0][q])
    loss = use.along("pair.loss", (q,), -(P[q] * said[2][q] + not_P[q] * said[3][q]))
    least = use.along("pair.least", (q,), -(P[q] * asked[2][q] + not_P[q] * asked[3][q]))
    pull = use.along("pair.pull", (q,), said[0][q] - P[q])
    count = use.one("count.pairs", size(q))
    whole = use.one("dpo_loss", Sum(q, loss[q]) / count)
    reached = use.one("dpo_loss.best", Sum(q, least[q]) / count)
    above = use.one("dpo_loss.above", whole - reached)
    return named(first, second, b, left, *places, true_one, true_two, true, *asked, not_P, odds, gap, by_one, by_two, h, *said,
                 loss, least, pull, count, whole, reached, above)  # fmt: skip


def downwards(of: Rows, use: Choices) -> Rows:
    """Lays what the columns say of responses, (y), and of pairs, (q), out downwards, (o) and (d)."""
    rows = {o: ("reference.logp", "reward.scores", "optimum.log_p"), d: ("pair.difference", "prefers.p", "prefers.not")}
    places = {at: _counted(name, at, use) for at, name in ((o, "response.down"), (d, "pair.down"))}
    return named(
        *places.values(),
        *(use.along(f"{name}_down", (at,), of[name][places[at][at]]) for at, names in rows.items() for name in names),
    )


def _counted(name: str, at: Axis, use: Choices) -> Block:
    """Counts downwards from 0."""
    down = use.along(name, (at,))
    down[at.first - 1] = -constant(1)
    down[at] = down[at - 1] + 1
    return down


def pull_of(of: Rows, use: Choices) -> Rows:
    """Sums the pull of all pairs on the logit of each response: β·(σ(h) − P), up for the left one and down for the right one."""
    left, right, down = of["pair.place.left"], of["pair.place.right"], of["response.down"]
    side = use.along("pair.side", (q, o), equal(left[q], down[o]) - equal(right[q], down[o]))
    slope = use.along(
        "dpo.gradient_down", (o,), use.used["beta"] * Sum(q, side[q, o] * of["pair.pull"][q]) / of["count.pairs"]
    )
    place = use.along("response.place", (y,), number(y) - 1)
    return named(side, slope, place, use.along("dpo.gradient", (y,), slope[place[y]]))


def along_the_way(of: Rows, use: Choices) -> Rows:
    """Goes from the reference through the optimum and beyond, (s): how far the objective and the DPO loss are from their best.

    On the way the implicit reward is the step times the reward, and a constant.
    """
    step = typed("way.step", (s,), "η", "step: 0 is the reference, 1 the optimum", decimals=2)
    beta = use.used["beta"]
    logits = use.along(
        "way.logits", (s, o), of["reference.logp_down"][o] + step[s] * of["reward.scores_down"][o] / beta
    )
    soft = softmax("way", logits, use)
    away = use.along("way.away", (s, o), soft.logp[s, o] - of["optimum.log_p_down"][o])
    below = use.along("way.below", (s,), beta * Sum(o, soft.p[s, o] * away[s, o]))
    h = use.along("way.margin", (s, d), step[s] * of["pair.difference_down"][d])
    said = sigmoids("way.says", h, use)
    P, not_P = of["prefers.p_down"], of["prefers.not_down"]
    loss = use.along("way.loss", (s, d), -(P[d] * said[2][s, d] + not_P[d] * said[3][s, d]))
    above = use.along("way.above", (s,), Sum(d, loss[s, d]) / of["count.pairs"] - of["dpo_loss.best"])
    return named(step, *soft[:-1], away, below, h, *said[1:], loss, above)


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
