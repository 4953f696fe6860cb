"""Within a group: from the rewards of all responses to a prompt to the advantage of each; a row for each prompt, a column for each
of its responses.

Sources: GRPO, 2402.03300, section 4.1; RLOO, 2402.14740, eq. 4; Dr. GRPO, 2503.20783, section 3; OPO, 2505.23585; GPG, 2504.02546;
ReMax, 2310.10505; REINFORCE++, 2501.03262; the libraries' code, by version, in `conventions.toml`.
"""

from typing import NamedTuple

from blueprint.language import Max, Sum, equal, less, maximum, minimum, number, sqrt, where
from blueprint.workbooks.grpo.definitions.axes import i, j, q
from blueprint.workbooks.grpo.definitions.steps import Given, Row, Steps


class Group(NamedTuple):
    """Over (q, i) rewards, baselines, spreads, advantages, and 1 on what is left."""

    rewards: Given
    baseline: Given
    spread: Given
    advantages: Given
    left: Given


def group(reward: Given, length: Given, greedy: Given, s: Steps) -> Group:
    """Compares each response with the others to its prompt. reward, length: (n). greedy: (q)."""
    s.under("The rewards of each group")
    r, lengths = s.in_groups("group.reward", reward), s.in_groups("group.length", length)
    s.under("What is subtracted: the baseline")
    many = s.pick("group.many", (), "group.of", prompt=s.count.group, row=1)
    mean, others, batch, baseline = _baselines(r, lengths, greedy, many, s)
    left = s.table("group.less_baseline", r[q, i] - baseline[q, i])
    s.under("What is divided by: the spread")
    spread = _spread(r, mean, others, batch, left, many, s)
    s.under("The advantage of each response")
    A = _advantages(left, spread, s)
    s.under("Which responses are left")
    return Group(r, baseline, spread, A, _filtered(mean, s))


def _baselines(r: Given, lengths: Given, greedy: Given, many: Given, s: Steps) -> tuple[Row, Row, Row, Row]:
    """Makes every baseline; of a response that is a group of its own one that compares within groups is 0.

    Returns the mean of the group, that of the others, that of the batch, and the baseline in use.
    """
    total = s.prompt("group.total", Sum(i, r[q, i]))
    mean = s.prompt("group.mean", total[q] / s.count.group)
    others = s.table("group.others", (total[q] - r[q, i]) / maximum(s.count.group - 1, 1))
    batch = s.one("group.batch_mean", Sum(q, mean[q]) / s.count.prompts)
    tokens = s.prompt("group.tokens", maximum(Sum(i, lengths[q, i]), 1))
    by_length = s.prompt("group.by_length", Sum(i, lengths[q, i] * r[q, i]) / tokens[q])
    best = s.prompt("group.best", Max(i, r[q, i]))
    is_best = s.table("group.is_best", equal(r[q, i], best[q]))
    # Where the best stood a number stands that no reward is below, so that the largest of these is the second best.
    rest = s.table("group.rest", where(less(0, is_best[q, i]), total[q] - (s.count.group - 1) * best[q], r[q, i]))
    tied = s.prompt("group.tied", Sum(i, is_best[q, i]))
    second = s.prompt("group.second", where(less(1, tied[q]), best[q], Max(i, rest[q, i])))
    only_best = s.table("group.only_best", where(less(0, is_best[q, i]), second[q], r[q, i]))
    picked = s.pick(
        "group.baseline_of", (q, i), "group.baseline", mean=mean[q], others=others[q, i], none=0, greedy=greedy[q],
        batch=batch, length=by_length[q], second=only_best[q, i],
    )  # fmt: skip
    # Another policy's answer, and the mean of the batch, are there for a single response, too: ReMax draws one for each prompt.
    alone = s.pick(
        "group.baseline_alone", (), "group.baseline", mean=0, others=0, none=1, greedy=1, batch=1, length=0, second=0
    )
    return mean, others, batch, s.table("group.baseline_used", where(less(1, many + alone), picked[q, i], 0))


def _spread(r: Given, mean: Given, others: Given, batch: Given, left: Given, many: Given, s: Steps) -> Row:
    """Makes every number that rewards are divided by; of a group of one a spread within groups is 1.

    Each standard deviation is the root of a sum of squares over a count, less ddof: around the mean of the group, of the
    others or of the batch, of rewards or of what the baseline left of them.
    """
    ddof = s.use.used["group.ddof"]
    centred = s.table("group.centred", r[q, i] - mean[q])
    group_std = s.prompt(
        "group.deviation", sqrt(Sum(i, centred[q, i] * centred[q, i]) / maximum(s.count.group - ddof, 1))
    )
    square = s.prompt("group.square", Sum(i, r[q, i] * r[q, i]) / s.count.group - mean[q] * mean[q])
    moments = s.prompt("group.moments", sqrt(maximum(square[q], 0) * s.count.group / maximum(s.count.group - 1, 1)))
    own = s.along("group.own", (q, i, j))  # counts down to 0 at the response itself
    own[q, i, j.first - 1] = number(i)
    own[q, i, j] = own[q, i, j - 1] - 1
    away = _around_others(r, own, s)
    root = sqrt(Sum(j, away[q, i, j] * away[q, i, j]) / maximum(s.count.group - 2, 1))
    # Of two responses the other is one alone: that it has no spread is not left to rounding.
    of_others = s.table("group.std_of_others", where(less(2, s.count.group), root, 0))
    off = s.table("group.off_batch", r[q, i] - batch)
    batch_std = s.one(
        "group.batch_std", sqrt(Sum((q, i), off[q, i] * off[q, i]) / maximum(s.count.responses - ddof, 1))
    )
    residual = s.one(
        "group.residual_std", sqrt(Sum((q, i), centred[q, i] * centred[q, i]) / maximum(s.count.responses - 1, 1))
    )
    left_std, left_batch = _of_what_is_left(left, s)
    not_zero = s.table("group.not_zero", where(equal(r[q, i], 0), 0, 1))
    share = s.one("group.share_not_zero", maximum(Sum((q, i), not_zero[q, i]), 1) / s.count.responses)
    picked = s.pick(
        "group.spread", (q, i), "group.std", none=1, group=group_std[q], moments=moments[q], others=of_others[q, i],
        batch=batch_std, residual=residual, group_of_advantages=left_std[q], batch_of_advantages=left_batch, mean=mean[q],
        not_zero=share,
    )  # fmt: skip
    alone = s.pick(
        "group.spread_alone", (), "group.std", none=1, group=0, moments=0, others=0, batch=1, residual=0, group_of_advantages=0,
        batch_of_advantages=1, mean=0, not_zero=1,
    )  # fmt: skip
    return s.table("group.spread_used", where(less(1, many + alone), picked[q, i], 1))


