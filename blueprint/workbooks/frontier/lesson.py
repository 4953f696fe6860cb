"""Every response of a small language, what a proxy and what people think of it, and how far two ways of optimising the proxy go:
the policy that is best for proxy less β·KL, for a row of β, and the best of n draws, for a row of n; and misconceptions about it.
"""

from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import WithJsonSchema

from blueprint.inputs import Level, Numbers, Part, settings_in
from blueprint.inputs.entries import Number, Text, Word, must_be
from blueprint.language import (
    Axis,
    Block,
    Max,
    Sum,
    at_most,
    equal,
    exp,
    filled,
    less,
    log,
    match,
    maximum,
    minimum,
    rounded,
    size,
    sqrt,
    where,
)
from blueprint.misconceptions import equation, instead, of, operand, operation, turned, without
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
from blueprint.workbooks.common.definitions.writing_rows import counted
from blueprint.workbooks.common.lesson import Lesson, with_vocabulary
from blueprint.workbooks.common.numbers_file import whole_to

FOLDER = Path(__file__).parent
SETTINGS = settings_in(FOLDER).settings
Share = Annotated[
    Number,
    must_be("a number above 0", lambda number: number > 0),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]


def spelled(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """List every response, short ones first: it ends with the first token, or is cut after the last place."""
    end, *others = words
    ended = [(*said, end) for many in range(len(PLACES)) for said in product(others, repeat=many)]
    return [*ended, *product(others, repeat=len(PLACES))]


def _typed(numbers: Numbers) -> dict[str, Any]:
    """List what is typed of every response; a place that is not written is blank."""
    said = spelled(numbers["text.vocabulary"])
    return {
        "response": [" ".join(words) for words in said],
        **{f"word.{at}": [(*words, "", "")[int(at) - 1] for words in said] for at in PLACES},
    }


LEVEL = Level(
    "frontier",
    "proxy-and-gold",
    "a language of a few tokens, what a proxy and what people think of them, a row of β and a row of n",
    parts=(
        Part("text.prompt", Text, (), "what is asked; a response is three tokens at most", block="prompt"),
        Part("text.vocabulary", Word, ("token",), "the first one ends a response", noun="token", block="vocabulary"),
        Part("reference.weights", Share, ("token",), "how often each token comes, at every position; divided by their sum",
             block="reference.weights"),
        Part("proxy.once", Number, ("token",), "the proxy of a response in which the token occurs", block="proxy.once"),
        Part("proxy.each", Number, ("token",), "the proxy of each time that it occurs", block="proxy.each"),
        Part("gold.once", Number, ("token",), "the gold reward of a response in which the token occurs", block="gold.once"),
        Part("sweep.betas", Share, ("KL coefficient",), "the KL coefficients that are tried", block="sweep.beta"),
        Part("sweep.draws", whole_to(100_000), ("number of draws",), "how many responses best-of-n draws", block="best.draws"),
    ),
    tables={
        "frontier": "settings; one that is left out is as here", "text": "what was asked, and the tokens of the language",
        "reference": "the policy before", "proxy": "what is optimised", "gold": "what is wanted", "sweep": "what is tried",
    },
    settings=SETTINGS,
    of_settings="frontier",
    limits={"token": (2, 4), "KL coefficient": (2, 32), "number of draws": (2, 32)},
    make=with_vocabulary,
    more_typed=_typed,
)  # fmt: skip


v = Axis("v", "token")
y = Axis("y", "response", start=1)
o = y.alias("o")
b = Axis("b", "KL coefficient", start=1)
k = Axis("k", "number of draws", start=1)
LABELS = labels(own=__package__)
PLACES = ("1", "2", "3")
"""A response has at most so many tokens; one that is cut there never ends."""


def responses(of: Rows, use: Written) -> None:
    """Enumerates the responses, (y), and how likely the reference finds each: token by token. of: nothing yet."""
    use.typed("prompt", (), "prompt", "what is asked; three tokens may answer", text=True)
    words = use.typed("vocabulary", (v,), "token", "tokens; the first one ends a response", text=True)
    use.typed("response", (y,), "response", "all tokens of the response", text=True)
    w = use.typed("reference.weights", (v,), "w", "how often the token comes, in parts", decimals=2)
    parts = use.one("reference.total", Sum(v, w[v]))
    log_token = use.along("token.log_p", (v,), log(w[v] / parts))
    place = counted("token.place", v, use)
    logps, counts, ends = [], [], []
    for at in PLACES:
        word = use.typed(f"word.{at}", (y,), f"y_{at}", f"token {at} of the response", text=True)
        is_there = use.along(f"written.{at}", (y,), filled(word[y]))
        token = use.along(f"id.{at}", (y,), where(filled(word[y]), match(v, words[v], word[y]), 0))
        logp = use.along(f"token.{at}.logp", (y,), is_there[y] * log_token[token[y]])
        logps.append(logp[y])
        counts.append(is_there[y] * equal(token[y], place[v]))
        ends.append(is_there[y] * equal(token[y], 0))
    logp = use.along("reference.logp", (y,), logps[0] + logps[1] + logps[2])
    use.along("token.count", (y, v), counts[0] + counts[1] + counts[2])
    use.along("ended", (y,), ends[0] + ends[1] + ends[2])
    use.along("reference.chance", (y,), exp(logp[y]))


def rewards(of: Rows, use: Written) -> None:
    """Gives each response two rewards: the proxy, which is optimised, and gold, which is wanted. Both count tokens."""
    count = of["token.count"]
    once, each = (use.typed(f"proxy.{name}", (v,), f"c_{name}", f"proxy {means}", decimals=2)
                  for name, means in (("once", "if the token occurs"), ("each", "each time that it occurs")))  # fmt: skip
    wanted = use.typed("gold.once", (v,), "g_once", "gold if the token occurs", decimals=2)
    occurs = use.along("occurs", (y, v), minimum(1, count[y, v]))
    repeats = use.along("repeats", (y,), Sum(v, count[y, v]) - Sum(v, occurs[y, v]))
    proxy = use.along("reward.proxy", (y,), Sum(v, occurs[y, v] * once[v]) + Sum(v, count[y, v] * each[v]))
    paid = use.along("gold.tokens", (y,), Sum(v, occurs[y, v] * wanted[v]))
    gold = use.along(
        "reward.gold",
        (y,),
        paid[y] + use.used["repeated"] * repeats[y] + use.used["cut"] * (1 - of["ended"][y]),
    )
    for name, r in (("proxy", proxy), ("gold", gold)):
        use.one(f"reference.{name}", Sum(y, of["reference.chance"][y] * r[y]))


def optimum(of: Rows, use: Written) -> None:
    """Tilts the reference by the proxy: π* = π_ref·e^(proxy/β)/Z, the best policy for proxy less β·KL.

    Source: 2305.18290, eq. 3 and 4.
    """
    r, logp, beta = of["reward.proxy"], of["reference.logp"], use.used["beta"]
    best = softmax("optimum", use.along("optimum.tilted", (y,), logp[y] + r[y] / beta), use)
    drift = use.along("optimum.log_ratio", (y,), best.logp[y] - logp[y])
    proxy = use.one("optimum.proxy", Sum(y, best.p[y] * r[y]))
    use.one("optimum.gold", Sum(y, best.p[y] * of["reward.gold"][y]))
    kl = use.one("optimum.kl", Sum(y, best.p[y] * drift[y]))
    use.one("optimum.objective", proxy - beta * kl)
    use.one("optimum.best", beta * best.logsumexp)


def order(of: Rows, use: Written) -> None:
    """Orders the responses by their proxy: how often a draw is worse than each, (o), and how often it is a tie.

    Nothing has to be sorted: F is the sum over those that are not better. Responses of one proxy share their tie as they are drawn.
    """
    r, p = of["reward.proxy"], of["reference.chance"]
    down = counted("down.place", o, use)
    for name, row in {"logp": of["reference.logp"], "p": p, "proxy": r, "gold": of["reward.gold"]}.items():
        use.along(f"down.{name}", (o,), row[down[o]])
    p_down, r_down = of["down.p"], of["down.proxy"]
    lower = use.along("order.lower", (y, o), less(r[y], r_down[o]))
    tied = use.along("order.tied", (y, o), equal(r[y], r_down[o]))
    below = use.along("order.below", (o,), Sum(y, lower[y, o] * p[y]))
    tie = use.along("order.tie", (o,), Sum(y, tied[y, o] * p[y]))
    up_to = use.along("order.up_to", (o,), below[o] + tie[o])
    use.along("order.log_up_to", (o,), log(up_to[o]))
    use.along("order.log_below", (o,), where(less(0, below[o]), log(below[o]), 0))
    use.along("order.log_tie", (o,), log(tie[o]))
    use.along("order.share", (o,), p_down[o] / tie[o])


def sweep(of: Rows, use: Written) -> None:
    """Makes the optimum for each β of a row, (b): its proxy, gold, KL and likeliest response; and which β is best for gold."""
    logp, proxy = of["down.logp"], of["down.proxy"]
    beta = use.typed("sweep.beta", (b,), "β_b", "KL coefficient that is tried")
    best = softmax("sweep", use.along("sweep.logits", (b, o), logp[o] + proxy[o] / beta[b]), use)
    drift = use.along("sweep.log_ratio", (b, o), best.logp[b, o] - logp[o])
    r, gold = (use.along(f"sweep.{name}", (b,), Sum(o, best.p[b, o] * of[f"down.{name}"][o]))
               for name in ("proxy", "gold"))  # fmt: skip
    kl = use.along("sweep.kl", (b,), Sum(o, best.p[b, o] * drift[b, o]))
    use.along("sweep.objective", (b,), r[b] - beta[b] * kl[b])
    distance("sweep", kl, use)
    most = use.along("sweep.likeliest_p", (b,), Max(o, best.p[b, o]))
    # “very very happy” and “happy very very” are equally likely but for a last digit: two decimals decide, then the first one.
    many = use.one("down.count", size(y))
    is_top = use.along("sweep.is_likeliest", (b, o), at_most(rounded(most[b], 2), rounded(best.p[b, o], 2)))
    early = use.along("sweep.earliness", (b, o), is_top[b, o] * (many - of["down.place"][o]))
    place = use.along("sweep.likeliest_id", (b,), many - Max(o, early[b, o]))
    use.along("sweep.likeliest", (b,), of["response"][place[b]])
    top = use.one("sweep.gold_best", Max(b, gold[b]))
    is_best = use.along("sweep.is_best", (b,), at_most(top, gold[b]))
    for name, row in (("beta", beta), ("kl", kl)):
        chosen = use.along(f"sweep.best_{name}s", (b,), is_best[b] * row[b])
        use.one(f"sweep.best_{name}", Max(b, chosen[b]))


def distance(name: str, kl: Block, use: Written) -> Block:
    """Takes the root of a KL, d = √KL; of one that is hardly there, rounding would decide, and it counts as none."""
    at = kl.axes
    return use.along(f"{name}.distance", at, where(less(use.used["least_kl"], kl[at]), sqrt(kl[at]), 0))


def best_of_n(of: Rows, use: Written) -> None:
    """Draws n responses of the reference and keeps that of the highest proxy, for each n of a row, (k): exactly, F^n − F_below^n.

    The KL is below log n − (n − 1)/n, and equal to it where no two responses tie and none is likely. Source: 2401.01879.
    """
    log_up_to, log_below, log_tie, below = several(
        of, "order.log_up_to", "order.log_below", "order.log_tie", "order.below"
    )
    n = use.typed("best.draws", (k,), "n", "responses that are drawn", decimals=0)
    up_to = use.along("best.up_to", (k, o), exp(n[k] * log_up_to[o]))
    under = use.along("best.below", (k, o), where(less(0, below[o]), exp(n[k] * log_below[o]), 0))
    p = use.along("best.p", (k, o), of["order.share"][o] * (up_to[k, o] - under[k, o]))
    # log((F^n − F_below^n)/tie) with F^n taken out, for F^n alone may be smaller than any number that a sheet holds.
    worse = use.along("best.worse", (k, o), where(less(0, below[o]), exp(n[k] * (log_below[o] - log_up_to[o])), 0))
    drift = use.along("best.log_ratio", (k, o), n[k] * log_up_to[o] + log(1 - worse[k, o]) - log_tie[o])
    use.along("best.proxy", (k,), Sum(o, p[k, o] * of["down.proxy"][o]))
    gold = use.along("best.gold", (k,), Sum(o, p[k, o] * of["down.gold"][o]))
    kl = use.along("best.kl", (k,), Sum(o, p[k, o] * drift[k, o]))
    use.along("best.kl_bound", (k,), log(n[k]) - (n[k] - 1) / n[k])
    distance("best", kl, use)
    top = use.one("best.gold_best", Max(k, gold[k]))
    is_best = use.along("best.is_best", (k,), at_most(top, gold[k]))
    for name, each, row in (("draws", "draws_each", n), ("kl", "kls", kl)):
        chosen = use.along(f"best.best_{each}", (k,), is_best[k] * row[k])
        use.one(f"best.best_{name}", Max(k, chosen[k]))


def forms(of: Rows, use: Written) -> None:
    """Lays the two forms of Gao et al. beside gold: d·(α − β·log d) for RL, d·(α − β·d) for best-of-n, with d = √KL.

    Their coefficients are typed; both start at the gold of the reference. Source: 2210.10760.
    """
    start, far, n_far = several(of, "reference.gold", "sweep.distance", "best.distance")
    log_far = use.along("form.log_distance", (b,), where(less(0, far[b]), log(far[b]), 0))
    rl = use.along("form.rl", (b,), start + far[b] * (use.used["rl_alpha"] - use.used["rl_beta"] * log_far[b]))
    bon = use.along("form.bon", (k,), start + n_far[k] * (use.used["bon_alpha"] - use.used["bon_beta"] * n_far[k]))
    rl_gap = use.along("form.rl_gap", (b,), abs(of["sweep.gold"][b] - rl[b]))
    bon_gap = use.along("form.bon_gap", (k,), abs(of["best.gold"][k] - bon[k]))
    use.one("form.rl_worst", Max(b, rl_gap[b]))
    use.one("form.bon_worst", Max(k, bon_gap[k]))


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measure how far from 0 is what must be 0: probabilities add up, J is β·log Z, and the KL keeps its bound."""
    kl, bound = of["best.kl"], of["best.kl_bound"]
    return [
        use.one("check.all", abs(Sum(y, of["reference.chance"][y]) - 1)),
        use.one("check.best", abs(of["optimum.objective"] - of["optimum.best"])),
        use.along("check.sweep", (b,), abs(Sum(o, of["sweep.p"][b, o]) - 1)),
        use.along("check.kept_sum", (k,), abs(Sum(o, of["best.p"][k, o]) - 1)),
        use.along("check.kept", (k, o), abs(of["best.p"][k, o] - of["down.p"][o] * exp(of["best.log_ratio"][k, o]))),
        use.along("check.bound", (k,), maximum(0, kl[k] - bound[k])),
        all_in_range(chosen),
    ]


LESSON = Lesson(
    FOLDER,
    LEVEL,
    LABELS,
    n=y,
    steps=(responses, rewards, optimum, order, sweep, best_of_n, forms),
    checks=checks_of,
    sizes={v: "vocabulary", y: "response", b: "sweep.beta", k: "best.draws"},
    names={v: "vocabulary", o: "response"},
)


# fmt: off
MISCONCEPTIONS = (
    *of("repeats",
        ("count-of-all", "All tokens are counted: only those that came before count.", operand("sub"))),
    *of("reward.gold",
        ("end-rewarded", "An end is punished: it is the missing one that costs.",
         equation(lambda b: b["gold.tokens"][y] + b("repeated") * b["repeats"][y] + b("cut") * b["ended"][y])),
        ("repeats-forgotten", "Repeated tokens are forgotten.",
         equation(lambda b: b["gold.tokens"][y] + b("cut") * (1 - b["ended"][y])))),
    *of("optimum.tilted",
        ("proxy-forgotten", "The proxy is forgotten: this is the reference.", operand("add")),
        ("reference-forgotten", "The reference is forgotten: this is the soft-max of the proxy.", operand("add", 1)),
        ("beta-multiplies", "β multiplies the proxy: it divides it.",
         equation(lambda b: b["reference.logp"][y] + b["reward.proxy"][y] * b("beta"))),
        ("gold-for-proxy", "Gold stands for the proxy: nobody can optimise it.", instead("reward.proxy", "reward.gold"))),
    *of("optimum.log_ratio",
        ("reference-forgotten", "The reference is forgotten: this is a log-prob.", operand("sub")),
        ("sign-turned", "The sign is turned: the optimum stands above, the reference below.", turned())),
    *of("optimum.gold",
        ("proxy-for-gold", "This is the proxy’s mean: gold is asked for.", instead("reward.gold", "reward.proxy")),
        ("reference-for-optimum", "This is the gold of the reference.", instead("optimum.p", "reference.chance"))),
    *of("optimum.objective",
        ("penalty-added", "The KL is paid for, not earned: it is subtracted.", operation("sub", "add")),
        ("beta-forgotten", "β is forgotten.", without("beta"))),
    *of("best.p",
        ("ties-forgotten", "Worse draws are forgotten: F_below^n is subtracted.",
         equation(lambda b: b["order.share"][o] * b["best.up_to"][k, o]))),
    *of("best.kl_bound",
        ("log-n-alone", "This is log n: (n − 1)/n is subtracted.", operand("sub"))),
)
# fmt: on
