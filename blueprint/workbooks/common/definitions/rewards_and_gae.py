"""From scores to advantages: where things lie in a response, the reward of each token, whitening, and generalised advantage
estimation (GAE).

One recursion for all: over the words of a response; over slots, of which some may be holes; over the steps of an environment, in
which one episode may follow another.
"""

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

from blueprint.language import Arithmetic, Axis, Block, Max, Operand, Sum, at_most, block, equal, less, maximum, sqrt
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import Switch
from blueprint.workbooks.common.definitions.writing_rows import (
    EVERYWHERE,
    NOWHERE,
    ROWS,
    Choices,
    Row,
    clamped,
    defined,
    n,
    priced,
    t,
)
from blueprint.workbooks.common.labels import source_of


class Places(NamedTuple):
    """Rows (n, t) of 0 and 1: the last word, the two slots behind it, and the four places where a score may land."""

    until: Block
    last: Block
    first_past: Block
    second_past: Block
    end: Block
    one_past: Block
    two_past: Block


class Counted(NamedTuple):
    """Rows (n, t) of 0 and 1: what counts as response, and where values are kept."""

    response: Block
    kept: Block


def places(S: Block, m: Block, more: Block | None = None) -> Places:
    """Finds the last word of each response and the slots behind it; S has 1 in every slot, m in every response word.

    more: (n), 1 where words follow behind the last column, of which only a part of the response stands here.

    A place behind the last slot falls back on the last one: min(A, T − 1) and min(A + 1, T − 1) for A words in T slots.
    An empty response has its last word in front of the first slot, as TRL 1.12.0 counts it (`sequence_lengths` is −1), so
    that one past it is the first slot.
    """
    until, last, first, one = ROWS.rows("place.until", "place.last", "place.first_past", "place.one_past")
    until[n, t.last + 1] = 0 if more is None else more[n]
    until[n, t] = maximum(m[n, t], until[n, t + 1])
    last[n, t.first - 1] = 1 - Max(t, until[n, t])
    last[n, t] = m[n, t] * (1 - until[n, t + 1])
    first[n, t.first - 1] = 0
    first[n, t] = S[n, t] * last[n, t - 1]
    second = ROWS.row("place.second_past", S[n, t] * first[n, t - 1])
    end = ROWS.row("place.end", S[n, t] * (1 - S[n, t + 1]))
    one[n, t.first - 1] = 0
    one[n, t] = first[n, t] + last[n, t] * end[n, t]
    two = ROWS.row("place.two_past", S[n, t] * one[n, t - 1] + one[n, t] * end[n, t])
    return Places(until, last, first, second, end, one, two)


def counted(S: Block, m: Block, at: Places, use: Choices) -> Counted:
    """Chooses which slots count as response, and how many slots behind it keep their value and reward."""
    tail, mask = use.used["advantage.tail_slots"], use.switch["batch.response_mask"]
    behind = at_most(1, tail) * at.first_past[n, t] + at_most(2, tail) * at.second_past[n, t]
    M = use.row("response", mask.choose(non_pad=m[n, t], all=S[n, t]))
    return Counted(M, use.row("kept", maximum(M[use.at], behind)))


def ends_at(is_end: Block, ends: Block, a: Block, m: Block, *end_ids: Operand) -> None:
    """Defines where an end token is written, and where it ends a response: any of one or several, by their ids.

    All are rows (n, t). a: ids. m: 1 in every response word.
    """
    is_end[n, t] = reduce(maximum, (equal(a[n, t], each) for each in end_ids))
    ends[n, t] = m[n, t] * is_end[n, t]


class Counting(NamedTuple):
    """What is counted, and by what is divided: the mean by `number`, the variance by `free` and then times `bessel`.

    counted may hold weights that add up to 1; then nothing is divided. steps: rows on the way to these numbers.
    """

    counted: Row
    number: Operand
    free: Operand
    bessel: Operand = 1
    steps: tuple[Block, ...] = ()


class Spread(NamedTuple):
    """Mean, the row less it, and variance."""

    mean: Block
    centred: Block
    variance: Block


