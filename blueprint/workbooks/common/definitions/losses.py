"""The losses of each token (ratio, clip, value), which tokens count and with which weight, their means and the total.

A mean over words is a sum with weights; libraries differ in the weights alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blueprint.language import (
    Arithmetic,
    Block,
    Operand,
    Sum,
    at_most,
    exp,
    less,
    maximum,
    minimum,
    where,
)
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import Switch
from blueprint.workbooks.common.definitions.writing_rows import (
    EVERYWHERE,
    Choices,
    Row,
    Step,
    clamped,
    is_no_limit,
    limited,
    may_be_off,
    priced,
    rows,
    scaled,
)

L2, SMOOTH_L1 = "l2", "smooth_l1"
"""Norms of the value loss: the square; half of it up to 1, and beyond the size less ½."""


@dataclass(frozen=True)
class Surrogate:
    """Ratio times advantage, free and with the ratio clipped, and the worse of the two, all over the ratio's axes.

    lowest: the lowest ratio that counts, where that is a number of its own. pessimistic, floor: the worse of the two, and
    below what no bad word falls; without a dual clip there is no floor, and the worse of the two is what counts.
    """

    unclipped: Block
    lowest: Step
    clipped_ratio: Block
    clipped: Block
    pessimistic: Block
    floor: Block | None
    smaller: Block

    @property
    def steps(self) -> tuple[Block, ...]:
        """The steps that there are to the surrogate that counts, in order."""
        worse = (self.pessimistic, self.floor) if self.floor is not None else ()
        return rows(self.unclipped, self.lowest, self.clipped_ratio, self.clipped, *worse)


@dataclass(frozen=True)
class Clip(Surrogate):
    """The surrogate, and how the new policy compares with the old one on the word written, rows: log-ratio and ratio.

    Without a clamp the free log-ratio is the one that counts.
    """

    free_log_ratio: Block
    log_ratio: Block
    ratio: Block


def clip(logp_new: Block, logp_old: Block, A: Block, use: Choices, M: Row = EVERYWHERE) -> Clip:
    """Compares the policies on the word written, and clips the ratio, which is 1 outside the response.

    logp_new, logp_old: (n, t). A: a row. M: where the response is, unless the log-probs are 0 elsewhere.
    """
    n, t, row, clamp = use.n, use.t, use.at, use.used["loss.log_ratio_clamp"]
    free = use.step(not is_no_limit(clamp), "log_ratio.free", M[row] * (logp_new[n, t] - logp_old[n, t]))
    d = use.row("log_ratio", clamped(free.cell, clamp))
    ratio = use.row("ratio", exp(d[row]))
    clipped = surrogate(ratio, A, lowest_ratio(use), use)
    return Clip(**vars(clipped), free_log_ratio=d if free.row is None else free.row, log_ratio=d, ratio=ratio)


def lowest_ratio(use: Choices, name: str = "ratio.lowest") -> Step:
    """Takes the lowest ratio that counts: 1 − ε; where that clip is off 0, below which there is no ratio."""
    below = use.used["clip_range"]
    return use.step(may_be_off(below), name, limited(below, 0, lambda reach: 1 - reach), use.lead)


def surrogate(ratio: Block, A: Block, lowest: Step, use: Choices) -> Surrogate:
    """Clips the ratio, on either side of 1, and takes the worse outcome; with a dual clip never less than c·A for A < 0.

    ratio, A: over any axes, the same for both.
    """
    at, least, dual = ratio.axes, maximum(lowest.cell, ratio[ratio.axes]), use.used["loss.dual_clip"]
    near = limited(use.used["loss.clip_range_high"], least, lambda up: maximum(lowest.cell, minimum(1 + up, ratio[at])))
    free = use.along("surrogate.unclipped", at, ratio[at] * A[at])
    held_ratio = use.along("ratio.clipped", at, near)
    held = use.along("surrogate.clipped", at, held_ratio[at] * A[at])
    worse = use.step(not is_no_limit(dual), "surrogate.pessimistic", minimum(free[at], held[at]), at)
    if worse.row is None:
        smaller = use.along("surrogate", at, worse.cell)
        return Surrogate(free, lowest, held_ratio, held, smaller, None, smaller)
    floor = use.along("surrogate.floor", at, limited(dual, worse.cell, lambda c: c * minimum(A[at], 0)))
    smaller = use.along("surrogate", at, maximum(worse.cell, floor[at]))
    return Surrogate(free, lowest, held_ratio, held, worse.row, floor, smaller)


@dataclass(frozen=True)
class ValueLoss:
    """How far the new value is from the return, in the norm; the value held near the old one, and how far that is; the larger
    of the two; and the loss; rows.

    ways: every row that leads to the loss, in order.
    """

    square: Block
    held: Block
    held_square: Block
    larger: Step
    loss: Block
    ways: tuple[Block, ...]


def counted_values(M: Block, first_past: Block, use: Choices) -> Block:
    """Chooses which slots the value loss counts: the response, or one slot more. first_past: (n, t), 1 in that slot."""
    return use.row("value.counted", maximum(M[M.axes], at_most(1, use.used["value.tail"]) * first_past[use.n, use.t]))


def value_loss(
    V_new: Block, V_old: Block, R: Block, use: Choices, counts: Row = EVERYWHERE, m: Row = EVERYWHERE, norm: str = L2
) -> ValueLoss:
    """Measures how far the new value is from the return, free and held near the old value.

    V_new: (n, t); V_old, R: rows. Held by its ends, a value within the range stays itself to the last bit, so that no
    distance is larger by rounding. counts: where values count, unless they are 0 elsewhere. m: where the loss does.
    """
    row, V = use.at, V_new[use.n, use.t]
    near = limited(
        use.used["value_clip_range"], V, lambda reach: maximum(V_old[row] - reach, minimum(V_old[row] + reach, V))
    )
    error = use.row("value.error", counts[row] * (V - R[row]))
    free = _distance("value.square", "value.size", error, norm, use)
    held = use.row("value.clipped", near)
    held_error = use.row("value.error_clipped", counts[row] * (held[row] - R[row]))
    clipped = _distance("value.square_clipped", "value.size_clipped", held_error, norm, use)
    square, held_square = free[-1], clipped[-1]
    larger = use.step(not use.is_fixed("value.combine"), "value.larger", maximum(square[row], held_square[row]))
    either = use.switch["value.combine"].choose(max=larger.cell, clipped_only=held_square[row])
    loss = use.row("value.word_loss", scaled(use.used["value.factor"], m[row] * either))
    return ValueLoss(square, held, held_square, larger, loss, rows(error, *free, held, held_error, *clipped, larger))


def _distance(name: str, of_size: str, error: Block, norm: str, use: Choices) -> tuple[Block, ...]:
    """Takes an error in the norm; returns the steps, the distance last."""
    at, square = error.axes, error[error.axes] * error[error.axes]
    if norm == L2:
        return (use.row(name, square),)
    size = use.row(of_size, abs(error[at]))
    return size, use.row(name, where(less(size[at], 1), square / 2, (2 * size[at] - 1) / 2))


MODES = {"policy": "loss.aggregation", "value": "value.aggregation", "entropy": "loss.entropy_aggregation"}
"""The setting that says how words are averaged, for each of the losses; the others may follow that of the policy loss."""


class Totals(NamedTuple):
    """What is counted of a batch of which only a part stands here, typed: words and responses, words of each response (n)."""

    words: Block
    responses: Block
    length: Block


def filtered(M: Block, by_word: Block, use: Choices) -> tuple[Block, Block]:
    """Drops responses without an end word from the policy loss, where the conventions say so. by_word: (n), 1 for the others.

    Returns 1 for each response that the loss counts (n), and on each of its words (a row).
    """
    keep = use.each("loss.kept", where(use.switch["loss.sample_filter"].says("none"), 1, by_word[use.n]))
    return keep, use.row("loss.counted", M[M.axes] * keep[keep.axes])


def guard(mean: Block, use: Choices) -> tuple[Block, Block, Block]:
    """Switches the losses off when the mean ratio is above a threshold; without one, every mean ratio passes.

    Returns the mean ratio, the largest one that is let pass, and 1 while it is not above that.
    """
    limit = limited(use.used["loss.ratio_threshold"], mean[use.lead], lambda most: most)
    largest = use.one("loss.mean_ratio.largest", limit)
    return mean, largest, use.one("loss.keep", where(at_most(mean[use.lead], largest[use.lead]), 1, 0))


def weights(of: str, counted: Block, most: Block, use: Choices, whole: Totals | None = None) -> tuple[Block, ...]:
    """Weighs every word that is counted: Σ weight · x is the mean of x that the aggregation asks for.

    Returns the steps, the first of them the number of the mode where it is chosen, and the row of the weights last.

    of: the loss, "policy", "value" or "entropy". counted: a row. most: slots of the longest response. whole: what is
    counted, where that is of a larger batch.
    """
    L, n, each, row, name, eps = (
        use.lead,
        use.n,
        (*use.lead, use.n),
        counted.axes,
        f"{of}.weight",
        use.used["loss.agg_eps"],
    )
    switch, mode = _switch(of, use)
    length = whole.length if whole else use.each(f"{name}.length", Sum(use.t, counted[row]))
    wrote = use.each(f"{name}.wrote", less(0, length[each]))
    responses = use.one(f"{name}.rows", maximum(whole.responses if whole else Sum(n, wrote[each]), 1) + eps)
    modes = {
        "token-mean": use.one(
            f"{name}.token_mean", 1 / (maximum(whole.words if whole else Sum(n, length[each]), 1) + eps)
        ),
        "token-sum": use.one(f"{name}.token_sum", 1),
        "seq-mean-token-sum": use.one(f"{name}.seq_sum", 1 / responses[L]),
        "seq-mean-token-sum-norm": use.one(f"{name}.seq_norm", 1 / (responses[L] * most)),
    }
    words = maximum(length[each], 1) + use.used["loss.seq_eps"]
    of_words = use.each(f"{name}.seq_mean", wrote[each] / (responses[L] * words))
    picked = {word: mode[L] for word, mode in modes.items()} | {"seq-mean-token-mean": of_words[each]}
    chosen = use.each(f"{name}.chosen", switch.choose(**picked))
    own = () if length.typed else (length,)
    steps = (*own, wrote, responses, *modes.values(), of_words, chosen)
    return *rows(mode), *steps, use.row(f"{name}.row", counted[row] * chosen[each])


def _switch(of: str, use: Choices) -> tuple[Switch, Block | None]:
    """Returns what picks the mode of a loss: one that is "as-policy" has that of the policy loss, else the first mode."""
    loss, own = use.switch[MODES["policy"]], use.switch[MODES[of]]
    assert isinstance(loss, Switch)
    if own is loss:
        return loss, None
    number = use.one(f"{of}.mode", where(own.says("as-policy"), loss.number, loss.words.index("token-mean")))
    return Switch(loss.words, number[use.lead]), number


POLICY, BONUS, PRICED = "policy_loss", "entropy", "kl_loss"
"""Of these two more is better: the policy loss carries its minus itself, the entropy is subtracted from the total.
The KL to the reference is not read where its coefficient is 0: k3 may have no number."""


@dataclass(frozen=True)
class Average:
    """How a row is averaged: the sum of weight times row, divided by a number.

    rest: what words add that do not stand here. keep: 0 where a guard switches the loss off.
    """

    weight: Row = EVERYWHERE
    number: Operand = 1
    rest: Operand = 0
    keep: Arithmetic | int = 1


@dataclass(frozen=True)
class Part:
    """A part of the loss: the name of its mean, what is averaged and how, and by what the mean is multiplied in the total."""

    name: str
    x: Block
    average: Average
    coef: Arithmetic | int = 1


class Total(NamedTuple):
    """The means by name, what each after the policy loss adds to the total, the total, and the words' shares of it, rows.

    of_words: the shares by the weights that words have, where these differ from part to part.
    """

    means: dict[str, Block]
    adds: tuple[Block, ...]
    total: Block
    of_words: tuple[Block, ...]
    share: Block | None

    @property
    def parts(self) -> tuple[Block, ...]:
        """The numbers that add up to the total."""
        return self.means[POLICY], *self.adds


def total(parts: Sequence[Part], use: Choices, *, shared: bool = True) -> Total:
    """Averages the parts and adds them up; a part that is not there adds nothing. The policy loss comes first.

    shared: whether the total is split over the words.
    """
    means = {part.name: _mean(part, use) for part in parts}
    weighed = {part.name: _times(part, means[part.name][use.lead]) for part in parts}
    signed = [(name, -each if name == BONUS else each) for name, each in weighed.items()]
    adds = tuple(use.one(f"adds.{name}", each) for name, each in signed[1:])
    whole = use.one("total_loss", _added((name == BONUS, each) for name, each in weighed.items()))
    return Total(means, adds, whole, *(_shares(parts, use) if shared else ((), None)))


def _mean(part: Part, use: Choices) -> Block:
    by, x = part.average, part.x
    summed: Arithmetic = Sum((use.n, use.t), by.weight[use.at] * x[x.axes])
    mean = by.keep * (summed / by.number + by.rest)
    return use.one(part.name, -mean if part.name == POLICY else mean)


def _times(part: Part, x: Arithmetic) -> Arithmetic:
    """Multiplies what is x of a part by the part's coefficient."""
    return priced(part.coef, x) if part.name == PRICED else part.coef * x


