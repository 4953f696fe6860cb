"""From the score of each response to the advantage of each of its tokens: rewards, groups, advantages; and along what rows lie.

A reward that a rule gives: whether the answer is right, whether the response has its form, and what its length costs.
Sources: GRPO, 2402.03300, section 4.1 (a score for each response); DeepSeek-R1, 2501.12948, section 2.2.2 (accuracy and format);
the length penalty, score − 0.01·max(0, tokens − limit), is the textbook's.

Within a group: from the rewards of all responses to a prompt to the advantage of each; a row for each prompt, a column for each
of its responses.
Sources: GRPO, 2402.03300, section 4.1; RLOO, 2402.14740, eq. 4; Dr. GRPO, 2503.20783, section 3; OPO, 2505.23585; GPG, 2504.02546;
ReMax, 2310.10505; REINFORCE++, 2501.03262; the libraries' code, by version, in `conventions.toml`.

From the advantage of a response to that of each of its tokens.
Sources: GRPO, 2402.03300 (the same on every token); REINFORCE++, 2501.03262 (reward-to-go, whitened over tokens); ReMax,
2310.10505.
"""

from __future__ import annotations

from blueprint.language import (
    Axis,
    Block,
    Max,
    Operand,
    Sum,
    equal,
    exp,
    less,
    match,
    maximum,
    minimum,
    number,
    sqrt,
    where,
)
from blueprint.workbooks.common import (
    FIXED,
    Choices,
    Given,
    Lined,
    Ordered,
    Rows,
    Settings,
    labels,
    limited,
    n,
    named,
    t,
    v,
    with_weight,
)

q = Axis("q", "prompt", start=1)
i = Axis("i", "response to the prompt", start=1)
j = i.alias("j")
o = n.alias("o")

__all__ = ["FIXED", "LABELS", "Given", "Row", "Steps", "i", "j", "n", "o", "q", "t", "v"]


LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.grpo"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined


