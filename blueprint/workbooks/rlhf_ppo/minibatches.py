"""Minibatches of whole responses: an epoch takes the responses in a typed order, and each of its steps looks at as many.

What a token is (ratio, surrogate, value error) it is in every step; only what losses count of it is that of the minibatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add
from typing import NamedTuple

from blueprint.language import Block, Sum, at_most, less, maximum, typed
from blueprint.page.outline import Row, Section, key, minor
from blueprint.workbooks.common import ROWS, Choices, Counted, Rows, Signal, Whitened, n, rows, t, whitened
from blueprint.workbooks.rlhf_ppo.inputs.result import MINIBATCH, Update

TAKEN = "minibatch"
"""The row of a step that says which responses are in its minibatch."""
Steps = dict[str, Block]
"""The number of each step, 2.1 for the first one of epoch 2, and 1 on each response of its minibatch (n)."""


class Minibatch(NamedTuple):
    """What the first step sees: which responses (n), which of their tokens (n, t), and how many these are.

    whiten: whether it whitens the advantages anew.
    """

    taken: Block
    mask: Block
    words: Block
    whiten: bool

    @property
    def rows(self) -> dict[str, Block]:
        """The rows by the names by which losses and metrics know them."""
        return {each.name: each for each in (self.taken, self.mask, self.words)}


def places_of(update: Update) -> dict[Block, int | list[int]]:
    """Makes how many responses a minibatch has, and for every epoch the place at which it takes each of them (n).

    Returns what is typed there; nothing where one minibatch holds all responses.
    """
    if not update.order:
        return {}
    meaning = "responses of each minibatch; fixed by the number of minibatches"
    size = typed(f"{TAKEN}.size", (), "size", meaning, unit="responses", decimals=0)
    made: dict[Block, int | list[int]] = {size: _size(update)}
    for epoch, order in enumerate(update.order, start=1):
        meaning = f"at which place epoch {epoch} takes the response"
        row = typed(f"{TAKEN}.place{epoch}", (n,), f"place{epoch}", meaning, unit="1 … number of responses", decimals=0)
        made[row] = [1 + order.index(response) for response in sorted(order)]
    return made


def ranges_of(places: Mapping[Block, int | list[int]]) -> dict[str, tuple[float, float]]:
    """Returns what may be typed there: another place, but no other size, since the steps have their sheets."""
    return {row.name: (found, found) if isinstance(found, int) else (1, len(found)) for row, found in places.items()}


def _size(update: Update) -> int:
    return len(update.order[0]) // update.minibatches


def steps_of(update: Update, places: Iterable[Block]) -> Steps:
    """Makes 1 on each response of a minibatch: those of the first places, of the next ones, and so on. None: no steps."""
    numbers = [(epoch, step) for epoch in range(1, len(update.order) + 1) for step in range(1, update.minibatches + 1)]
    names = [TAKEN, *(f"epoch{epoch}.{step}.{TAKEN}" for epoch, step in numbers[1:])]
    rows = list(places)
    return {
        f"{epoch}.{step}": _taken(name, rows[epoch], step, rows[0])
        for name, (epoch, step) in zip(names, numbers, strict=False)
    }


def _taken(name: str, place: Block, step: int, size: Block) -> Block:
    inside = less(reduce(add, [size] * (step - 1)), place[n]) if step > 1 else 1
    made = ROWS.each(TAKEN, inside * at_most(place[n], reduce(add, [size] * step)))
    made.name = name
    return made


def first(update: Update, steps: Steps, mask: Block) -> Minibatch | None:
    """Makes what the first step sees, if there are minibatches. mask: 1 on each token of a response."""
    if not steps:
        return None
    here = next(iter(steps.values()))
    tokens = ROWS.row(f"{TAKEN}.mask", mask[n, t] * here[n])
    words = ROWS.one(f"{TAKEN}.words", maximum(Sum((n, t), tokens[n, t]), 1))
    return Minibatch(here, tokens, words, update.whiten == MINIBATCH)


def places_differ(size: Block, steps: Steps) -> Block:
    """Measures whether every minibatch has as many responses as it must, so that no two have the same place."""
    return ROWS.one("check.order", reduce(add, (abs(Sum(n, row[n]) - size) for row in steps.values())))


def of_step(
    given: Rows, made: Signal, step: Minibatch | None, use: Choices
) -> tuple[dict[str, Block], tuple[Section, ...]]:
    """Returns what a loss reads besides or instead of `given`, and the sections that show it; nothing without minibatches.

    Where conventions choose what counts, they choose among the response positions of the minibatch.
    """
    if step is None:
        return {}, ()
    chosen = {
        name: use.row(f"{TAKEN}.{name}", given[name][use.at] * step.taken[use.n])
        for name in ("response", "slots")
        if name in given
    }
    own = step.rows | {row.name: row for row in chosen.values()}
    section = Section("The minibatch: the responses that this step counts", tuple(own.values()))
    if not step.whiten:
        return own, (section,)
    mask, counted = chosen.get("response", step.mask), {"response.words": step.words, **chosen}
    white = whitened(made.estimates.advantages, counted, Counted(mask, mask), chosen.get("slots", mask), use)
    anew = Section("Whitening of the advantages, over the minibatch", _shown(white))
    return own | {"advantages_used": white.used}, (section, anew)


def _shown(white: Whitened) -> tuple[Row, ...]:
    of = white.of
    steps = rows(*of.counting.steps, of.mean, of.centred, of.variance, *of.divisors, white.whitened, white.shifted)
    return (*map(minor, steps), key(white.used))
