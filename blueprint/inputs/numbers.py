"""What a numbers file holds under each key, and what its numbers are once they are loaded: explicit, checked and frozen."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blueprint.inputs.errors import counted, place, refusal

Array = NDArray[np.float64]
Settings = dict[str, float | str]
Limits = Mapping[str, tuple[int, int]]

LONGEST = 500
"""The most entries along an axis for which a level says no other limit."""

ROWS = (1, 64)
"""The least and the most of what is laid out downwards: longer columns of one formula are unsafe, see `page`."""

NEEDED: Any = ...
"""The default of a part that must be there."""


class Part(NamedTuple):
    """What a numbers file holds under one key.

    Attributes:
        key: as one would override it, such as `rollout.rewards`.
        entry: what one number or word of it may be; a type of `entries`.
        axes: what it has an entry for, the outermost first; () for a single value.
        about: the comment in a written file.
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Numbers:
    """All numbers of a workbook.

    Attributes:
        kind, level: the kind of workbook, and the name of the level at which its numbers begin.
        name: that of the file or of the built-in set. title, about: the heading of the workbook, and a sentence below it.
        ppo: the settings the file gives, and only those; the rest is the preset's.
        parts: everything else that was given, by its key in the file, such as `rollout.rewards`: arrays of numbers, tuples of
            words and of rows of different lengths.
        gradients: whether every gradient of the loss stands below what it belongs to.
        drawn_anew: the built-in parts that no longer fitted the overrides, and were drawn from the seed instead.
        built_in: the name of the built-in set that they are, whatever file they come from; "" if they are none.
    """

    kind: str
    level: str
    name: str
    title: str
    about: str
    ppo: Settings = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    gradients: bool = False
    drawn_anew: tuple[str, ...] = ()
    built_in: str = ""

    @property
    def preset(self) -> str | None:
        """The name of the preset that a user chose, where there is a choice."""
        return self.parts.get("preset")

    @property
    def departures(self) -> list[str]:
        """What of them is not as the built-in set has it, a line each."""
        drawn = ", ".join(self.drawn_anew)
        return [f"drawn anew from the seed, because they no longer fit: {drawn}"] if drawn else []

    def __getitem__(self, key: str) -> Any:
        """Return a part by its key in the file."""
        return self.parts[key]


def fitted(
    parts: Iterable[Part],
    given: Mapping[str, Any],
    limits: Limits,
    ragged: Collection[str] = (),
    why: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return what is given as arrays of numbers, and as tuples of words and of rows of different lengths.

    The first part that has an axis fixes its size. limits: the least and the most of an axis. ragged: axes whose size
    differs from row to row. why: by axis, what a refusal says of its size besides.

    Raises:
        NumbersError: if a part has more or fewer entries than the first one of its axis, or these are too many.
    """
    sizes: dict[tuple[str, tuple[int, ...]], tuple[int, str]] = {}

    def check(part: Part, value: Any, at: tuple[int, ...] = ()) -> None:
        """Check the entries of a part that lie at one place of its outer axes, and all within them."""
        if len(at) == len(part.axes):
            return
        axis, where, found = part.axes[len(at)], place((part.key, *at), rows=True), len(value)
        (low, high), which = limits.get(axis, (1, LONGEST)), (axis, at if axis in ragged else ())
        if which not in sizes and not low <= found <= high:
            raise refusal(where, counted(found, axis), f"{low} to {high}")
        size, source = sizes.setdefault(which, (found, part.key))
        if found != size:
            noun = part.noun if len(at) == len(part.axes) - 1 else "list" if at else "row"
            because = f"; {why[axis]}" if axis in why else ""
            raise refusal(where, counted(found, noun), f"{size}, one per {axis}, as {source} has{because}")
        for number, each in enumerate(value):
            check(part, each, (*at, number))

    there = [part for part in parts if part.key in given]
    for part in there:
        check(part, given[part.key])
    return {part.key: _frozen(part, given[part.key], ragged) for part in there}


def check_one_more(parts: Mapping[str, Any], longer: str, shorter: str, why: str) -> None:
    """Check that each row of one part has an entry more than those of another. Raises NumbersError, which says why."""
    found, expected = len(parts[longer][0]), 1 + len(parts[shorter][0])
    if found != expected:
        raise refusal(
            f"{longer}, row 1", f"{found} tokens", f"{expected}, one more than {shorter} has positions; {why}"
        )


def _frozen(part: Part, value: Any, ragged: Collection[str]) -> Any:
    if not part.axes:
        return value
    return _as_tuples(value) if part.noun != "number" or set(part.axes) & set(ragged) else np.array(value)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value