class Moments(NamedTuple):
    """Count, mean and variance of a batch of which only a part stands here; typed."""

    number: Block
    mean: Block
    variance: Block


class Statistics(NamedTuple):
    """What is counted, mean, the row less it, variance, and what is divided by.

    divisors: where there is a choice, the numbers by which libraries divide, and at the end the one in use.
    """

    counting: Counting
    mean: Block
    centred: Block
    variance: Block
    divisor: Operand
    divisors: tuple[Block, ...]


class Whitened(NamedTuple):
    """Statistics, the whitened row, the same with its mean put back, and the row in use; all rows."""

    of: Statistics
    whitened: Block
    shifted: Block | None
    used: Block


def averaged(made: Block, x: Block, over: Counting) -> Block:
    """Defines a mean of x, over every axis that the mean does not have."""
    return defined(made, Sum(_summed(x, made), over.counted[over.counted.axes] * x[x.axes]) / over.number)


def _summed(x: Block, made: Block) -> tuple[Axis, ...]:
    return tuple(axis for axis in x.axes if axis not in made.axes)


def mean(name: str, x: Block, over: Counting, use: Choices) -> Block:
    """Averages a row over the batch."""
    return averaged(use.one(name), x, over)


def count(name: str, counted: Block, use: Choices, eps: Operand = 0) -> Block:
    """Counts the cells of a row that are 1, at least one. eps: what is added to that."""
    made = use.one(name)
    return defined(made, maximum(Sum(_summed(counted, made), counted[counted.axes]), 1) + eps)


def spread(name: str, x: Block, over: Counting, use: Choices, known: tuple[Block, Block] | None = None) -> Spread:
    """Takes mean and variance of a row. name: what the names of blocks begin with. known: both, where they are typed."""
    row = use.at
    average = known[0] if known else mean(f"{name}.mean", x, over, use)
    centred = use.row(f"{name}.centred", over.counted[row] * (x[row] - average[use.lead]))
    if known:
        return Spread(average, centred, known[1])
    square = Sum((use.n, use.t), centred[row] * centred[row])
    return Spread(average, centred, use.one(f"{name}.variance", square / over.free * over.bessel))


def counting(name: str, mask: Row, S: Row, use: Choices, whole: Moments | None = None) -> Counting:
    """Counts a row over its mask or over all slots; a variance may be by N − ddof.

    whole: the moments, where they are those of a larger batch, which need no counts.
    """
    lead, row = use.lead, use.at
    counts = use.row(f"{name}.counted", use.switch["advantage.stats"].choose(mask=mask[row], all=S[use.n, use.t]))
    if whole is not None:
        return Counting(counts, whole.number, whole.number, steps=(counts,))
    N = use.one(f"{name}.count", Sum((use.n, use.t), counts[row]))
    enough = N[lead] + use.used["advantage.ddof_eps"]
    bessel = use.one(f"{name}.bessel", maximum(enough, 1) / maximum(enough - use.used["advantage.ddof"], 1))
    number = maximum(N[lead], 1) + use.used["advantage.mean_eps"]
    return Counting(counts, number, number, bessel[lead], (counts, N, bessel))


def statistics(name: str, x: Block, counts: Counting, use: Choices, whole: Moments | None = None) -> Statistics:
    """Takes mean and variance of a row. name: what the names of blocks begin with.

    whole: the moments, where they are those of a larger batch.
    """
    made = spread(name, x, counts, use, whole and whole[1:])
    return Statistics(counts, *made, *_divisor(name, made.variance, use))


def _divisor(name: str, var: Block, use: Choices) -> tuple[Operand, tuple[Block, ...]]:
    """Makes the numbers by which libraries divide, as far as there is a choice, and takes the one in use."""
    lead, eps, switch = use.lead, use.used["whiten_eps"], use.switch["advantage.eps_form"]
    forms = {
        "rsqrt_var_plus": sqrt(var[lead] + eps),
        "clamp": sqrt(maximum(var[lead], eps)),
        "std_plus": sqrt(var[lead]) + eps,
        "std_max": maximum(sqrt(var[lead]), eps),
    }
    if len(switch.words) == 1:
        return forms[switch.words[0]], ()
    roots = {word: use.one(f"{name}.{word}", forms[word]) for word in switch.words}
    divisor = use.one(f"{name}.divisor", switch.choose(**{word: root[lead] for word, root in roots.items()}))
    return divisor[lead], (*roots.values(), divisor)


