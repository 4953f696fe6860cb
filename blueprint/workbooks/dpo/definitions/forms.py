"""What the loss makes of a margin: every form that a library has, a row for each.

Sources: DPO, 2305.18290, eq. 7; cDPO, ericmitchell.ai/cdpo.pdf, eq. 3; robust DPO, 2403.00409; IPO, 2310.12036, eq. 17; hinge, RSO,
2309.06657, eq. 12; SLiC, 2305.10425; EXO, 2402.00856; NCA, 2402.05369; BCO, 2404.04656; SPPO, 2405.00675; APO, 2408.06266;
DiscoPOP, 2406.08414; AOT, 2406.05882; ORPO, 2403.07691, eq. 4 and 7; RPO of NeMo-Aligner; libraries by version in
`conventions.toml`.
"""

from typing import NamedTuple

from blueprint.language import Operand, Sum, at_most, equal, exp, less, log, maximum, sqrt, tanh, where
from blueprint.workbooks.dpo.definitions.axes import n, p, t
from blueprint.workbooks.dpo.definitions.margins import Margins
from blueprint.workbooks.dpo.definitions.sequences import Sequences
from blueprint.workbooks.dpo.definitions.sorted import aligned
from blueprint.workbooks.dpo.definitions.steps import Given, Row, Sides, Steps


class Forms(NamedTuple):
    """Of each pair, (p): the loss by the form in use, and that of the binary classifier, which may be mixed in."""

    used: Row
    binary: Row


def forms(of: Margins, seen: Sequences, logp: Given, m: Given, meant: Sides, s: Steps) -> Forms:
    """Makes the loss of each pair, (p), by the form in use. logp, m: (n, t). meant: the true rewards, which RPO reads."""
    rewards = _rewards(of, s)
    classified = _binary(rewards, s)
    made: dict[str, Operand] = {
        **_of_margin(of, s),
        **_of_rewards(of, rewards, s),
        "bco": classified[p],
        **_of_true_rewards(of, meant, s),
        **aligned(of, seen, s),
        **_odds(seen, logp, m, s),
        "kto": 0,
        "apo_zero_unpaired": 0,
        "none": 0,
    }
    s.under("The loss of a pair")
    return Forms(s.pick("loss.pair", (p,), "loss.form", **made), classified)


def _of_margin(of: Margins, s: Steps) -> dict[str, Operand]:
    """Makes those of u = βh − γ, and of h."""
    s.under("Of the margin")
    used, u, right, wrong = s.use.used, of.argument, of.right, of.wrong
    smooth = used["loss.label_smoothing"]
    plain = s.pair("loss.sigmoid", -((1 - smooth) * right[p]) - smooth * wrong[p])
    inverse = s.pair("loss.turned", smooth * wrong[p] - (1 - smooth) * right[p])
    robust = s.pair("loss.robust", inverse[p] / (1 - 2 * smooth))
    half = s.one("loss.ipo_target", 1 / (2 * used["beta"]))
    off = s.pair("loss.ipo_off", of.difference[p] - half)
    sure = s.sigmoid("loss.sure", u)
    unsure = s.pair("loss.unsure", 1 - sure[p])
    eps = used["loss.exo_eps"]
    exo = sure[p] * (right[p] - log(1 - eps)) + unsure[p] * (wrong[p] - log(eps))
    at = s.pair("loss.discopop_at", u[p] / used["loss.discopop_tau"])
    w, log_w = s.sigmoid("loss.discopop_weight", at), s.log_sigmoid("loss.discopop_log", at)
    return {
        "sigmoid": plain[p],
        "robust": robust[p],
        "hinge": s.pair("loss.hinge", maximum(0, 1 - u[p]))[p],
        "slic": s.pair("loss.slic", maximum(0, used["beta"] - of.difference[p]))[p],
        "ipo": s.pair("loss.ipo", off[p] * off[p])[p],
        "exo": s.pair("loss.exo", exo)[p],
        "discopop": s.pair("loss.discopop", exp(log_w[p] - u[p]) - (1 - w[p]) * right[p])[p],
    }


def _rewards(of: Margins, s: Steps) -> Sides:
    """Makes the implicit rewards: β times the log-ratios."""
    s.under("The implicit rewards")
    beta = s.use.used["beta"]
    return Sides(
        *(s.pair(f"{side}.reward", beta * ratio[p]) for side, ratio in zip(Sides._fields, of.ratio, strict=True))
    )


def _of_rewards(of: Margins, reward: Sides, s: Steps) -> dict[str, Operand]:
    """Makes those that look at each reward by itself."""
    s.under("Of each reward by itself")
    half = s.one("loss.sppo_target", 1 / (2 * s.use.used["beta"]))
    low = s.pair("loss.sppo_chosen", of.ratio.chosen[p] - half)
    high = s.pair("loss.sppo_rejected", of.ratio.rejected[p] + half)
    good = s.log_sigmoid("chosen.good", reward.chosen)
    turned = [s.pair(f"{side}.turned", -each[p]) for side, each in zip(Sides._fields, reward, strict=True)]
    not_good, not_bad = (
        s.log_sigmoid(f"{side}.not_good", each) for side, each in zip(Sides._fields, turned, strict=True)
    )
    up, down = (s.sigmoid(f"{side}.likely", each) for side, each in zip(Sides._fields, reward, strict=True))
    between = s.sigmoid("margin.likely", of.scaled)
    return {
        "sppo": s.pair("loss.sppo", low[p] * low[p] + high[p] * high[p])[p],
        "nca": s.pair("loss.nca", -good[p] - not_good[p] / 2 - not_bad[p] / 2)[p],
        "apo_zero": s.pair("loss.apo_zero", 1 - up[p] + down[p])[p],
        "apo_down": s.pair("loss.apo_down", up[p] + 1 - between[p])[p],
    }


