"""Aggregation: which words a loss counts, and with which weight. A mean over words is a sum with weights; libraries differ
in the weights alone."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum, at_most, less, maximum, where
from blueprint.workbooks.common.definitions.choices import Choices, limited
from blueprint.workbooks.common.settings import Switch

MODES = {"policy": "loss.aggregation", "value": "value.aggregation", "entropy": "loss.entropy_aggregation"}
"""The setting that says how words are averaged, for each of the losses; the others may follow that of the policy loss."""
SHARED = {
    "token-mean": "token_mean",
    "token-sum": "token_sum",
    "seq-mean-token-sum": "seq_sum",
    "seq-mean-token-sum-norm": "seq_norm",
}
"""The modes in which every word has the same weight, and what the names of these weights end in."""


class Filter(NamedTuple):
    """1 for each response that the policy loss counts (n), and on each of its words (a row)."""

    kept: Block
    counted: Block


class Guard(NamedTuple):
    """The mean ratio, the largest one that is let pass, and 1 while it is not above that."""

    mean_ratio: Block
    largest: Block
    keep: Block


class Totals(NamedTuple):
    """What is counted of a batch of which only a part stands here, typed: words and responses, words of each response (n)."""

    words: Block
    responses: Block
    length: Block


class Weights(NamedTuple):
    """How the weight of a word comes about: the steps, among them the number of the mode where it is chosen, and the row."""

    mode: Block | None
    steps: tuple[Block, ...]
    row: Block


def filtered(M: Block, by_word: Block, use: Choices) -> Filter:
    """Drops responses without an end word from the policy loss, where the conventions say so. by_word: (n), 1 for the others."""
    keep, counts = use.each("loss.kept"), use.row("loss.counted")
    keep[keep.axes] = where(use.switch["loss.sample_filter"].says("none"), 1, by_word[use.n])
    counts[counts.axes] = M[counts.axes] * keep[keep.axes]
    return Filter(keep, counts)


def mean_ratio(ratio: Block, M: Block, use: Choices) -> Block:
    """Averages the ratio over what counts as response."""
    row, mean = ratio.axes, use.one("loss.mean_ratio")
    mean[use.lead] = Sum((use.n, use.t), M[row] * ratio[row]) / maximum(Sum((use.n, use.t), M[row]), 1)
    return mean


def guard(mean: Block, use: Choices) -> Guard:
    """Switches the losses off when the mean ratio is above a threshold; without one, every mean ratio passes."""
    L, (largest, keep) = use.lead, use.ones("loss.mean_ratio.largest", "loss.keep")
    largest[L] = limited(use.used["loss.ratio_threshold"], mean[L], lambda most: most)
    keep[L] = where(at_most(mean[L], largest[L]), 1, 0)
    return Guard(mean, largest, keep)


def weights(of: str, counted: Block, most: Block, use: Choices, whole: Totals | None = None) -> Weights:
    """Weighs every word that is counted: Σ weight · x is the mean of x that the aggregation asks for.

    of: the loss, "policy", "value" or "entropy". counted: a row. most: slots of the longest response. whole: what is
    counted, where that is of a larger batch.
    """
    L, n, each, row, name = use.lead, use.n, (*use.lead, use.n), counted.axes, f"{of}.weight"
    switch, mode = _switch(of, use)
    length = whole.length if whole else use.each(f"{name}.length")
    if whole is None:
        length[each] = Sum(use.t, counted[row])
    wrote, of_words, chosen = (use.each(f"{name}.{step}") for step in ("wrote", "seq_mean", "chosen"))
    responses, weight = use.one(f"{name}.rows"), use.row(f"{name}.row")
    wrote[each] = less(0, length[each])
    responses[L] = maximum(whole.responses if whole else Sum(n, wrote[each]), 1) + use.used["loss.agg_eps"]
    words = whole.words if whole else Sum(n, length[each])
    modes = _modes(name, words, responses, most, use)
    of_words[each] = wrote[each] / (responses[L] * (maximum(length[each], 1) + use.used["loss.seq_eps"]))
    picked = {word: mode[L] for word, mode in modes.items()} | {"seq-mean-token-mean": of_words[each]}
    chosen[each] = switch.choose(**picked)
    weight[row] = counted[row] * chosen[each]
    own = () if length.typed else (length,)
    return Weights(mode, (*own, wrote, responses, *modes.values(), of_words, chosen), weight)


def _switch(of: str, use: Choices) -> tuple[Switch, Block | None]:
    """Returns what picks the mode of a loss: one that is "as-policy" has that of the policy loss, else the first mode."""
    loss, own = use.switch[MODES["policy"]], use.switch[MODES[of]]
    assert isinstance(loss, Switch)
    if own is loss:
        return loss, None
    number = use.one(f"{of}.mode")
    number[use.lead] = where(own.says("as-policy"), loss.number, loss.words.index("token-mean"))
    return Switch(loss.words, number[use.lead]), number


def _modes(name: str, words: Operand, responses: Block, most: Block, use: Choices) -> dict[str, Block]:
    """Makes the weights that all words share, by the words of their modes."""
    L, eps = use.lead, use.used["loss.agg_eps"]
    forms: dict[str, Operand] = {
        "token-mean": 1 / (maximum(words, 1) + eps),
        "token-sum": 1,
        "seq-mean-token-sum": 1 / responses[L],
        "seq-mean-token-sum-norm": 1 / (responses[L] * most),
    }
    modes = {word: use.one(f"{name}.{last}") for word, last in SHARED.items()}
    for word, mode in modes.items():
        mode[L] = forms[word]
    return modes