def whitened_advantages(A: Block, of: Statistics, use: Choices, M: Row = EVERYWHERE) -> Whitened:
    """Shifts and scales the advantages; or only scales them, or leaves them. M: where the loss looks."""
    row, switch, shifted = use.at, use.switch["whiten_advantages"], None
    white = use.row("advantage.whitened", of.centred[row] / of.divisor)
    rows = {"on": white[row], "off": A[row]}
    if "keep_mean" in switch.words:
        shifted = use.row("advantage.shifted", white[row] + of.counting.counted[row] * of.mean[use.lead])
        rows["keep_mean"] = shifted[row]
    return Whitened(of, white, shifted, use.row("advantages_used", M[row] * switch.choose(**rows)))


class Score(NamedTuple):
    """The score of each response (n), corrected and clipped, and on the slot where it lands (n, t).

    ways: the steps to the corrected one, in order. steps: those from it to its slot, the clipped one among them.
    """

    ways: tuple[Block, ...]
    steps: tuple[Block, ...]
    clipped: Block
    placed: Block


class Paid(NamedTuple):
    """Where the KL is paid and by which coefficient, where these are chosen; and its price, a row."""

    support: Block | None
    coef: Block | None
    penalty: Block


class Rewards(NamedTuple):
    """The reward in use; before it, where rewards may be whitened, the raw one, and what becomes of it: its statistics, the
    whitened reward, and the same with its mean put back; rows."""

    raw: Block | None
    white: tuple[Statistics, Block, Block] | None
    used: Block


def score_of(m: Block, head: Block, name: str) -> Block:
    """Takes the reward model's number where the last word was *read* to the column that *wrote* it.

    A response that was cut is scored at its last word, like one that ended.
    """
    n, t = m.axes
    score = block(name, (n, t), "score", "reward model's score, on the last token", source=source_of("SCORE"))
    return defined(score, m[n, t] * (1 - m[n, t + 1]) * head[n, t + 1])


def ends(S: Block, until: Block, end_words: Block) -> tuple[Block, Block, Block]:
    """Tells for each response (n) its slots, whether the end word was written, and whether a slot was left over.

    until: (n, t), 1 up to the last word. end_words: (n, t), 1 where the response ends in the end word.
    """
    n, t = S.axes
    slots = defined(block("response.slots", (n,), "T_n", "positions of the response", decimals=0), Sum(t, S[n, t]))
    by_word = block("response.ended", (n,), "ended_n", "1 if it ended in the end token", decimals=0)
    by_pad = block("response.padded", (n,), "padded_n", "1 if a position was left over", decimals=0)
    return (
        slots,
        defined(by_word, less(0, Sum(t, end_words[n, t]))),
        defined(by_pad, less(Sum(t, S[n, t] * until[n, t]), slots[n])),
    )


def longest(slots: Block) -> Block:
    """Finds how many positions the longest response has, at least one. slots: those of each response."""
    most = block("response.most", (), "T_most", "positions of the longest response", decimals=0)
    return defined(most, maximum(Max(slots.axes[0], slots[slots.axes[0]]), 1))


def score(given: Block, length: Block, by_word: Block, by_pad: Block, at: Places, use: Choices) -> Score:
    """Corrects the score of each response (n), and puts it on one slot. length: tokens of the response (n)."""
    n, each, row, switch, penalty = use.n, (*use.lead, use.n), use.at, use.switch, use.used["reward.missing_eos_value"]
    slots = {"last": at.last, "end": at.end, "one_past": at.one_past, "two_past": at.two_past}
    beyond = use.each("score.beyond", maximum(length[n] - use.used["reward.free_tokens"], 0))
    short = use.each("score.shortened", given[n] - use.used["reward.length_penalty"] * beyond[each])
    ended = use.each("score.ended", switch["reward.missing_eos_test"].choose(token=by_word[n], has_padding=by_pad[n]))
    taken = use.each("score.subtracted", short[each] - (1 - ended[each]) * penalty)
    replaced = use.each("score.replaced", ended[each] * short[each] + (1 - ended[each]) * penalty)
    instead = switch["reward.missing_eos"].choose(off=short[each], subtract=taken[each], set=replaced[each])
    corrected = use.each("score.corrected", instead)
    held = use.each("score.clipped", clamped(corrected[each], use.used["reward.score_clip"]))
    landing = switch["reward.score_slot"].choose(**{word: slot[n, use.t] for word, slot in slots.items()})
    place = use.row("score.place", landing)
    placed = use.row("score.placed", place[row] * held[each])
    return Score((beyond, short, ended, taken, replaced), (corrected, held, place), held, placed)


