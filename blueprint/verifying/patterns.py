"""What a difference before the first update is like: a column off, permuted rows, padded rows, a temperature, or noise."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.verifying.gap import Gap, rms

EXPLAINS, TWICE = 0.25, 0.5
"""What is left of a difference at most, if something explains it; and in other rows, if only some of them differ."""

MOST_ROWS, FEWEST_TOKENS = 128, 3
"""Rows among which permuted ones are looked for, and tokens in common below which two rows tell nothing."""

CERTAIN, STEEP = 6.0, 0.02
"""So many deviations of chance a slope must be away from 0, and so large it must be itself."""

FEWEST_ROWS, MOSTLY = 6, 0.5
"""Rows below which chance cannot be told, and what share of the squares a slope explains that is named all the same."""

MOST_LISTED = 6


class Pattern(NamedTuple):
    """What a difference is like, in words; and whether noise of a forward is never like that."""

    said: str
    telling: bool


def patterns(batch: Minibatch, gap: Gap, usual: float) -> tuple[Pattern, ...]:
    """Returns what a difference is like that is larger than usual; nothing if it is scattered evenly."""
    return tuple([*_shifted(gap), *_permuted(batch, gap)] or [*_some_rows(batch, gap, usual), *_sloped(batch, gap)])


def _shifted(gap: Gap) -> Iterator[Pattern]:
    """The new number of a token is the old one of its neighbour."""
    for by, whose in ((1, "after"), (-1, "before")):
        old = np.roll(gap.old, -by, axis=1)
        both = gap.tokens & np.roll(gap.tokens, -by, axis=1)
        both[:, -1 if by == 1 else 0] = False
        if both.sum() >= FEWEST_TOKENS and rms(((gap.new - old) / gap.unit)[both]) <= EXPLAINS * rms(gap.apart[both]):
            yield Pattern(f"it is the old number of the token {whose} it: one of the two tensors is a column off", True)


def _permuted(batch: Minibatch, gap: Gap) -> Iterator[Pattern]:
    """The new numbers of a row are the old ones of another."""
    old, new, tokens = (each[:MOST_ROWS] for each in (gap.old, gap.new, gap.tokens))
    if len(old) < 2:
        return
    costs = np.stack([_cost(one, mask, old, tokens, gap.unit) for one, mask in zip(new, tokens, strict=True)])
    best, own = costs.argmin(axis=1), np.diagonal(costs)
    moved = np.flatnonzero((best != np.arange(len(best))) & (costs.min(axis=1) <= EXPLAINS * own) & np.isfinite(own))
    if len(moved) > 1:
        listed = [
            f"row {batch.file_row(int(gap.rows[at]))} is the old row {batch.file_row(int(gap.rows[int(best[at])]))}"
            for at in moved[:3]
        ]
        yield Pattern(f"the rows are permuted: {', '.join(listed)}{' …' if len(moved) > 3 else ''}", True)


def _cost(one: Array, mask: Array, others: Array, tokens: Array, unit: float) -> Array:
    """Returns how far a row is from each of others, where both have tokens; infinity where they have too few in common."""
    both = tokens & mask
    apart = np.clip(np.abs(others - one) / unit, 0, 1) * both
    counts = both.sum(axis=1)
    return np.asarray(np.where(counts >= FEWEST_TOKENS, apart.sum(axis=1) / np.maximum(counts, 1), np.inf))


def _some_rows(batch: Minibatch, gap: Gap, usual: float) -> Iterator[Pattern]:
    """Only some rows differ; and those may be the ones whose prompts are padded."""
    sizes, there = gap.of_rows(), gap.tokens.any(axis=1)
    loud = sizes > usual
    if not loud.any() or loud[there].all() or sizes[~loud].max() > TWICE * sizes[loud].min():
        return
    rows = [str(batch.file_row(int(gap.rows[int(at)]))) for at in np.flatnonzero(loud)]
    listed = ", ".join(rows[:MOST_LISTED]) + (" …" if len(rows) > MOST_LISTED else "")
    padded = padded_rows(batch)
    if padded is not None and np.array_equal(padded[gap.rows][there], loud[there]):
        yield Pattern(
            f"only in rows with a padded prompt ({listed}): position ids, or an attention mask, that do not skip the pads",
            True,
        )
    else:
        yield Pattern(f"only in {len(rows)} of {int(there.sum())} rows ({listed})", False)


def padded_rows(batch: Minibatch) -> Array | None:
    """Returns which prompts begin with pads, [B]: the token that the most prompts begin with twice; None if that tells nothing."""
    prompts = batch.tensors.get("prompt_ids")
    if prompts is None or prompts.shape[1] < 2:
        return None
    found, counts = np.unique(prompts[prompts[:, 0] == prompts[:, 1], 0], return_counts=True)
    padded = prompts[:, 0] == found[counts.argmax()] if found.size else None
    return None if padded is None or padded.all() else np.asarray(padded)


def _sloped(batch: Minibatch, gap: Gap) -> Iterator[Pattern]:
    """Differences that grow with the log-prob, as a temperature makes them, or that do not scatter around 0."""
    if gap.name != "logprobs_new":
        return
    size = (gap.old + gap.new) / 2
    entropy = batch.tensors.get("entropy")
    if entropy is not None:  # d log p / d(1/T) is log p + H
        size = size + np.where(gap.tokens, np.nan_to_num(np.asarray(entropy[gap.rows], dtype=np.float64)), 0.0)
    slope, certain, share = _slope(gap, size, about_mean=entropy is None)
    if abs(slope) > STEEP and (certain or share > MOSTLY):
        logged = batch.hyperparameters.get("batch.temperature")
        known = (
            f"; the file says a temperature of {logged:g}" if isinstance(logged, float | int) and logged != 1 else ""
        )
        about = f"by the slope about {1 / (1 + slope):.2g}{known}" if slope > -1 else f"the slope is {slope:.2g}{known}"
        yield Pattern(f"it grows with the log-prob, as of a temperature that only one side has ({about})", certain)


def _slope(gap: Gap, size: Array, about_mean: bool) -> tuple[float, bool, float]:
    """Returns the slope of the differences over a size, whether it is more than chance, and what share of their squares it
    explains. Rows count as one draw each, since the tokens of a row share their noise."""
    apart = gap.apart
    if about_mean:
        size, apart = size - size[gap.tokens].mean(), apart - apart[gap.tokens].mean()
    x, y = np.where(gap.tokens, size, 0.0), np.where(gap.tokens, apart, 0.0)
    square = float((x**2).sum())
    if not square or not y.any():
        return 0.0, False, 0.0
    slope = float((x * y).sum()) / square
    left = y - slope * x
    error = float(np.sqrt((((x * left).sum(axis=1)) ** 2).sum())) / square
    return slope, len(x) >= FEWEST_ROWS and abs(slope) > CERTAIN * error, 1 - float((left**2).sum() / (y**2).sum())
