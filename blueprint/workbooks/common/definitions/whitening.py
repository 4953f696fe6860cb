"""Whitening: shifting and scaling a row, by the statistics and in the form that the conventions say."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum, maximum, sqrt
from blueprint.workbooks.common.definitions.averages import Counting, spread
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, Choices, Row


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


def counting(name: str, mask: Row, S: Row, use: Choices, whole: Moments | None = None) -> Counting:
    """Counts a row over its mask or over all slots; a variance may be by N − ddof.

    whole: the moments, where they are those of a larger batch, which need no counts.
    """
    lead, row = use.lead, (*use.lead, use.n, use.t)
    counts = use.row(f"{name}.counted")
    counts[row] = use.switch["advantage.stats"].choose(mask=mask[row], all=S[use.n, use.t])
    if whole is not None:
        return Counting(counts, whole.number, whole.number, steps=(counts,))
    N = use.one(f"{name}.count")
    bessel = use.one(f"{name}.bessel")
    N[lead] = Sum((use.n, use.t), counts[row])
    enough = N[lead] + use.used["advantage.ddof_eps"]
    bessel[lead] = maximum(enough, 1) / maximum(enough - use.used["advantage.ddof"], 1)
    number = maximum(N[lead], 1) + use.used["advantage.mean_eps"]
    return Counting(counts, number, number, bessel[lead], (counts, N, bessel))


def statistics(name: str, x: Block, counts: Counting, use: Choices, whole: Moments | None = None) -> Statistics:
    """Takes mean and variance of a row. name: what the names of blocks begin with.

    whole: the moments, where they are those of a larger batch.
    """
    known = (whole.mean, whole.variance) if whole else None
    made = spread(name, x, counts, use, known)
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
    roots = {}
    for word in switch.words:
        roots[word] = use.one(f"{name}.{word}")
        roots[word][lead] = forms[word]
    divisor = use.one(f"{name}.divisor")
    divisor[lead] = switch.choose(**{word: root[lead] for word, root in roots.items()})
    return divisor[lead], (*roots.values(), divisor)


def whitened_advantages(A: Block, of: Statistics, use: Choices, M: Row = EVERYWHERE) -> Whitened:
    """Shifts and scales the advantages; or only scales them, or leaves them. M: where the loss looks."""
    lead, row, switch = use.lead, (*use.lead, use.n, use.t), use.switch["whiten_advantages"]
    white = use.row("advantage.whitened")
    used = use.row("advantages_used")
    white[row] = of.centred[row] / of.divisor
    rows, shifted = {"on": white[row], "off": A[row]}, None
    if "keep_mean" in switch.words:
        shifted = use.row("advantage.shifted")
        shifted[row] = white[row] + of.counting.counted[row] * of.mean[lead]
        rows["keep_mean"] = shifted[row]
    used[row] = M[row] * switch.choose(**rows)
    return Whitened(of, white, shifted, used)