def score_stays(kept: Block, made: Score, use: Choices) -> Block:
    """Measures for each response (n) how much of its score lands where nothing is kept."""
    n, t = kept.axes
    return use.each("check.score", abs(Sum(t, kept[n, t] * made.placed[n, t]) - made.clipped[n]))


def price(use: Choices, place: str) -> Operand:
    """Returns the coefficient of the KL in a place, the reward or the loss: 0 where it is paid in the other, or nowhere."""
    of, other = {"reward": ("kl_coef", "loss"), "loss": ("loss.kl_coef", "reward")}[place]
    kl_in = use.switch["reward.kl_in"]
    return (1 - kl_in.says(other) - kl_in.says("none")) * use.used[of]


def where_paid(M: Block, at: Places, use: Choices) -> Block:
    """Tells where the KL is paid: on the response, or in the slot behind it too."""
    first_pad = use.switch["reward.kl_at_first_pad"].says("on") * at.first_past[use.n, use.t]
    return use.row("kl.support", maximum(M[use.at], first_pad))


def penalised(kl: Block, use: Choices, paid_on: Row) -> Paid:
    """Prices the KL, where it is paid within the reward. kl: a row. paid_on: where it is paid."""
    row, coef = use.at, use.step(not use.is_fixed("reward.kl_in"), "kl_coef.reward", price(use, "reward"), use.lead)
    penalty = use.row("reward.penalty", -priced(coef.cell, paid_on[row] * kl[row]))
    return Paid(paid_on if isinstance(paid_on, Block) else None, coef.row, penalty)


def rewards(
    paid: Paid, placed: Operand, use: Choices, kept: Row = EVERYWHERE, S: Row = EVERYWHERE, whole: Moments | None = None
) -> Rewards:
    """Adds the score to the price of the KL; and whitens what comes of it, where there is a choice.

    placed: the cell of the score on its slot. kept, S: where a reward is kept, and all slots. whole: the moments, where
    they are those of a larger batch.
    """
    row, whiten = use.at, use.switch["reward.whiten"]
    raw = use.step(not use.is_fixed("reward.whiten"), "rewards.raw", paid.penalty[row] + placed)
    white = _whitened(raw.row, kept, S, use, whole) if raw.row is not None else None
    used = use.row("rewards", whiten.choose(off=raw.cell, on=white[-1][row] if white else raw.cell))
    return Rewards(raw.row, white, used)


def _whitened(raw: Block, kept: Row, S: Row, use: Choices, whole: Moments | None) -> tuple[Statistics, Block, Block]:
    """Scales the rewards and puts their mean back; what lies behind the response is set to 0, or left as it comes out."""
    row, zeroed = use.at, use.switch["reward.whiten_rezero"].says("on")
    of = statistics("reward", raw, counting("reward", kept, S, use, whole), use, whole)
    mean = of.mean[use.lead]
    white = use.row("reward.whitened", (raw[row] - mean) / of.divisor)
    shown = S[use.n, use.t] * maximum(kept[row], 1 - zeroed)
    return of, white, use.row("reward.shifted", shown * (white[row] + mean))


class Reach(NamedTuple):
    """How far back a later column is seen, all rows of 0 and 1.

    here: where the recursion runs. over: where it is passed over, as if the column were not there. stop: where the value of
    the next column is not looked at. done: where nothing of later columns reaches back.
    """

    here: Row = EVERYWHERE
    over: Row = NOWHERE
    stop: Row = NOWHERE
    done: Row = NOWHERE


