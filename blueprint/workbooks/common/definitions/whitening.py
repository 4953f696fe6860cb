"""Means and variances of a row, over what is counted of it; and whitening: shifting and scaling a row by them, in the form that
the conventions say."""

from typing import NamedTuple

from blueprint.language import Axis, Block, Operand, Sum, maximum, sqrt
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, Choices, Row, defined


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