class Steps(Ordered):
    """Writes rows by their names, along tokens, responses, places of groups and prompts. What was written is `known` by its name.

    given: how many prompts there are, responses to each, and in all; and where responses stand: 1 where a place of a group,
    (q, i, o), or a column, (o, n), is that of the response o, else 0.
    """

    def __init__(self, use: Choices, given: Rows):
        super().__init__(use)
        self.prompts, self.group_size, self.responses = (
            given[f"count.{of}"] for of in ("prompts", "group", "responses")
        )
        self.places, self.columns = given["response.is"], given["response.same"]

    def row(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token."""
        return self.along(name, (n, t), value)

    def each(self, name: str, value: Operand) -> Row:
        """Writes a number for each response."""
        return self.along(name, (n,), value)

    def table(self, name: str, value: Operand) -> Row:
        """Writes a number for each response of each prompt."""
        return self.along(name, (q, i), value)

    def prompt(self, name: str, value: Operand) -> Row:
        """Writes a number for each prompt."""
        return self.along(name, (q,), value)

    def in_groups(self, name: str, of: Given) -> Row:
        """Lays a number of each response, (n), out by prompt and response, (q, i); on the way there it stands in a column."""
        down = self.along(f"{name}.column", (o,), Sum(n, self.columns[o, n] * of[n]))
        return self.table(name, Sum(o, self.places[q, i, o] * down[o]))

    def of_response(self, name: str, of: Given) -> Row:
        """Takes back to each response, (n), what stands at its place, (q, i)."""
        return self.each(name, Sum((q, i), of[q, i] * self.places[q, i, n]))


def answers(given: Rows) -> Rows:
    """Finds the answer of each response's prompt, as an id, (n). given: the answers (q), the vocabulary, and who stands where."""
    answer, vocabulary, is_ = given["answer"], given["vocabulary"], given["response.is"]
    ids = LABELS.along("answer.id", (q,), match(v, vocabulary[v], answer[q]))
    placed = LABELS.along("answer.placed", (q, i), ids[q])
    return named(ids, placed, LABELS.each("answer.of", Sum((q, i), placed[q, i] * is_[q, i, n])))


def rules(given: Rows, written: Block, m: Block, ends: Block, length: Block, chosen: Settings) -> Rows:
    """Scores each response, (n). written, m, ends: (n, t), the id of each token, the mask, and 1 where the text ends."""
    use, answer = chosen.used, given["answer.of"]
    hit = LABELS.row("rule.hit")
    hit[n, t.first - 1] = 0
    hit[n, t] = m[n, t] * equal(written[n, t], answer[n])
    last = LABELS.row("rule.last", hit[n, t - 1] * ends[n, t])
    anywhere, at_end = (
        LABELS.each(f"rule.right.{name}", Max(t, x[n, t])) for name, x in (("anywhere", hit), ("at_end", last))
    )
    right = LABELS.each("rule.right", chosen.switch["reward.answer"].choose(anywhere=anywhere[n], at_end=at_end[n]))
    form = LABELS.each("rule.form", 1 - given["truncated"][n])
    beyond = LABELS.each("rule.beyond", maximum(0, length[n] - use["reward.free_tokens"]))
    cost = LABELS.each("rule.cost", use["reward.token_cost"] * beyond[n])
    earned = LABELS.each("rule.earned", use["reward.right"] * right[n] + use["reward.form"] * form[n])
    return named(
        hit, last, anywhere, at_end, right, form, beyond, cost, earned, LABELS.each("score.rules", earned[n] - cost[n])
    )


def scores(given: Rows, chosen: Settings) -> Block:
    """Takes the score of each response, (n), from the rules, as typed, or from the reward model."""
    switch = chosen.switch["reward.from"]
    rows = {of: given[f"score.{of}"][n] for of in ("rules", "typed", "model")}
    return LABELS.each("score", switch.choose(**rows))


def same_prompt(given: Rows) -> tuple[Rows, Block]:
    """Adds up the tokens of each prompt, weighed by their places squared, so that another token or order gives another sum.

    Returns the rows on the way, (n, t), (o), (q, i), and how far that of each response is from the largest of its group.
    """
    ids, is_given, same, is_ = (given[name] for name in ("given_id", "is_given", "response.same", "response.is"))
    place = LABELS.row("prompt.place", number(t) * (ids[n, t] + is_given[n, t]) * number(t))
    total = LABELS.each("prompt.total", ids[n, t.first - 1] + Sum(t, place[n, t]))
    down = LABELS.along("prompt.column", (o,), Sum(n, same[o, n] * total[n]))
    groups = LABELS.along("prompt.group", (q, i), Sum(o, is_[q, i, o] * down[o]))
    largest = LABELS.along("prompt.largest", (q,), Max(i, groups[q, i]))
    apart = LABELS.along("prompt.apart", (q, i), largest[q] - groups[q, i])
    found = LABELS.each("check.same_prompt", Sum((q, i), apart[q, i] * is_[q, i, n]))
    return named(place, total, down, groups, largest, apart), found


def rewards(score: Given, length: Given, truncated: Given, logp_old: Given, logp_ref: Given, m: Given, s: Steps) -> Row:
    """Shapes the score of each response, (n), and takes the KL of its tokens, (n, t), off where it is paid there."""
    s.under("The reward of a response")
    shaped = _shaped(score, length, truncated, s)
    s.under("The KL to the reference, paid as reward")
    estimate = s.clamped("kl_old.used", kl_estimate("kl_old", logp_old, logp_ref, m, s), "kl.clamp_out")
    paid = s.row("kl_old.paid", s.use.used["kl.coef"] * estimate[n, t])
    summed = s.each("kl_old.sum", Sum(t, paid[n, t]))
    in_reward = s.pick("kl_old.in_reward", (), "kl.place", **paid_where(reward=1, reward_token=1))
    return s.each("reward", shaped[n] - with_weight(in_reward, summed[n]))


def _shaped(score: Given, length: Given, truncated: Given, s: Steps) -> Row:
    """Takes off what length costs (DAPO, 2503.14476, eq. 13), and what it costs not to come to an end."""
    number = s.use.used
    beyond = s.each(
        "overlong.beyond",
        (length[n] - (number["reward.max_tokens"] - number["reward.buffer"])) / number["reward.buffer"],
    )
    counts = s.pick("overlong.counts", (n,), "reward.overlong", off=0, linear=beyond[n], capped=minimum(1, beyond[n]))
    penalty = s.each("overlong.penalty", number["reward.overlong_factor"] * maximum(0, counts[n]))
    kept = s.each("reward.kept", score[n] - penalty[n])
    cut = s.each(
        "reward.cut", limited(number["reward.truncated"], kept[n], lambda c: maximum(c, 0) * kept[n] + minimum(c, 0))
    )
    ended = s.each("reward.ended", where(less(0, truncated[n]), cut[n], kept[n]))
    held = s.within("reward.held", ended, "reward.clip_low", "reward.clip_high", (lambda low: low, lambda high: high))
    return s.pick("reward.shaped", (n,), "reward.clip_at", before=held[n], after=ended[n])


def kl_estimate(name: str, logp: Given, logp_ref: Given, m: Given, s: Steps) -> Row:
    """Estimates the KL to the reference on each token, (n, t), before any clamp: Schulman, Approximating KL Divergence, 2020."""
    free = s.row(f"{name}.free", m[n, t] * (logp[n, t] - logp_ref[n, t]))
    k1 = s.clamped(f"{name}.k1", free, "kl.clamp_in")
    k2, k3 = s.row(f"{name}.k2", k1[n, t] * k1[n, t] / 2), s.row(f"{name}.k3", exp(-k1[n, t]) - 1 + k1[n, t])
    return s.pick(f"{name}.chosen", (n, t), "kl.estimator", k1=k1[n, t], k2=k2[n, t], k3=k3[n, t], abs=abs(k1[n, t]))


def paid_where(**places: int) -> dict[str, int]:
    """Lists the places where a KL may be paid: 1 at those that are named, else 0."""
    return {"none": 0, "loss": 0, "reward": 0, "reward_token": 0, "after": 0, "advantage": 0, **places}


def group(reward: Given, length: Given, greedy: Given, s: Steps) -> None:
    """Compares each response with the others to its prompt: `group.advantage`, and `group.left`, 1 on what is left, (q, i).

    reward, length: (n). greedy: (q).
    """
    s.under("The rewards of each group")
    r, lengths = s.in_groups("group.reward", reward), s.in_groups("group.length", length)
    s.under("What is subtracted: the baseline")
    many = s.pick("group.many", (), "group.of", prompt=s.group_size, row=1)
    mean, others, batch, baseline = _baselines(r, lengths, greedy, many, s)
    left = s.table("group.less_baseline", r[q, i] - baseline[q, i])
    s.under("What is divided by: the standard deviation")
    spread = _spread(r, mean, others, batch, left, many, s)
    s.under("The advantage of each response")
    _advantages(left, spread, s.known("group.apart"), s)
    s.under("Which responses are left")
    _filtered(mean, s)


def _baselines(r: Given, lengths: Given, greedy: Given, many: Given, s: Steps) -> tuple[Row, Row, Row, Row]:
    """Makes every baseline; of a response that is a group of its own one that compares within groups is 0.

    Returns the mean of the group, that of the others, that of the batch, and the baseline in use.
    """
    total = s.prompt("group.total", Sum(i, r[q, i]))
    mean = s.prompt("group.mean", total[q] / s.group_size)
    others = s.table("group.others", (total[q] - r[q, i]) / maximum(s.group_size - 1, 1))
    batch = s.one("group.batch_mean", Sum(q, mean[q]) / s.prompts)
    tokens = s.prompt("group.tokens", maximum(Sum(i, lengths[q, i]), 1))
    by_length = s.prompt("group.by_length", Sum(i, lengths[q, i] * r[q, i]) / tokens[q])
    best = s.prompt("group.best", Max(i, r[q, i]))
    is_best = s.table("group.is_best", equal(r[q, i], best[q]))
    # Where the best stood a number stands that no reward is below, so that the largest of these is the second best.
    rest = s.table("group.rest", where(less(0, is_best[q, i]), total[q] - (s.group_size - 1) * best[q], r[q, i]))
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
    same = s.prompt("group.same", equal(tied[q], s.group_size))
    apart = s.prompt("group.apart", maximum(1 - same[q], 1 - less(1, many)))
    # The mean of equal rewards is that reward, however its sum is rounded: else −1e-17 would be left of rewards of 0.1, which
    # has a sign, and is 0 in one spreadsheet and not in another.
    rounds = s.pick(
        "group.rounds", (q,), "group.baseline", mean=apart[q], others=apart[q], none=1, greedy=1, batch=1, length=1, second=1
    )  # fmt: skip
    exact = rounds[q] * picked[q, i] + (1 - rounds[q]) * r[q, i]
    return mean, others, batch, s.table("group.baseline_used", where(less(1, many + alone), exact, 0))


def _spread(r: Given, mean: Given, others: Given, batch: Given, left: Given, many: Given, s: Steps) -> Row:
    """Makes every number that rewards are divided by; of a group of one a spread within groups is 1.

    Each standard deviation is the root of a sum of squares over a count, less ddof: around the mean of the group, of the
    others or of the batch, of rewards or of what the baseline left of them.
    """
    ddof = s.use.used["group.ddof"]
    centred = s.table("group.centred", r[q, i] - mean[q])
    group_std = s.prompt(
        "group.deviation", sqrt(Sum(i, centred[q, i] * centred[q, i]) / maximum(s.group_size - ddof, 1))
    )
    square = s.prompt("group.square", Sum(i, r[q, i] * r[q, i]) / s.group_size - mean[q] * mean[q])
    moments = s.prompt("group.moments", sqrt(maximum(square[q], 0) * s.group_size / maximum(s.group_size - 1, 1)))
    own = s.along("group.own", (q, i, j))  # counts down to 0 at the response itself
    own[q, i, j.first - 1] = number(i)
    own[q, i, j] = own[q, i, j - 1] - 1
    away = _around_others(r, own, s)
    root = sqrt(Sum(j, away[q, i, j] * away[q, i, j]) / maximum(s.group_size - 2, 1))
    # Of two responses the other is one alone: that it has no spread is not left to rounding.
    of_others = s.table("group.std_of_others", where(less(2, s.group_size), root, 0))
    off = s.table("group.off_batch", r[q, i] - batch)
    batch_std = s.one("group.batch_std", sqrt(Sum((q, i), off[q, i] * off[q, i]) / maximum(s.responses - ddof, 1)))
    residual = s.one(
        "group.residual_std", sqrt(Sum((q, i), centred[q, i] * centred[q, i]) / maximum(s.responses - 1, 1))
    )
    left_std, left_batch = _of_what_is_left(left, s)
    not_zero = s.table("group.not_zero", where(equal(r[q, i], 0), 0, 1))
    share = s.one("group.share_not_zero", maximum(Sum((q, i), not_zero[q, i]), 1) / s.responses)
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
    mean = s.table("group.below_mean", Sum(j, below[q, i, j]) / maximum(s.group_size - 1, 1))
    return s.along("group.away", (q, i, j), where(equal(own[q, i, j], 0), 0, below[q, i, j] - mean[q, i]))


def _of_what_is_left(x: Given, s: Steps) -> tuple[Row, Row]:
    """Takes the standard deviation of rewards less their baselines: of each group, and of the batch."""
    ddof = s.use.used["group.ddof"]
    mean = s.prompt("group.left_mean", Sum(i, x[q, i]) / s.group_size)
    centred = s.table("group.left_centred", x[q, i] - mean[q])
    each = s.prompt("group.left_std", sqrt(Sum(i, centred[q, i] * centred[q, i]) / maximum(s.group_size - ddof, 1)))
    whole = s.one("group.left_batch_mean", Sum(q, mean[q]) / s.prompts)
    off = s.table("group.left_off", x[q, i] - whole)
    return each, s.one(
        "group.left_batch_std", sqrt(Sum((q, i), off[q, i] * off[q, i]) / maximum(s.responses - ddof, 1))
    )


def _advantages(left: Given, spread: Given, apart: Given, s: Steps) -> Row:
    """Divides what is left of the rewards; over the responses of the batch they may be whitened (TRL's RLOO).

    apart: 0 where all rewards of a group are equal: that its deviation is 0 is not left to the rounding of their mean.
    """
    varies = s.pick(
        "group.varies", (q,), "group.std", none=1, group=apart[q], moments=1, others=1, batch=1, residual=1,
        group_of_advantages=apart[q], batch_of_advantages=1, mean=1, not_zero=1,
    )  # fmt: skip
    divided = s.table("group.divided_by", spread[q, i] + s.use.used["group.eps"])
    zero = s.table("group.is_zero", equal(varies[q] * spread[q, i], 0))
    skipped = s.pick("group.skipped", (q, i), "group.zero_std", divide=0, skip=zero[q, i])
    plain = s.table("group.plain", maximum(s.use.switch["group.std"].says("none"), skipped[q, i]))
    scaled = s.table("group.scaled", where(less(0, plain[q, i]), left[q, i], left[q, i] / divided[q, i]))
    held = s.within("group.held", scaled, "reward.clip_low", "reward.clip_high", (lambda low: low, lambda high: high))
    late = s.pick("group.late", (q, i), "reward.clip_at", before=scaled[q, i], after=held[q, i])
    mean = s.one("group.advantage_mean", Sum((q, i), late[q, i]) / s.responses)
    off = s.table("group.advantage_off", late[q, i] - mean)
    std = s.one("group.advantage_std", sqrt(Sum((q, i), off[q, i] * off[q, i]) / maximum(s.responses - 1, 1)))
    white = s.table("group.whitened", off[q, i] / (std + s.use.used["advantage.whiten_eps"]))
    return s.pick(
        "group.advantage", (q, i), "advantage.whiten", none=late[q, i], tokens=late[q, i], responses=white[q, i]
    )


def _filtered(mean: Given, s: Steps) -> Row:
    """Is 1 on the responses that a filter leaves; a response that is alone has nothing to be equal to, and stays."""
    same = s.known("group.same")
    s.one("group.share_same", Sum(q, same[q]) / s.prompts)
    differ = s.prompt("group.differ", maximum(1 - same[q], 1 - less(1, s.group_size)))
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


def advantages(m: Given, s: Steps) -> Row:
    """Gives each token its part of what the group said of its response. m: (n, t), with an end cell."""
    s.under("The advantage of each token")
    gamma, paid = s.use.used["gamma"], s.known("kl_old.paid")
    A = s.of_response("advantage.response", s.known("group.advantage"))
    b = s.of_response("advantage.baseline", s.known("group.baseline_used"))
    last = s.row("advantage.last", m[n, t] * (1 - m[n, t + 1]))
    own = s.pick(
        "advantage.own",
        (n,),
        "advantage.credit",
        outcome=A[n],
        to_go=A[n],
        reward_to_go=s.known("reward.shaped")[n],
        discounted=A[n],
    )
    per_token = s.pick("advantage.kl_per_token", (), "kl.place", **paid_where(reward_token=1, after=1))
    placed = s.row("advantage.placed", last[n, t] * own[n] - with_weight(per_token, paid[n, t]))
    ahead = s.row("advantage.to_go")
    ahead[n, t.last + 1] = 0
    ahead[n, t] = m[n, t] * (placed[n, t] + gamma * ahead[n, t + 1])
    fading = s.row("advantage.fading")
    fading[n, t.last + 1] = 1
    fading[n, t] = where(equal(m[n, t], 1), gamma * fading[n, t + 1], 1)
    credit = s.pick(
        "advantage.credited", (n, t), "advantage.credit", outcome=A[n], to_go=ahead[n, t],
        reward_to_go=ahead[n, t] - b[n], discounted=A[n] * fading[n, t],
    )  # fmt: skip
    less_kl = s.pick("advantage.less_kl", (), "kl.place", **paid_where(advantage=1))
    return _whitened(s.row("advantage.token", m[n, t] * (credit[n, t] - with_weight(less_kl, paid[n, t]))), m, s)


def _whitened(A: Given, m: Given, s: Steps) -> Row:
    """Whitens the advantages over all tokens, where that is asked for; ε stands inside or outside of the root."""
    number, eps = s.use.used, s.use.used["advantage.whiten_eps"]
    N = s.one("advantage.count", Sum((n, t), m[n, t]))
    divided_by = s.one("advantage.divided_by", N + number["advantage.mean_eps"])
    mean = s.one("advantage.mean", Sum((n, t), m[n, t] * A[n, t]) / divided_by)
    centred = s.row("advantage.centred", m[n, t] * (A[n, t] - mean))
    bessel = s.one("advantage.bessel", N / maximum(N - number["advantage.whiten_ddof"], 1))
    variance = s.one("advantage.variance", Sum((n, t), centred[n, t] * centred[n, t]) / divided_by * bessel)
    divisor = s.pick(
        "advantage.divisor", (), "advantage.whiten_form", inside=sqrt(variance + eps), at_least=sqrt(maximum(variance, eps)),
        outside=sqrt(variance) + eps, centre=1,
    )  # fmt: skip
    white = s.row("advantage.whitened", centred[n, t] / divisor)
    return s.pick("advantages", (n, t), "advantage.whiten", none=A[n, t], responses=A[n, t], tokens=white[n, t])