class After(NamedTuple):
    """What enters behind the last column, where something follows there: the value looked at, and the advantage; (n)."""

    ahead: Block
    advantages: Block


class Gae(NamedTuple):
    """The reach, the values, the value that the column before looks at, TD errors δ, advantages A and returns R, all rows."""

    reach: Reach
    V: Block
    ahead: Block
    td_errors: Block
    advantages: Block
    returns: Block


def kept_values(made: Block, V: Block, kept: Block, end: Operand | None = 0) -> Block:
    """Keeps values where they count, so that none leaks in from behind the end of a response.

    A value is that of the state *before* the token. V: (n, t); kept: (n, t) or a row.
    end: the value behind the last column; 0: no bootstrap; None: there is no such column.
    """
    *lead, n, t = made.axes
    if end is not None:
        made[*lead, n, t.last + 1] = end
    return defined(made, kept[kept.axes] * V[n, t])


def holes(S: Block, kept: Block, use: Choices) -> Row:
    """Tells which slots are passed over; none, where a hole counts as 0."""
    carry = use.switch["advantage.gae_holes"]
    if not isinstance(carry, Switch):
        return NOWHERE
    return use.row("gae.over", S[use.n, use.t] * (1 - kept[use.at]) * carry.says("carry"))


def gae(r: Block, V: Block, reach: Reach, use: Choices, after: After | None = None) -> Gae:
    """Estimates advantages backward in time, and the returns, the targets of the critic.

    r: a row; V: a row with an end column, the value after the last one. A is the raw advantage: whitening comes after the
    returns. after: what enters behind the last column.
    """
    row, gamma = use.at, use.used["gamma"]
    ahead = _ahead(V, reach.over, use, after)
    delta = td_errors("td_errors", r, V, ahead, reach, use, gamma)
    begin = after.advantages[use.n] if after else 0
    A = discounted_sum(use.row("advantages"), delta, reach, use, gamma, use.used["gae_lambda"], begin)
    return Gae(reach, V, ahead, delta, A, use.row("returns", A[row] + V[row]))


def _ahead(V: Block, over: Row, use: Choices, after: After | None) -> Block:
    """Returns the value that the column before looks at: that of the next column, or of the one behind what is passed over."""
    if not isinstance(over, Block):
        return V
    lead, n, t, row, ahead = use.lead, use.n, use.t, use.at, use.row("gae.ahead")
    ahead[*lead, n, t.last + 1] = after.ahead[n] if after else 0
    ahead[row] = V[row] + over[row] * ahead[*lead, n, t + 1]
    return ahead


def td_errors(name: str, r: Block, V: Block, ahead: Block, reach: Reach, use: Choices, gamma: Arithmetic) -> Block:
    """Compares each value with the reward and the discounted value after it."""
    row, (here, over, stop, _) = use.at, reach
    later = gamma * (1 - stop[row]) * ahead[*use.lead, use.n, use.t + 1]
    return use.row(name, (here[use.n, use.t] - over[row]) * (r[row] + later - V[row]))


def discounted_sum(
    A: Block,
    delta: Block,
    reach: Reach,
    use: Choices,
    gamma: Arithmetic,
    lam: Arithmetic,
    begin: Operand = 0,
) -> Block:
    """Adds later TD errors, discounted by γ·λ from column to column; what is passed over discounts nothing.

    begin: what comes in behind the last column, where the recursion begins.
    """
    lead, n, t, row, (here, over, _, done) = use.lead, use.n, use.t, use.at, reach
    A[*lead, n, t.last + 1] = begin
    A[row] = delta[row] + ((here[n, t] - over[row]) * gamma * lam * (1 - done[row]) + over[row]) * A[*lead, n, t + 1]
    return A


def with_lambda(made: Gae, use: Choices) -> Callable[[Block, Block], Block]:
    """Returns the recursion over the same TD errors, to define a row with another λ."""
    return lambda A, lam: discounted_sum(A, made.td_errors, made.reach, use, use.used["gamma"], lam)