def _around_others(r: Given, own: Row, s: Steps) -> Row:
    """Takes the others' rewards around their mean, (q, i, j), first less the largest of them: where all are equal, each is 0.

    Without that rounding would be left, and NeMo-RL, which divides wherever the deviation is not 0, would divide by it.
    """
    best = where(less(0, s.known("group.is_best")[q, i]), s.known("group.second")[q], s.known("group.best")[q])
    top = s.table("group.best_of_others", best)
    below = s.along("group.below", (q, i, j), where(equal(own[q, i, j], 0), 0, r[q, j] - top[q, i]))
    mean = s.table("group.below_mean", Sum(j, below[q, i, j]) / maximum(s.count.group - 1, 1))
    return s.along("group.away", (q, i, j), where(equal(own[q, i, j], 0), 0, below[q, i, j] - mean[q, i]))


def _of_what_is_left(x: Given, s: Steps) -> tuple[Row, Row]:
    """Takes the standard deviation of rewards less their baselines: of each group, and of the batch."""
    ddof = s.use.used["group.ddof"]
    mean = s.prompt("group.left_mean", Sum(i, x[q, i]) / s.count.group)
    centred = s.table("group.left_centred", x[q, i] - mean[q])
    each = s.prompt("group.left_std", sqrt(Sum(i, centred[q, i] * centred[q, i]) / maximum(s.count.group - ddof, 1)))
    whole = s.one("group.left_batch_mean", Sum(q, mean[q]) / s.count.prompts)
    off = s.table("group.left_off", x[q, i] - whole)
    return each, s.one(
        "group.left_batch_std", sqrt(Sum((q, i), off[q, i] * off[q, i]) / maximum(s.count.responses - ddof, 1))
    )


def _advantages(left: Given, spread: Given, s: Steps) -> Row:
    """Divides what is left of the rewards; over the responses of the batch they may be whitened (TRL's RLOO)."""
    divided = s.table("group.divided_by", spread[q, i] + s.use.used["group.eps"])
    zero = s.table("group.is_zero", equal(spread[q, i], 0))
    skipped = s.pick("group.skipped", (q, i), "group.zero_std", divide=0, skip=zero[q, i])
    plain = s.table("group.plain", maximum(s.use.switch["group.std"].says("none"), skipped[q, i]))
    scaled = s.table("group.scaled", where(less(0, plain[q, i]), left[q, i], left[q, i] / divided[q, i]))
    held = s.within("group.held", scaled, "reward.clip_low", "reward.clip_high", (lambda low: low, lambda high: high))
    late = s.pick("group.late", (q, i), "reward.clip_at", before=scaled[q, i], after=held[q, i])
    mean = s.one("group.advantage_mean", Sum((q, i), late[q, i]) / s.count.responses)
    off = s.table("group.advantage_off", late[q, i] - mean)
    std = s.one("group.advantage_std", sqrt(Sum((q, i), off[q, i] * off[q, i]) / maximum(s.count.responses - 1, 1)))
    white = s.table("group.whitened", off[q, i] / (std + s.use.used["advantage.whiten_eps"]))
    return s.pick(
        "group.advantage", (q, i), "advantage.whiten", none=late[q, i], tokens=late[q, i], responses=white[q, i]
    )


def _filtered(mean: Given, s: Steps) -> Row:
    """Is 1 on the responses that a filter leaves; a response that is alone has nothing to be equal to, and stays."""
    same = s.prompt("group.same", equal(s.known("group.tied")[q], s.count.group))
    s.one("group.share_same", Sum(q, same[q]) / s.count.prompts)
    differ = s.prompt("group.differ", maximum(1 - same[q], 1 - less(1, s.count.group)))
    between = s.prompt("group.between", minimum(less(0, mean[q]), less(mean[q], 1)))
    spread = s.table("group.has_spread", 1 - s.known("group.is_zero")[q, i])
    return s.pick(
        "group.left",
        (q, i),
        "group.filter",
        off=1,
        constant=differ[q],
        zero_spread=spread[q, i],
        mean_at_end=between[q],
    )