def _binary(reward: Sides, s: Steps) -> Row:
    """Tells good from bad by a threshold δ: 0, or the mean of all rewards, through which nothing flows back."""
    s.under("Good or bad by a threshold")
    both = s.pair("loss.bco_both", reward.chosen[p] + reward.rejected[p])
    mean = s.one("loss.bco_mean", Sum(p, both[p]) / (2 * s.pairs))
    delta = s.held("loss.bco_held", s.pick("loss.bco_delta", (), "loss.bco_threshold", off=0, batch_mean=mean))
    above = s.pair("loss.bco_above", reward.chosen[p] - delta)
    below = s.pair("loss.bco_below", delta - reward.rejected[p])
    first, second = s.log_sigmoid("loss.bco_chosen", above), s.log_sigmoid("loss.bco_rejected", below)
    return s.pair("loss.bco", -first[p] - second[p])


def _of_true_rewards(of: Margins, meant: Sides, s: Steps) -> dict[str, Operand]:
    """Compares the margin with that of true rewards: by either KL of the preference, or squared."""
    s.under("Against true rewards")
    true = s.pair("true.margin", meant.chosen[p] - meant.rejected[p])
    off = s.pair("loss.rpo_off", of.scaled[p] - true[p])
    names = {"true": true, "own": of.scaled}
    right = {name: s.log_sigmoid(f"{name}.right", each) for name, each in names.items()}
    turned = {name: s.pair(f"{name}.turned", -each[p]) for name, each in names.items()}
    wrong = {name: s.log_sigmoid(f"{name}.wrong", each) for name, each in turned.items()}
    p_true, p_own = (s.sigmoid(f"{name}.likely", each) for name, each in names.items())
    first = s.pair("loss.rpo_right", right["true"][p] - right["own"][p])
    second = s.pair("loss.rpo_wrong", wrong["true"][p] - wrong["own"][p])
    return {
        "rpo_squared": s.pair("loss.rpo_squared", off[p] * off[p])[p],
        "rpo_backward": s.pair("loss.rpo_backward", p_true[p] * first[p] + (1 - p_true[p]) * second[p])[p],
        "rpo_forward": s.pair("loss.rpo_forward", -(p_own[p] * first[p]) - (1 - p_own[p]) * second[p])[p],
    }


def _odds(seen: Sequences, logp: Given, m: Given, s: Steps) -> dict[str, Operand]:
    """Compares odds p/(1 − p): of the mean log-prob of a response, or of each token (ColossalChat)."""
    s.under("Odds")
    sides = dict(zip(Sides._fields, seen.policy, strict=True))
    odds = Sides(*(_log_odds(side, x, s) for side, x in sides.items()))
    apart = s.pair("odds.difference", odds.chosen[p] - odds.rejected[p])
    words = s.use.switch["loss.form"].words
    asked = s.pick("odds.asked", (), "loss.form", **{word: int(word == "orpo") for word in words})
    certain = Sides(*(_certain(side, x, asked, s) for side, x in sides.items()))
    each = s.row("odds.token", m[n, t] * (logp[n, t] - log(s.use.used["loss.odds_one"] - exp(logp[n, t]))))
    mean = s.sides("odds", s.each("odds.sum", Sum(t, each[n, t])))
    length = s.sides("odds.length", seen.length)
    totals = [
        s.one(f"odds.{side}", Sum(p, total[p]) / Sum(p, count[p]))
        for side, total, count in zip(Sides._fields, mean, length, strict=True)
    ]
    whole = s.pair("odds.batch", totals[0] - totals[1])
    right = s.log_sigmoid("odds.right", apart)
    # TRL 1.16.0, odds_ratio_loss: infinite log-odds of the chosen response leave a loss of 0, whose gradient is nan, as the root
    # of 0 has no slope; those of the rejected one an infinite loss, both of them nan, as there is no log of 0.
    least = s.pair("odds.endless", where(equal(certain.chosen[p], 1), sqrt(-seen.policy.chosen[p]), right[p]))
    lost = s.pair("odds.lost", log(1 - certain.rejected[p]))
    return {
        "orpo": s.pair("loss.orpo", -(s.use.used["beta"] * (least[p] + lost[p])))[p],
        "orpo_tokens": s.pair("loss.orpo_tokens", -s.log_sigmoid("odds.batch_right", whole)[p])[p],
    }


def _log_odds(side: str, x: Row, s: Steps) -> Row:
    """Takes ln p − ln(1 − p) of x = ln p < 0; 0 stands for those of certainty, which are infinite.

    With h = tanh(x/2) it is 1 − e^x = −2h/(1 − h), which has all its digits also where e^x is as good as 1.
    """
    h = tanh(x[p] / 2)
    return s.pair(f"{side}.log_odds", where(less(x[p], 0), x[p] - log(-(2 * h) / (1 - h)), 0))


def _certain(side: str, x: Row, asked: Row, s: Steps) -> Row:
    """Says where the odds of a response are infinite: its probability is 1, and it is the odds that the loss reads."""
    certain = s.pair(f"{side}.certain", at_most(0, x[p]))
    return s.pair(f"{side}.endless", asked * certain[p])
