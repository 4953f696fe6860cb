"""Aggregation: which words a loss counts, and with which weight; the losses of the batch, their sum, and what each word adds to it.

A mean over words is a sum with weights; libraries differ in the weights alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blueprint.language import Arithmetic, Block, Operand, Sum, at_most, less, maximum, where
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, Choices, Row, limited, priced, rows
from blueprint.workbooks.common.settings import Switch

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
