"""From the margin of each pair, or a response by itself, to the loss of the batch: forms, weights, means; and what one watches.

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

from typing import NamedTuple

from blueprint.language import Operand, Sum, at_most, equal, exp, less, log, maximum, minimum, sqrt, tanh, where
from blueprint.workbooks.common import with_weight
from blueprint.workbooks.dpo.definitions.logprobs import Given, Margins, Row, Sequences, Sides, Steps, n, o, p, t


def aligned(of: Margins, seen: Sequences, s: Steps) -> dict[str, Operand]:
    """Makes the losses that compare the smallest with the smallest, the next with the next, and so on."""
    s.under("Sorted")
    mine = s.pair("sorted.policy", seen.policy.chosen[p] - seen.policy.rejected[p])
    theirs = s.pair("sorted.reference", seen.reference.chosen[p] - seen.reference.rejected[p])
    return {
        "aot": _compared("aot", mine, theirs, s)[p],
        "aot_unpaired": _compared("aot_unpaired", of.ratio.chosen, of.ratio.rejected, s)[p],
    }


def _compared(name: str, x: Row, y: Row, s: Steps) -> Row:
    """Compares two rows in order, (p): the k-th smallest of each."""
    smooth = s.use.used["loss.label_smoothing"]
    first, second = _in_order(f"{name}.first", x, s), _in_order(f"{name}.second", y, s)
    u = s.pair(f"{name}.argument", s.use.used["beta"] * (first[p] - second[p]))
    turned = s.pair(f"{name}.turned", -u[p])
    right, wrong = s.log_sigmoid(f"{name}.right", u), s.log_sigmoid(f"{name}.wrong", turned)
    return s.pair(f"loss.{name}", -((1 - smooth) * right[p]) - smooth * wrong[p])


def _in_order(name: str, x: Row, s: Steps) -> Row:
    """Sorts a row, (p), upwards: each goes to the place that says how many are smaller, or equal and before it.

    Numbers that are apart by rounding alone count as equal: a sheet compares 15 digits, and a program all of them.
    """
    tie = s.use.used["loss.aot_tie"]
    down = s.down(f"{name}.down", x)
    smaller = s.along(f"{name}.smaller", (o, p), less(down[o] + tie, x[p]))
    same = s.along(f"{name}.same", (o, p), at_most(abs(down[o] - x[p]), tie))
    before = s.along(f"{name}.before", (o, p), same[o, p] * s.places.before[o, p])
    rank = s.pair(f"{name}.rank", 1 + Sum(o, smaller[o, p]) + Sum(o, before[o, p]))
    left = s.along(f"{name}.left", (o, p))
    left[o.first - 1, p] = rank[p]
    left[o, p] = left[o - 1, p] - 1
    here = s.along(f"{name}.here", (o, p), equal(left[o, p], 0))
    placed = s.along(f"{name}.placed", (o,), Sum(p, here[o, p] * x[p]))
    return s.across(f"{name}.sorted", placed)


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


UNPAIRED = "Each response by itself: KTO"


def elsewhere(other: Given, other_ref: Given, m_other: Given, s: Steps) -> Row:
    """Makes the log-ratio of each mismatched response, (n), of log-probs of its tokens, (n, t)."""
    s.under(UNPAIRED)
    away = s.row("kto.away", m_other[n, t] * (other[n, t] - other_ref[n, t]))
    return s.each("kto.elsewhere", Sum(t, away[n, t]))


def unpaired(logp: Given, logp_ref: Given, m: Given, other: Given, good: Given, s: Steps) -> tuple[Row, Row]:
    """Makes the loss of each response, (n). other: log-ratio of the mismatched responses. good: 1 on chosen ones.

    Returns that of KTO, and that of APO-zero, which takes 0 for z.
    """
    s.under(UNPAIRED)
    ratio = s.each("kto.ratio", Sum(t, m[n, t] * s.row("kto.log_ratio", logp[n, t] - logp_ref[n, t])[n, t]))
    responses = 2 * s.pairs
    z = s.held("kto.held", s.one("kto.z", maximum(0, Sum(n, other[n]) / responses)))
    sign = s.each("kto.sign", 2 * good[n] - 1)
    beta, used = s.use.used["beta"], s.use.used
    weight = s.each("kto.weight", where(equal(good[n], 1), used["loss.desirable"], used["loss.undesirable"]))
    made = [
        s.each(f"kto.{name}.argument", beta * sign[n] * (ratio[n] - point))
        for name, point in (("against", z), ("zero", 0))
    ]
    against, zero = (
        s.sigmoid(f"kto.{name}.likely", each) for name, each in zip(("against", "zero"), made, strict=True)
    )
    return (
        s.each("loss.kto", weight[n] * (1 - against[n])),
        s.each("loss.apo_zero_unpaired", weight[n] * (1 - zero[n])),
    )


class Total(NamedTuple):
    """The two parts in the order in which they add up, and the total."""

    parts: tuple[Row, Row]
    total: Row


def total(pairs: Row, kto: tuple[Row, Row], bco: Row, weight: Row | None, nll: Row, s: Steps) -> Total:
    """Takes the mean over pairs, or over all responses where each counts by itself, and adds the NLL of chosen ones.

    weight: of each pair, (p), or None where every one counts 1.
    """
    s.under("The loss")
    used = s.use.used
    weighed = s.pair("loss.weighed", pairs[p] if weight is None else weight[p] * pairs[p])
    over = s.one("loss.over", s.pairs + used["loss.mean_eps"])
    mean = s.one("loss.paired", Sum(p, weighed[p]) / over)
    responses = s.one("loss.responses", 2 * s.pairs + used["loss.mean_eps"])
    single = [
        s.one(f"loss.{name}_mean", Sum(n, each[n]) / responses)
        for name, each in zip(("kto", "apo_zero_unpaired"), kto, strict=True)
    ]
    words = dict.fromkeys(s.use.switch["loss.form"].words, mean)
    chosen = s.pick("loss.preference", (), "loss.form", **{**words, "kto": single[0], "apo_zero_unpaired": single[1]})
    binary = s.one("loss.bco_whole", Sum(p, bco[p]) / over)
    mix = used["loss.bco_mix"]
    mixed = s.one("preference_loss", (chosen + mix * binary) / (1 + mix))
    added = s.one("adds.nll", with_weight(used["loss.nll_coef"], nll))
    return Total((mixed, added), s.one("total_loss", mixed + added))


def likelihood(logp: Given, m: Given, text: Given, good: Given, s: Steps) -> Row:
    """Takes the NLL of the chosen responses: of the response, of prompt and response, or of pads too."""
    s.under("The likelihood of chosen responses")
    every = s.row("nll.every", 1 + 0 * m[n, t])
    counts = s.pick("nll.region", (n, t), "loss.nll_region", response=m[n, t], text=text[n, t], everything=every[n, t])
    counted = s.row("nll.counted", good[n] * counts[n, t])
    each = s.row("nll.of_token", -(counted[n, t] * logp[n, t]))
    summed, length = s.each("nll.sum", Sum(t, each[n, t])), s.each("nll.length", Sum(t, counted[n, t]))
    mean = s.each("nll.row_mean", where(less(0, length[n]), summed[n] / length[n], 0))
    over = s.one("nll.over", s.pairs + s.use.used["loss.mean_eps"])
    cells = s.one("nll.all_cells", s.pairs * s.one("nll.columns", Sum((n, t), every[n, t]) / (2 * s.pairs)))
    return s.pick(
        "nll", (), "loss.nll_mean", token=Sum(n, summed[n]) / Sum(n, length[n]), sequence_mean=Sum(n, mean[n]) / over,
        sequence_sum=Sum(n, summed[n]) / over, cells=Sum(n, summed[n]) / cells,
    )  # fmt: skip


def weights(logp: Given, square: Given, m: Given, length: Row, s: Steps) -> Row:
    """Weighs each pair by how likely the policy writes such responses (WPO); square: Σ π² of each token, (n, t).

    TRL 0.24.0 moves log-probs one column on before it takes them, and holds the weight at 1.
    """
    s.under("The weight of a pair")
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
    return s.held("weight.used", used)


WATCHED = "What one watches"


def watched(of: Margins, seen: Sequences, sums: tuple[Given, Given], s: Steps) -> None:
    """Adds what one watches. sums: log-probs of responses, weighed sums, of policy and reference, (n)."""
    s.under(WATCHED)
    beta, over = s.use.used["beta"], s.known("loss.over")
    mine, theirs = s.sides("sum", sums[0]), s.sides("sum_ref", sums[1])
    logged = Sides(*(_logged(side, of, seen, mine, theirs, beta, s) for side in Sides._fields))
    margin = s.pair("watch.margin", logged.chosen[p] - logged.rejected[p])
    right = s.pair("watch.right", less(logged.rejected[p], logged.chosen[p]))
    for side, each in zip(Sides._fields, logged, strict=True):
        s.one(f"rewards.{side}", Sum(p, each[p]) / over)
    s.one("rewards.margins", Sum(p, margin[p]) / over)
    s.one("rewards.accuracies", Sum(p, right[p]) / over)
    _logprobs(sums[0], s)
    s.pair("odds.certain", s.known("chosen.certain")[p] + s.known("rejected.certain")[p])


def _logprobs(total: Given, s: Steps) -> None:
    """Takes the mean log-prob of either side: sums where rewards are logged of sums, else what the loss takes (unbent)."""
    sums = s.use.switch["watch.rewards"].says("sum")
    each = s.sides("logps", s.each("watch.logps", where(sums, total[n], s.known("policy.logp")[n])))
    for side, row in zip(Sides._fields, each, strict=True):
        s.one(f"logps.{side}", Sum(p, row[p]) / s.known("loss.over"))


def _logged(side: str, of: Margins, seen: Sequences, mine: Sides, theirs: Sides, beta: object, s: Steps) -> Row:
    """Takes the reward that a library logs: as in the loss, of sums, with the reference though the loss has none, without β."""
    ratio, policy, reference, own, their = (
        getattr(each, side) for each in (of.ratio, seen.policy, seen.reference, mine, theirs)
    )
    return s.pick(
        f"{side}.logged", (p,), "watch.rewards", same=beta * ratio[p], sum=beta * (own[p] - their[p]),
        with_reference=beta * (policy[p] - reference[p]), no_beta=1 * ratio[p],
    )  # fmt: skip
