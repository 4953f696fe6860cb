"""Aggregation: a mean over words is a sum with weights; libraries differ in the weights alone."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum, less, maximum, where
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import Choices, Fixed
from blueprint.workbooks.common.settings import Switch


class Totals(NamedTuple):
    """What is counted of a batch of which only a part stands here, typed: words and responses, words of each response (n)."""

    words: Block
    responses: Block
    length: Block


class Weights(NamedTuple):
    """How the weight of a word comes about: counts, a weight per mode, the one in use (n), and the row (n, t)."""

    length: Block
    wrote: Block
    rows: Block
    modes: tuple[Block, ...]
    of_words: Block
    chosen: Block
    row: Block


def weights(
    name: str,
    of: str,
    told: str,
    counted: Block,
    most: Block,
    use: Choices,
    switch: Switch | Fixed,
    whole: Totals | None = None,
) -> Weights:
    """Weighs every word that is counted: Σ weight · x is the mean of x that the aggregation asks for.

    of: what their symbols end in. counted: a row. most: slots of the longest response. switch: picks the mode.
    whole: what is counted, where that is of a larger batch.
    """
    L, each, row = use.lead, (*use.lead, n), (*use.lead, n, t)
    length = whole.length if whole else _length(name, of, told, counted, use)
    wrote = use.each(f"{name}.wrote")
    rows = use.one(f"{name}.rows")
    wrote[each] = less(0, length[each])
    rows[L] = maximum(whole.responses if whole else Sum(n, wrote[each]), 1) + use.used["loss.agg_eps"]
    words = whole.words if whole else Sum(n, length[each])
    modes = _modes(name, of, told, words, rows, most, use)
    of_words = use.each(f"{name}.seq_mean")
    of_words[each] = wrote[each] / (rows[L] * (maximum(length[each], 1) + use.used["loss.seq_eps"]))
    chosen = use.each(f"{name}.chosen")
    picked = {word: mode[L] for word, mode in modes.items()} | {"seq-mean-token-mean": of_words[each]}
    chosen[each] = switch.choose(**picked)
    weight = use.row(f"{name}.row")
    weight[row] = counted[row] * chosen[each]
    return Weights(length, wrote, rows, tuple(modes.values()), of_words, chosen, weight)


def _modes(name: str, of: str, told: str, words: Operand, rows: Block, most: Block, use: Choices) -> dict[str, Block]:
    """Makes the weights that all words share, by the words of their modes."""
    L, eps = use.lead, use.used["loss.agg_eps"]
    forms: dict[str, tuple[str, Operand]] = {
        "token-mean": ("token_mean", 1 / (maximum(words, 1) + eps)),
        "token-sum": ("token_sum", 1),
        "seq-mean-token-sum": ("seq_sum", 1 / rows[L]),
        "seq-mean-token-sum-norm": ("seq_norm", 1 / (rows[L] * most)),
    }
    modes = {}
    for word, (last, form) in forms.items():
        modes[word] = use.one(f"{name}.{last}")
        modes[word][L] = form
    return modes


def _length(name: str, of: str, told: str, counted: Block, use: Choices) -> Block:
    """Counts the words of each response."""
    length = use.each(f"{name}.length")
    length[*use.lead, n] = Sum(t, counted[*use.lead, n, t])
    return length


def same_or_first(
    name: str, symbol: str, told: str, own: Switch | Fixed, loss: Switch | Fixed, use: Choices
) -> tuple[Switch, Block]:
    """Makes the switch that picks the loss's mode where its own word is the first one, "as-policy"; else the first mode."""
    assert isinstance(loss, Switch)
    number = use.one(f"{name}.mode")
    number[use.lead] = where(own.says("as-policy"), loss.number, loss.words.index("token-mean"))
    return Switch(loss.words, number[use.lead]), number
