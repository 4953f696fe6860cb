"""The losses of the batch, their sum, and what each word adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blueprint.language import Arithmetic, Block, Operand, Sum
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, Choices, Row

POLICY, BONUS = "policy_loss", "entropy"
"""Of these two more is better: the policy loss carries its minus itself, the entropy is subtracted from the total."""


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
    L = use.lead
    means = {part.name: _mean(part, use) for part in parts}
    weighed = {part.name: part.coef * means[part.name][L] for part in parts}
    adds = use.ones(*(f"adds.{part.name}" for part in parts[1:]))
    for part, made in zip(parts[1:], adds, strict=True):
        made[L] = -weighed[part.name] if part.name == BONUS else weighed[part.name]
    added = use.one("total_loss")
    added[L] = _added((name == BONUS, each) for name, each in weighed.items())
    return Total(means, adds, added, *(_shares(parts, use) if shared else ((), None)))


def _mean(part: Part, use: Choices) -> Block:
    made, by, x = use.one(part.name), part.average, part.x
    summed: Arithmetic = Sum((use.n, use.t), by.weight[(*use.lead, use.n, use.t)] * x[x.axes])
    mean = by.keep * (summed / by.number + by.rest)
    made[use.lead] = -mean if part.name == POLICY else mean
    return made


def _added(terms: Iterable[tuple[bool, Arithmetic]]) -> Arithmetic:
    """Adds terms up, some with a minus; one without comes first, if there is one."""
    found = list(terms)
    first = next((place for place, (minus, _) in enumerate(found) if not minus), 0)
    minus, whole = found.pop(first)
    added = -whole if minus else whole
    for minus, term in found:
        added = added - term if minus else added + term
    return added


def _shares(parts: Sequence[Part], use: Choices) -> tuple[tuple[Block, ...], Block]:
    """Splits the total over the words, by the same weights: those of one weight together, and their sum."""
    row, share = (*use.lead, use.n, use.t), use.row("share")
    alike: dict[int, list[Part]] = {}
    for part in parts:
        alike.setdefault(id(part.average.weight), []).append(part)
    if len(alike) == 1:
        share[row] = _share(parts, use)
        return (), share
    made = use.rows(*(f"share.{group[0].name.removesuffix('_loss')}" for group in alike.values()))
    for each, group in zip(made, alike.values(), strict=True):
        each[row] = _share(group, use)
    share[row] = _added((False, each[row]) for each in made)
    return made, share


def _share(parts: Sequence[Part], use: Choices) -> Arithmetic:
    """Returns what a word adds by parts in which it has one weight."""
    by = parts[0].average
    terms = ((part.name in (POLICY, BONUS), part.coef * part.average.keep * part.x[part.x.axes]) for part in parts)
    return by.weight[(*use.lead, use.n, use.t)] * _added(terms) / by.number
