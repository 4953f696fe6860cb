"""Check that the parts of a numbers file belong to the same rows and columns, and freeze them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from blueprint.inputs.errors import check_count, counted, place, refusal
from blueprint.inputs.limits import LONGEST_TEXT

NEEDED: Any = ...
"""The default of a part that must be there."""


class Part(NamedTuple):
    """Say what a numbers file holds under one key.

    Attributes:
        key: as one would override it, such as `rollout.rewards`.
        entry: what one number or word of it may be; a kind of value of `entries`.
        axes: what it has an entry for, the outermost first; () for a single value.
        about: what a written file says beside it.
        default: what holds without it; None where something else decides, NEEDED if it may not be left out.
        example: what a written file shows where it is left out.
        otherwise: where its value comes from when it is left out, in a few words.
        noun: what one entry is called in a refusal.
        schema: more that an editor may know of it, as JSON Schema.
    """

    key: str
    entry: Any
    axes: tuple[str, ...]
    about: str
    default: Any = NEEDED
    example: Any = None
    otherwise: str = "default"
    noun: str = "number"
    schema: dict[str, Any] | None = None


def fitted(
    parts: Iterable[Part], given: Mapping[str, Any], limits: Mapping[str, tuple[int, int]], ragged: Iterable[str] = ()
) -> dict[str, Any]:
    """Return what is given as arrays of numbers, and as tuples of words and of rows of different lengths.

    The first part that has an axis says its size. limits: the least and the most of an axis. ragged: axes whose size
    differs from row to row.

    Raises:
        NumbersError: if a part has more or fewer entries than the first one of its axis, or these are too many.
    """
    shapes, found = _Shapes(limits, frozenset(ragged)), {}
    for part in parts:
        if part.key in given:
            shapes.check(part, given[part.key])
            found[part.key] = _frozen(part, given[part.key], shapes.ragged)
    return found


class _Shapes:
    """The sizes of axes, as they come to be known: each with the key that told it."""

    def __init__(self, limits: Mapping[str, tuple[int, int]], ragged: frozenset[str]) -> None:
        self._limits, self.ragged = limits, ragged
        self._known: dict[tuple[str, tuple[int, ...]], tuple[int, str]] = {}

    def check(self, part: Part, value: Any, at: tuple[int, ...] = ()) -> None:
        """Check the entries of a part that lie at one place of its outer axes, and all within them."""
        if len(at) == len(part.axes):
            return
        axis, where = part.axes[len(at)], place((part.key, *at), rows=True)
        own = (axis, at if axis in self.ragged else ())
        if own not in self._known:
            check_count(where, len(value), axis, *self._limits.get(axis, (1, LONGEST_TEXT)))
            self._known[own] = len(value), part.key
        expected, source = self._known[own]
        if len(value) != expected:
            inner = len(part.axes) - len(at) - 1
            noun = part.noun if not inner else "list" if at else "row"
            raise refusal(where, counted(len(value), noun), f"{expected}, one per {axis}, as {source} has")
        for number, each in enumerate(value):
            self.check(part, each, (*at, number))


def _frozen(part: Part, value: Any, ragged: frozenset[str]) -> Any:
    if not part.axes:
        return value
    tuples = part.noun != "number" or not ragged.isdisjoint(part.axes)
    return _as_tuples(value) if tuples else np.array(value)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value