def _added(terms: Iterable[tuple[bool, Arithmetic]]) -> Arithmetic:
    """Adds terms up, some with a minus; one without comes first, if there is one."""
    found = list(terms)
    minus, added = found.pop(next((place for place, (minus, _) in enumerate(found) if not minus), 0))
    added = -added if minus else added
    for minus, term in found:
        added = added - term if minus else added + term
    return added


def _shares(parts: Sequence[Part], use: Choices) -> tuple[tuple[Block, ...], Block]:
    """Splits the total over the words, by the same weights: those of one weight together, and their sum."""
    alike: dict[int, list[Part]] = {}
    for part in parts:
        alike.setdefault(id(part.average.weight), []).append(part)
    if len(alike) == 1:
        return (), use.row("share", _share(parts, use))
    made = tuple(
        use.row(f"share.{group[0].name.removesuffix('_loss')}", _share(group, use)) for group in alike.values()
    )
    return made, use.row("share", _added((False, each[use.at]) for each in made))


def _share(parts: Sequence[Part], use: Choices) -> Arithmetic:
    """Returns what a word adds by parts in which it has one weight."""
    by = parts[0].average
    terms = ((part.name in (POLICY, BONUS), _times(part, part.average.keep * part.x[part.x.axes])) for part in parts)
    return by.weight[use.at] * _added(terms) / by.number
