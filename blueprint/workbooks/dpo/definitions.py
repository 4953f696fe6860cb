"""The definitions of DPO and its relatives, in order: the whole way from the log-probs of two responses to the loss.

From the log-prob of each token to that of a whole response: a sum, or one of several means.
Sources: DPO, 2305.18290, eq. 7 (the sum); SimPO, 2405.14734, eq. 3 (the mean); LD-DPO, 2409.06411, eq. 8 (tokens beyond the length
of the shorter response count less); AlphaPO, 2501.03884.

How much more the policy prefers a response than the reference does, and by how much more the chosen one than the rejected.
Sources: DPO, 2305.18290, eq. 5 and 7 (β times the log-ratio is the implicit reward); SimPO, 2405.14734, eq. 5 (the margin γ);
f-DPO, 2309.16240 (other divergences).

AOT: the whole distribution of one number against that of another, both sorted (2406.05882).
TRL 1.16.0, dpo_trainer.py, loss types aot and aot_unpaired.

What the loss makes of a margin: every form that a library has, a row for each.
Sources: DPO, 2305.18290, eq. 7; cDPO, ericmitchell.ai/cdpo.pdf, eq. 3; robust DPO, 2403.00409; IPO, 2310.12036, eq. 17; hinge, RSO,
2309.06657, eq. 12; SLiC, 2305.10425; EXO, 2402.00856; NCA, 2402.05369; BCO, 2404.04656; SPPO, 2405.00675; APO, 2408.06266;
DiscoPOP, 2406.08414; AOT, 2406.05882; ORPO, 2403.07691, eq. 4 and 7; RPO of NeMo-Aligner; libraries by version in
`conventions.toml`.

KTO: each response by itself, good or bad, against how far the policy is from the reference elsewhere.
Source: KTO, 2402.01306, eq. 7 and 8; TRL 1.16.0, kto_trainer.py; NeMo-Aligner af2b3bd, megatron_gpt_kto_model.py; HALOs 4831988,
train/trainers.py. z is the KL on mismatched responses (the answer to another prompt), and nothing flows back through it.

From the loss of each pair to that of the batch: weights, what is added, and the mean.
Sources: WPO, 2406.11827, eq. 2; NLL terms: RPO, 2404.19733; CPO, 2401.08417; ORPO, 2403.07691, eq. 6; libraries by version in
`conventions.toml`.

What is watched while training: rewards as libraries log them, margins, accuracy, and log-probs of either side.
Sources: TRL 1.16.0, dpo_trainer.py, `_compute_loss`, and TRL 0.24.0, `get_batch_loss_metrics`; NeMo-RL 7ea279a, DPOLossFn, whose
means have 1e-8 below as its loss has; `watch.rewards` in `conventions.toml` names the others.
"""

from blueprint.language import (
    Expr,
    Operand,
    Sum,
    at_most,
    equal,
    exp,
    less,
    log,
    maximum,
    minimum,
    number,
    sqrt,
    tanh,
    where,
)
from blueprint.workbooks.common import Choices, Given, Lined, Rows, labels, limited, n, t, v, with_weight
from blueprint.workbooks.common.preference_pairs import SIDES, PairSteps, Sides, o, p

__all__ = ["LABELS", "SIDES", "Given", "Row", "Sides", "Steps", "n", "o", "p", "t", "v"]

LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.dpo"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined


