"""The policy loss per word: ratio, clip on either side, dual clip, and which words count."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, at_most, is_off, maximum, where
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import Choices


class Filter(NamedTuple):
    """1 for each response that the policy loss counts (n), and on each of its words (a row)."""

    kept: Block
    counted: Block


class Guard(NamedTuple):
    """The mean ratio, the largest one that is let pass, and 1 while it is not above that."""

    mean_ratio: Block
    largest: Block
    keep: Block


def filtered(M: Block, by_word: Block, use: Choices) -> Filter:
    """Drops responses without an end word from the policy loss, where the conventions say so."""
    L = use.lead
    keep = use.each("loss.kept")
    counts = use.row("loss.counted")
    keep[*L, n] = where(use.switch["loss.sample_filter"].says("none"), 1, by_word[n])
    counts[*L, n, t] = M[*L, n, t] * keep[*L, n]
    return Filter(keep, counts)


def mean_ratio(ratio: Block, M: Block, use: Choices) -> Block:
    """Averages the ratio over what counts as response."""
    row = (*use.lead, n, t)
    mean = use.one("loss.mean_ratio")
    mean[use.lead] = Sum((n, t), M[row] * ratio[row]) / maximum(Sum((n, t), M[row]), 1)
    return mean


def guard(mean: Block, use: Choices) -> Guard:
    """Switches the losses off when the mean ratio is above a threshold; without one, every mean ratio passes."""
    L, most = use.lead, use.used["loss.ratio_threshold"]
    largest = use.one("loss.mean_ratio.largest")
    largest[L] = where(is_off(most), mean[L], most)
    keep = use.one("loss.keep")
    keep[L] = where(at_most(mean[L], largest[L]), 1, 0)
    return Guard(mean, largest, keep)
