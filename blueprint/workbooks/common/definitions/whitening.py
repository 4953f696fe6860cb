"""Whitening: shifting and scaling a row, by the statistics and in the form that the conventions say."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum, maximum, sqrt
from blueprint.workbooks.common.conventions import sources
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, Choices, Row


class Counting(NamedTuple):
    """What is counted, and by what is divided: the mean by `number`, the variance by `free` and then times `bessel`.

    steps: rows on the way to these numbers.
    """

    counted: Row
    number: Operand
    free: Operand
    bessel: Operand = 1
    steps: tuple[Block, ...] = ()


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


def counting(name: str, of: str, mask: Row, S: Row, use: Choices, whole: Moments | None = None) -> Counting:
    """Counts a row over its mask or over all slots; a variance may be by N − ddof.

    whole: the moments, where they are those of a larger batch, which need no counts.
    """
    lead, row = use.lead, (*use.lead, use.n, use.t)
    counts = use.row(f"{name}.counted", f"m{of}", f"1 on {name}s that are counted", decimals=0)
    counts[row] = use.switch["advantage.stats"].choose(mask=mask[row], all=S[use.n, use.t])
    if whole is not None:
        return Counting(counts, whole.number, whole.number, steps=(counts,))
    N = use.one(f"{name}.count", f"N{of}", f"{name}s counted", decimals=0)
    bessel = use.one(f"{name}.bessel", f"bessel{of}", f"N/(N − ddof), of the {name}s", unit="≥ 1")
    N[lead] = Sum((use.n, use.t), counts[row])
    enough = N[lead] + use.used["advantage.ddof_eps"]
    bessel[lead] = maximum(enough, 1) / maximum(enough - use.used["advantage.ddof"], 1)
    number = maximum(N[lead], 1) + use.used["advantage.mean_eps"]
    return Counting(counts, number, number, bessel[lead], (counts, N, bessel))


def statistics(
    name: str, of: str, x: Block, counts: Counting, use: Choices, whole: Moments | None = None
) -> Statistics:
    """Takes mean and variance of a row. name, of: what blocks begin and symbols end with.

    whole: the moments, where they are those of a larger batch.
    """
    lead, row = use.lead, (*use.lead, use.n, use.t)
    centred = use.row(f"{name}.centred", f"{x.symbol.partition('_')[0]}_c", f"{name} less the mean")
    if whole is None:
        mean = use.one(f"{name}.mean", f"μ{of}", f"mean of the {name}s")
        var = use.one(f"{name}.variance", f"σ²{of}", f"variance of the {name}s", unit="≥ 0", source=sources.WHITEN)
        mean[lead] = Sum((use.n, use.t), counts.counted[row] * x[row]) / counts.number
        var[lead] = Sum((use.n, use.t), centred[row] * centred[row]) / counts.free * counts.bessel
    else:
        mean, var = whole.mean, whole.variance
    centred[row] = counts.counted[row] * (x[row] - mean[lead])
    return Statistics(counts, mean, centred, var, *_divisor(name, of, var, use))


def _divisor(name: str, of: str, var: Block, use: Choices) -> tuple[Operand, tuple[Block, ...]]:
    """Makes the numbers by which libraries divide, as far as there is a choice, and takes the one in use."""
    lead, eps, switch = use.lead, use.used["whiten_eps"], use.switch["advantage.eps_form"]
    forms = {
        "rsqrt_var_plus": ("rsqrt", "√(σ² + ε_w)", sqrt(var[lead] + eps)),
        "clamp": ("clamp", "√max(σ², ε_w)", sqrt(maximum(var[lead], eps))),
        "std_plus": ("plus", "√σ² + ε_w", sqrt(var[lead]) + eps),
        "std_max": ("max", "max(√σ², ε_w)", maximum(sqrt(var[lead]), eps)),
    }
    if len(switch.words) == 1:
        return forms[switch.words[0]][2], ()
    roots = {}
    for word in switch.words:
        symbol, how, form = forms[word]
        roots[word] = use.one(f"{name}.{word}", f"σ_{symbol}{of}", f"divisor of {name}s: {how}")
        roots[word][lead] = form
    divisor = use.one(f"{name}.divisor", f"σ{of}", f"divisor of {name}s, the one in use", source=sources.WHITEN)
    divisor[lead] = switch.choose(**{word: root[lead] for word, root in roots.items()})
    return divisor[lead], (*roots.values(), divisor)


def whitened_advantages(A: Block, of: Statistics, use: Choices, M: Row = EVERYWHERE) -> Whitened:
    """Shifts and scales the advantages; or only scales them, or leaves them. M: where the loss looks."""
    lead, row, switch = use.lead, (*use.lead, use.n, use.t), use.switch["whiten_advantages"]
    white = use.row("advantage.whitened", "Â", "whitened advantage", source=sources.WHITEN)
    used = use.row("advantages_used", "Â_used", "advantage used by the loss")
    white[row] = of.centred[row] / of.divisor
    rows, shifted = {"on": white[row], "off": A[row]}, None
    if "keep_mean" in switch.words:
        shifted = use.row("advantage.shifted", "Â_s", "whitened advantage, mean put back", source=sources.WHITEN)
        shifted[row] = white[row] + of.counting.counted[row] * of.mean[lead]
        rows["keep_mean"] = shifted[row]
    used[row] = M[row] * switch.choose(**rows)
    return Whitened(of, white, shifted, used)