class Steps(PairSteps):
    """Writes rows by their names, along tokens, responses and pairs; what was written, and what is given, is read by its name.

    Given are log-probs of both models and the masks of tokens, (n, t); which response is whose, (o, n); and what pairs there are.
    """

    def __init__(self, use: Choices, given: Rows):
        super().__init__(use, given, ("pair.chosen", "pair.rejected"))

    def row(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token."""
        return self.along(name, (n, t), value)

    def of_responses(self, name: str, of: Row) -> Row:
        """Takes a number of each pair, (p), back to both of its responses, (n)."""
        return self.each(name, Sum(o, self.down(f"{name}.column", of)[o] * self["pair.either"][o, n]))


def sequences(s: Steps) -> None:
    """Adds up log-probs of tokens; `text.tokens` is 1 on prompt and response, and before the first column."""
    m, text = s["response.tokens"], s["text.tokens"]
    s.under("Which tokens count")
    length = s.each("logp.length", Sum(t, m[n, t]))
    s.row("logp.after", text[n, t - 1] * (1 - text[n, t]))
    _differing(s)
    _weights(length, s)
    s.under("The log-prob of a whole response")
    # A sum of no token is divided by 0, which gives no number, but in TRL's DPO, whose means divide by 1 at least.
    alone = s.pick("mean.least_of_plain", (), "reference.used", on=1, off=0)
    s.pick("mean.least", (), "logp.of", sum=1, mean=alone, mean_nonzero=0, mean_with_pad=0)
    policy, reference = _summed("policy", s), _summed("reference", s)
    curved = s.each(
        "policy.curved",
        limited(s.use.used["logp.alpha"], policy[n], lambda a: (1 - exp(-(a * policy[n]))) / a),
    )
    s.under("Side by side")
    s.sides("logp", curved)
    s.sides("logp_ref", reference)


def _differing(s: Steps) -> None:
    """Counts the tokens by which HALOs divides: those on which the policy differs from the reference, or, without one, from 1."""
    logp, logp_ref, m = s["policy.logprobs"], s["reference.logprobs"], s["response.tokens"]
    other = s.pick("logp.compared", (n, t), "reference.used", on=logp_ref[n, t], off=0)
    differs = s.row("logp.differs", where(equal(logp[n, t], other[n, t]), 0, m[n, t]))
    s.each("logp.differing", Sum(t, differs[n, t]))


def _weights(length: Row, s: Steps) -> None:
    """Weighs the tokens beyond the length of the shorter response of the pair: of the policy, and of the reference."""
    m, alpha, both = s["response.tokens"], s.use.used["logp.ld_alpha"], s.sides("length", length)
    shorter = s.pair("logp.shorter", minimum(both.chosen[p], both.rejected[p]))
    shared = s.of_responses("logp.shared", shorter)
    place = s.row("logp.place")
    place[n, t.first - 1] = 0
    place[n, t] = place[n, t - 1] + m[n, t]
    beyond = s.row("logp.beyond", where(at_most(place[n, t], shared[n]), 1, alpha))
    at = s.row("logp.column", number(t))
    cut = s.row("logp.cut", where(less(at[n, t], length[n]), alpha, 0))
    from_row = s.row("logp.from_row", where(less(at[n, t], shared[n]), 1, cut[n, t]))
    x = s.pick("logp.far", (n, t), "logp.ld_from", response=beyond[n, t], row=from_row[n, t])[n, t]
    s.pick("policy.ld", (n, t), "logp.ld", off=1, policy=x, both=x)
    s.pick("reference.ld", (n, t), "logp.ld", off=1, policy=1, both=x)


def _summed(name: str, s: Steps) -> Row:
    """Adds up what a model says of the tokens that count, and divides by these where a mean is asked for.

    The first ORPO adds the pad behind a text.
    """
    logp, m, by = s[f"{name}.logprobs"], s["response.tokens"], s[f"{name}.ld"]
    x, with_pad = m[n, t], m[n, t] + s["logp.after"][n, t]
    counted = s.pick(f"{name}.counted", (n, t), "logp.of", sum=x, mean=x, mean_nonzero=x, mean_with_pad=with_pad)
    weighed = s.row(f"{name}.weighed", counted[n, t] * by[n, t])
    total = s.each(f"{name}.sum", Sum(t, weighed[n, t] * logp[n, t]))
    x, differing = s.each(f"{name}.added", Sum(t, counted[n, t]))[n], s["logp.differing"]
    count = s.pick(f"{name}.count", (n,), "logp.of", sum=x, mean=x, mean_nonzero=differing[n], mean_with_pad=x)
    mean = s.each(f"{name}.mean", total[n] / s.each(f"{name}.over", maximum(count[n], s["mean.least"]))[n])
    x = mean[n]
    return s.pick(f"{name}.logp", (n,), "logp.of", sum=total[n], mean=x, mean_nonzero=x, mean_with_pad=x)


def margins(s: Steps) -> None:
    """Compares the chosen response with the rejected one: log-ratios, their difference h, u = βh − γ; and reads true rewards."""
    s.under("The margin of a pair")
    used, words = s.use.used, ("logp", "logp_ref")
    for side, policy, reference in zip(SIDES, *map(s.of_sides, words), strict=True):
        against = s.pair(f"{side}.against", policy[p] - reference[p])
        # Without a reference the log-ratio is the log-prob itself.
        s.pick(f"{side}.ratio", (p,), "reference.used", on=against[p], off=policy[p])
    chosen, rejected = (_shaped(side, s) for side in SIDES)
    h = s.pair("margin", chosen[p] - rejected[p])
    u = s.pair("margin.argument", s.pair("margin.scaled", used["beta"] * h[p])[p] - used["loss.gamma"])
    turned = s.pair("margin.turned", -u[p])
    s.log_sigmoid("margin.right", u)
    s.log_sigmoid("margin.wrong", turned)
    s.sides("true", s["true.reward"])


def _shaped(side: str, s: Steps) -> Row:
    """Shapes a log-ratio by the divergence in use: 1 − e^−x, which is beyond every number for x < −709, or log 2 + log σ(x)."""
    x, asked = s[f"{side}.ratio"], s.use.switch["margin.divergence"].says("forward_kl")
    moved = 1 - exp(-x[p])
    # Where libraries stand side by side and none has the word, it is the number 0, and no condition.
    forward = s.pair(f"{side}.forward", where(asked, moved, 0) if isinstance(asked, Expr) else asked * moved)
    mixed = s.pair(f"{side}.mixed", log(2) + s.log_sigmoid(f"{side}.log_sigmoid", x)[p])
    return s.pick(f"{side}.shaped", (p,), "margin.divergence", reverse_kl=x[p], forward_kl=forward[p], js=mixed[p])


def _aligned(s: Steps) -> dict[str, Operand]:
    """Makes the losses that compare the smallest with the smallest, the next with the next, and so on."""
    s.under("Sorted")
    policy, reference, ratio = s.of_sides("logp"), s.of_sides("logp_ref"), s.of_sides("ratio")
    mine = s.pair("sorted.policy", policy.chosen[p] - policy.rejected[p])
    theirs = s.pair("sorted.reference", reference.chosen[p] - reference.rejected[p])
    return {"aot": _compared("aot", mine, theirs, s), "aot_unpaired": _compared("aot_unpaired", *ratio, s)}


def _compared(name: str, x: Given, y: Given, s: Steps) -> Operand:
    """Compares two rows in order, (p): the k-th smallest of each."""
    smooth = s.use.used["loss.label_smoothing"]
    first, second = _in_order(f"{name}.first", x, s), _in_order(f"{name}.second", y, s)
    u = s.pair(f"{name}.argument", s.use.used["beta"] * (first[p] - second[p]))
    turned = s.pair(f"{name}.turned", -u[p])
    right, wrong = s.log_sigmoid(f"{name}.right", u), s.log_sigmoid(f"{name}.wrong", turned)
    return s.pair(f"loss.{name}", -((1 - smooth) * right[p]) - smooth * wrong[p])[p]


def _in_order(name: str, x: Given, s: Steps) -> Row:
    """Sorts a row, (p), upwards: each goes to the place that says how many are smaller, or equal and before it.

    Numbers that are apart by rounding alone count as equal: a sheet compares 15 digits, and a program all of them.
    """
    tie = s.use.used["loss.aot_tie"]
    down = s.down(f"{name}.down", x)
    smaller = s.along(f"{name}.smaller", (o, p), less(down[o] + tie, x[p]))
    same = s.along(f"{name}.same", (o, p), at_most(abs(down[o] - x[p]), tie))
    before = s.along(f"{name}.before", (o, p), same[o, p] * s["pair.before"][o, p])
    rank = s.pair(f"{name}.rank", 1 + Sum(o, smaller[o, p]) + Sum(o, before[o, p]))
    left = s.along(f"{name}.left", (o, p))
    left[o.first - 1, p] = rank[p]
    left[o, p] = left[o - 1, p] - 1
    here = s.along(f"{name}.here", (o, p), equal(left[o, p], 0))
    placed = s.along(f"{name}.placed", (o,), Sum(p, here[o, p] * x[p]))
    return s.across(f"{name}.sorted", placed)


def forms(s: Steps) -> None:
    """Makes the loss of each pair, (p), by the form in use."""
    s.under("The implicit rewards")
    for side, ratio in zip(SIDES, s.of_sides("ratio"), strict=True):
        s.pair(f"{side}.reward", s.use.used["beta"] * ratio[p])
    binary = _binary(s)
    made: dict[str, Operand] = {
        **_of_margin(s),
        **_of_rewards(s),
        "bco": binary,
        **_of_true_rewards(s),
        **_aligned(s),
        **_odds(s),
        "kto": 0,
        "apo_zero_unpaired": 0,
        "none": 0,
    }
    s.under("The loss of a pair")
    s.pick("loss.pair", (p,), "loss.form", **made)


def _of_margin(s: Steps) -> dict[str, Operand]:
    """Makes those of u = βh − γ, and of h."""
    s.under("Of the margin")
    used, (h, u, right, wrong) = s.use.used, (s[f"margin{of}"] for of in ("", ".argument", ".right", ".wrong"))
    smooth, eps = used["loss.label_smoothing"], used["loss.exo_eps"]
    plain = s.pair("loss.sigmoid", -((1 - smooth) * right[p]) - smooth * wrong[p])
    inverse = s.pair("loss.turned", smooth * wrong[p] - (1 - smooth) * right[p])
    robust = s.pair("loss.robust", inverse[p] / (1 - 2 * smooth))
    half = s.one("loss.ipo_target", 1 / (2 * used["beta"]))
    off = s.pair("loss.ipo_off", h[p] - half)
    sure = s.sigmoid("loss.sure", u)
    unsure = s.pair("loss.unsure", 1 - sure[p])
    exo = sure[p] * (right[p] - log(1 - eps)) + unsure[p] * (wrong[p] - log(eps))
    at = s.pair("loss.discopop_at", u[p] / used["loss.discopop_tau"])
    w, log_w = s.sigmoid("loss.discopop_weight", at), s.log_sigmoid("loss.discopop_log", at)
    return {
        "sigmoid": plain[p],
        "robust": robust[p],
        "hinge": s.pair("loss.hinge", maximum(0, 1 - u[p]))[p],
        "slic": s.pair("loss.slic", maximum(0, used["beta"] - h[p]))[p],
        "ipo": s.pair("loss.ipo", off[p] * off[p])[p],
        "exo": s.pair("loss.exo", exo)[p],
        "discopop": s.pair("loss.discopop", exp(log_w[p] - u[p]) - (1 - w[p]) * right[p])[p],
    }


def _of_rewards(s: Steps) -> dict[str, Operand]:
    """Makes those that look at each reward by itself."""
    s.under("Of each reward by itself")
    ratio, reward = s.of_sides("ratio"), s.of_sides("reward")
    half = s.one("loss.sppo_target", 1 / (2 * s.use.used["beta"]))
    low = s.pair("loss.sppo_chosen", ratio.chosen[p] - half)
    high = s.pair("loss.sppo_rejected", ratio.rejected[p] + half)
    good = s.log_sigmoid("chosen.good", reward.chosen)
    turned = [s.pair(f"{side}.turned", -each[p]) for side, each in zip(SIDES, reward, strict=True)]
    not_good, not_bad = (s.log_sigmoid(f"{side}.not_good", each) for side, each in zip(SIDES, turned, strict=True))
    up, down = (s.sigmoid(f"{side}.likely", each) for side, each in zip(SIDES, reward, strict=True))
    between = s.sigmoid("margin.likely", s["margin.scaled"])
    return {
        "sppo": s.pair("loss.sppo", low[p] * low[p] + high[p] * high[p])[p],
        "nca": s.pair("loss.nca", -good[p] - not_good[p] / 2 - not_bad[p] / 2)[p],
        "apo_zero": s.pair("loss.apo_zero", 1 - up[p] + down[p])[p],
        "apo_down": s.pair("loss.apo_down", up[p] + 1 - between[p])[p],
    }


def _binary(s: Steps) -> Operand:
    """Tells good from bad by a threshold δ: 0, or the mean of all rewards, through which nothing flows back."""
    s.under("Good or bad by a threshold")
    reward = s.of_sides("reward")
    both = s.pair("loss.bco_both", reward.chosen[p] + reward.rejected[p])
    mean = s.one("loss.bco_mean", Sum(p, both[p]) / (2 * s["count.pairs"]))
    delta = s.held("loss.bco_held", s.pick("loss.bco_delta", (), "loss.bco_threshold", off=0, batch_mean=mean))
    above = s.pair("loss.bco_above", reward.chosen[p] - delta)
    below = s.pair("loss.bco_below", delta - reward.rejected[p])
    first, second = s.log_sigmoid("loss.bco_chosen", above), s.log_sigmoid("loss.bco_rejected", below)
    return s.pair("loss.bco", -first[p] - second[p])[p]


def _of_true_rewards(s: Steps) -> dict[str, Operand]:
    """Compares the margin with that of true rewards: by either KL of the preference, or squared."""
    s.under("Against true rewards")
    meant, own = s.of_sides("true"), s["margin.scaled"]
    true = s.pair("true.margin", meant.chosen[p] - meant.rejected[p])
    off = s.pair("loss.rpo_off", own[p] - true[p])
    names: dict[str, Given] = {"true": true, "own": own}
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


def _odds(s: Steps) -> dict[str, Operand]:
    """Compares odds p/(1 − p): of the mean log-prob of a response, or of each token (ColossalChat)."""
    s.under("Odds")
    logp, m, x, form = s["policy.logprobs"], s["response.tokens"], s.of_sides("logp"), s.use.switch["loss.form"]
    odds = [_log_odds(side, each, s) for side, each in zip(SIDES, x, strict=True)]
    apart = s.pair("odds.difference", odds[0][p] - odds[1][p])
    asked = s.pick("odds.asked", (), "loss.form", **{word: int(word == "orpo") for word in form.words})
    for side, each in zip(SIDES, x, strict=True):
        # Odds are infinite where the probability is 1; that counts where the loss reads them.
        certain = s.pair(f"{side}.certain", at_most(0, each[p]))
        s.pair(f"{side}.endless", asked * certain[p])
    each = s.row("odds.token", m[n, t] * (logp[n, t] - log(s.use.used["loss.odds_one"] - exp(logp[n, t]))))
    mean = s.sides("odds", s.each("odds.sum", Sum(t, each[n, t])))
    length = s.sides("odds.length", s["logp.length"])
    chosen, rejected = (
        s.one(f"odds.{side}", Sum(p, total[p]) / Sum(p, count[p]))
        for side, total, count in zip(SIDES, mean, length, strict=True)
    )
    whole = s.pair("odds.batch", chosen - rejected)
    right, endless = s.log_sigmoid("odds.right", apart), s.of_sides("endless")
    # TRL 1.16.0, odds_ratio_loss: infinite log-odds of the chosen response leave a loss of 0, whose gradient is nan, as the root
    # of 0 has no slope; those of the rejected one an infinite loss, both of them nan, as there is no log of 0.
    least = s.pair("odds.endless", where(equal(endless.chosen[p], 1), sqrt(-x.chosen[p]), right[p]))
    lost = s.pair("odds.lost", log(1 - endless.rejected[p]))
    return {
        "orpo": s.pair("loss.orpo", -(s.use.used["beta"] * (least[p] + lost[p])))[p],
        "orpo_tokens": s.pair("loss.orpo_tokens", -s.log_sigmoid("odds.batch_right", whole)[p])[p],
    }


def _log_odds(side: str, x: Given, s: Steps) -> Row:
    """Takes ln p − ln(1 − p) of x = ln p < 0; 0 stands for those of certainty, which are infinite.

    With h = tanh(x/2) it is 1 − e^x = −2h/(1 − h), which has all its digits also where e^x is as good as 1.
    """
    h = tanh(x[p] / 2)
    return s.pair(f"{side}.log_odds", where(less(x[p], 0), x[p] - log(-(2 * h) / (1 - h)), 0))


UNPAIRED = "Each response by itself: KTO"


def unpaired(s: Steps) -> None:
    """Makes the loss of each response, (n), of KTO and of APO-zero, which takes 0 for z.

    The log-ratio of each mismatched response, (n), is given, or that of the models' log-probs of its tokens.
    """
    s.under(UNPAIRED)
    m, good, known = s["response.tokens"], s["response.chosen"], "mismatched.ratio" in s.given
    if not known:
        there, logp, logp_ref = (s[f"mismatched.{of}"] for of in ("tokens", "policy.logprobs", "reference.logprobs"))
        away = s.row("kto.away", there[n, t] * (logp[n, t] - logp_ref[n, t]))
        s.each("kto.elsewhere", Sum(t, away[n, t]))
    far, logp, logp_ref = (
        s["mismatched.ratio" if known else "kto.elsewhere"],
        s["policy.logprobs"],
        s["reference.logprobs"],
    )
    ratio = s.each("kto.ratio", Sum(t, m[n, t] * s.row("kto.log_ratio", logp[n, t] - logp_ref[n, t])[n, t]))
    z = s.held("kto.held", s.one("kto.z", maximum(0, Sum(n, far[n]) / (2 * s["count.pairs"]))))
    sign, used = s.each("kto.sign", 2 * good[n] - 1), s.use.used
    weight = s.each("kto.weight", where(equal(good[n], 1), used["loss.desirable"], used["loss.undesirable"]))
    points: dict[str, Operand] = {"against": z, "zero": 0}
    made = {
        name: s.each(f"kto.{name}.argument", used["beta"] * sign[n] * (ratio[n] - point))
        for name, point in points.items()
    }
    against, zero = (s.sigmoid(f"kto.{name}.likely", each) for name, each in made.items())
    s.each("loss.kto", weight[n] * (1 - against[n]))
    s.each("loss.apo_zero_unpaired", weight[n] * (1 - zero[n]))


def total(s: Steps) -> None:
    """Takes the mean over pairs, or over all responses where each counts by itself, and adds the NLL of chosen ones.

    Every pair counts 1 where no weights were made.
    """
    s.under("The loss")
    used, pairs, count = s.use.used, s["loss.pair"], s["count.pairs"]
    weighed = s.pair("loss.weighed", s["weight.used"][p] * pairs[p] if "weight.used" in s.rows else pairs[p])
    over = s.one("loss.over", count + used["loss.mean_eps"])
    mean = s.one("loss.paired", Sum(p, weighed[p]) / over)
    responses = s.one("loss.responses", 2 * count + used["loss.mean_eps"])
    words = dict.fromkeys(s.use.switch["loss.form"].words, mean)
    for name in ("kto", "apo_zero_unpaired"):
        words[name] = s.one(f"loss.{name}_mean", Sum(n, s[f"loss.{name}"][n]) / responses)
    chosen = s.pick("loss.preference", (), "loss.form", **words)
    binary = s.one("loss.bco_whole", Sum(p, s["loss.bco"][p]) / over)
    mix = used["loss.bco_mix"]
    mixed = s.one("preference_loss", (chosen + mix * binary) / (1 + mix))
    added = s.one("adds.nll", with_weight(used["loss.nll_coef"], s["nll"]))
    s.one("total_loss", mixed + added)


def likelihood(s: Steps) -> None:
    """Takes the NLL of the chosen responses: of the response, of prompt and response, or of pads too."""
    s.under("The likelihood of chosen responses")
    logp, m, text, good = (s[of] for of in ("policy.logprobs", "response.tokens", "text.tokens", "response.chosen"))
    pairs = s["count.pairs"]
    every = s.row("nll.every", 1 + 0 * m[n, t])
    counts = s.pick("nll.region", (n, t), "loss.nll_region", response=m[n, t], text=text[n, t], everything=every[n, t])
    counted = s.row("nll.counted", good[n] * counts[n, t])
    each = s.row("nll.of_token", -(counted[n, t] * logp[n, t]))
    summed, length = s.each("nll.sum", Sum(t, each[n, t])), s.each("nll.length", Sum(t, counted[n, t]))
    mean = s.each("nll.row_mean", where(less(0, length[n]), summed[n] / length[n], 0))
    over = s.one("nll.over", pairs + s.use.used["loss.mean_eps"])
    cells = s.one("nll.all_cells", pairs * s.one("nll.columns", Sum((n, t), every[n, t]) / (2 * pairs)))
    s.pick(
        "nll", (), "loss.nll_mean", token=Sum(n, summed[n]) / Sum(n, length[n]), sequence_mean=Sum(n, mean[n]) / over,
        sequence_sum=Sum(n, summed[n]) / over, cells=Sum(n, summed[n]) / cells,
    )  # fmt: skip


def weights(s: Steps) -> None:
    """Weighs each pair by how likely the policy writes such responses (WPO); `policy.square` is Σ π² of each token.

    TRL 0.24.0 moves log-probs one column on before it takes them, and holds the weight at 1.
    """
    if "policy.square" not in s.given:
        return
    s.under("The weight of a pair")
    logp, m, length, square = (s[of] for of in ("policy.logprobs", "response.tokens", "logp.length", "policy.square"))
    away = s.row("weight.away", log(square[n, t]))
    own = s.row("weight.own", m[n, t] * logp[n, t])
    late = s.row("weight.late")
    late[n, t.first - 1] = 0
    late[n, t] = own[n, t]
    shifted = s.row("weight.shifted", m[n, t] * (late[n, t - 1] - away[n, t]))
    right = s.row("weight.right", m[n, t] * (logp[n, t] - away[n, t]))
    made = {}
    for name, row in (("wpo", right), ("wpo_shifted", shifted)):
        mean = s.sides(
            f"{name}_mean", s.each(f"weight.{name}_mean", where(less(0, length[n]), Sum(t, row[n, t]) / length[n], 0))
        )
        made[name] = s.pair(f"weight.{name}", exp(mean.chosen[p] + mean.rejected[p]))
    at_most = s.pair("weight.held", minimum(1, made["wpo_shifted"][p]))
    used = s.pick("weight.pair", (p,), "loss.weight", off=1, wpo=made["wpo"][p], wpo_shifted=at_most[p])
    s.held("weight.used", used)


WATCHED = "What one watches"


def watched(s: Steps) -> None:
    """Adds what one watches: rewards as in the loss, of sums, with the reference though the loss has none, or without β, as a
    library logs them; and the mean log-prob of either side, of sums where rewards are, else of what the loss takes (unbent).
    """
    s.under(WATCHED)
    beta, over, total = s.use.used["beta"], s["loss.over"], s["policy.sum"]
    s.sides("sum", total)
    s.sides("sum_ref", s["reference.sum"])
    for side in SIDES:
        ratio, policy, reference, own, their = (
            s[f"{side}.{of}"] for of in ("ratio", "logp", "logp_ref", "sum", "sum_ref")
        )
        s.pick(
            f"{side}.logged", (p,), "watch.rewards", same=beta * ratio[p], sum=beta * (own[p] - their[p]),
            with_reference=beta * (policy[p] - reference[p]), no_beta=1 * ratio[p],
        )  # fmt: skip
    logged = s.of_sides("logged")
    margin = s.pair("watch.margin", logged.chosen[p] - logged.rejected[p])
    right = s.pair("watch.right", less(logged.rejected[p], logged.chosen[p]))
    for side, each in zip(SIDES, logged, strict=True):
        s.one(f"rewards.{side}", Sum(p, each[p]) / over)
    s.one("rewards.margins", Sum(p, margin[p]) / over)
    s.one("rewards.accuracies", Sum(p, right[p]) / over)
    sums = s.use.switch["watch.rewards"].says("sum")
    logps = s.sides("logps", s.each("watch.logps", where(sums, total[n], s["policy.logp"][n])))
    for side, each in zip(SIDES, logps, strict=True):
        s.one(f"logps.{side}", Sum(p, each[p]) / over)
    s.pair("odds.certain", s["chosen.certain"][p] + s["rejected.certain"][p])


IN_TURN = (sequences, margins, forms, unpaired, weights, likelihood, total, watched)


def derived(given: Rows, use: Choices) -> Steps:
    """Runs the definitions, one after the other. given: by name, what the responses are and what models say of them."""
    s = Steps(use, given)
    for define in IN_TURN:
        define(s)
    return s
