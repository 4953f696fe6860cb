"""What a cause comes to where the numbers of a file are others: two that come to the same there are one, spelled otherwise."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying.definitions import Kept
from blueprint.verifying.verdict import Otherwise

Moved = list[tuple[Any, Kept]]
"""A dump with other numbers, and what is kept of it; empty as long as nobody asked."""
OF_ONE_FILE = {"whole", "place", "stands", "parts", "factor"}
"""Ways that say something of one file: what they come to elsewhere says nothing of what they are."""
CONSTANT = 1e-9


def otherwise_by(
    made: Callable[..., Any], each: Any, name: str, asked: Collection[str], here: tuple[Any, Kept], there: Moved
) -> Otherwise | None:
    """Returns what a cause comes to where the numbers of a file are others; None for one of this file alone.

    made: computes a dump again, by what is kept of it, with a cause or as it is. asked: the quantities that count; of a number that
    is the same whatever the numbers are, it alone. there: the dump with other numbers, once it was made.
    """
    if (each.fitted and each.term is None) or each.ways.keys() & OF_ONE_FILE:
        return None
    if not there:
        there.append((moved(here[0]), Kept()))
        made(*there[0])
    of, own = ({**found.rows, **found.numbers} for found in (made(*there[0], each), made(*here, each)))
    of = {key: np.asarray(row) for key, row in of.items() if key in asked}
    if name not in of:
        return None
    numbers = np.concatenate([np.ravel(row.get(name, np.nan)) for row in (of, own)])
    constant = not np.isfinite(numbers).any() or bool(np.ptp(numbers) <= CONSTANT * (1 + np.abs(numbers[0])))
    return Otherwise({name: of[name]} if constant else of, constant)


def moved(dump: Any) -> Any:
    """Returns a dump of more rows, with other numbers, and texts that are shorter by a token here and there.

    Whatever is 0 or 1 throughout, or a whole number, stays.
    """
    drawn, found = np.random.default_rng(0), dict[str, Array]()
    times = max(1, -(-MOVED // max(map(len, dump.tensors.values()))))
    for name, row in dump.tensors.items():
        more = np.concatenate([row] * times)
        if name in NUMBERED:
            more = more + np.repeat(np.arange(times), len(row)) * (1 + row.max(initial=0))
        if more.dtype == np.bool_ and more.ndim > 1:  # a mask: the last of some rows is none
            behind = np.flip(np.cumsum(np.flip(more, 1), axis=1), 1)
            more = more & ~((behind == 1) & (more.sum(axis=1) > 1)[:, None] & (drawn.random((len(more), 1)) < HALF))
        elif more.dtype.kind == "f" and not np.isin(more, (0.0, 1.0)).all():
            apart = drawn.uniform(0.5, 1.5, more.shape)
            more = np.where(more == 0, -apart, more * apart)  # what was 0 outside of a mask is none there
        found[name] = more
    beside = {key: np.concatenate([getattr(dump, key)] * times) for key in OF_EACH_ROW if hasattr(dump, key)}
    return replace(dump, tensors=found, **beside)


MOVED, HALF = 256, 0.5
NUMBERED = ("group", "row_index")
"""Tensors that number the rows or what they belong to: those of each copy are others."""
OF_EACH_ROW = ("slots", "first", "at")
"""What dumps have of each of their rows that is no tensor."""
