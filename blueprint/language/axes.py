"""Axes: the directions along which a quantity has one number per member (rows, days, names …); and how the notation refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass


class NotationError(ValueError):
    """Something was written that the notation does not mean; the message names the line's right form."""


def require(holds: object, otherwise: str) -> None:
    """Raises NotationError, with a sentence, where something does not hold."""
    if not holds:
        raise NotationError(otherwise)


@dataclass(frozen=True, eq=False)
class Axis:
    """Names a direction; how many members it has is decided by the numbers, not here.

    letter:  how equations write it (`t`).
    meaning: what one member is (`day`).
    start:   the number of the first member, 1 for time and 0 for ids.
    size:    given only where the notation itself fixes it (the single member of a bias row).
    parts:   the axes that a joined axis runs through one after the other, see `join`.
    of:      the axis that this letter is a second name for, see `alias`.
    """

    letter: str
    meaning: str
    start: int = 0
    size: int | None = None
    parts: tuple[Axis, ...] = ()
    of: Axis | None = None

    @property
    def extent(self) -> Axis:
        """The axis whose members this letter runs over: itself, or what it is an alias of."""
        return self.of.extent if self.of else self

    @property
    def plural(self) -> str:
        """What several members are: `days`, `cities`, `stops of the tour`."""
        head, *rest = re.split("(?= (?:of|to|before|after) )", self.meaning, maxsplit=1)
        return "".join([re.sub("(?<![aeiou])y$", "ie", head), "s", *rest])

    @property
    def first(self) -> End:
        """The first member; `t.first - 1` is the edge before it."""
        return End(self, -1)

    @property
    def last(self) -> End:
        """The last member; `t.last + 1` is the edge after it."""
        return End(self, +1)

    def alias(self, letter: str) -> Axis:
        """Gives the same members a second letter, for equations that need two of them at once."""
        return Axis(letter, self.meaning, self.start, of=self.extent)

    def __add__(self, by: int) -> Position:
        if type(by) is not int or by not in (-1, 1):
            raise NotationError(
                f"{self} {by:+} is too far: only {self} - 1 and {self} + 1 can be read; make the farther one a step of its own"
            )
        return Position(self, by)

    def __sub__(self, by: int) -> Position:
        return self + -by

    def __str__(self) -> str:
        return self.letter


@dataclass(frozen=True)
class Position:
    """The member at hand (`t`), or its neighbour (`t - 1`, `t + 1`)."""

    axis: Axis
    by: int = 0

    def __str__(self) -> str:
        return self.axis.letter + {-1: " - 1", 0: "", 1: " + 1"}[self.by]


@dataclass(frozen=True)
class End:
    """The first (side −1) or last (side +1) member; only the edge beyond it can be written."""

    axis: Axis
    side: int

    def __add__(self, by: int) -> Edge:
        if by != self.side:
            letter = self.axis.letter
            raise NotationError(f"the only edges of {letter} are {letter}.first - 1 and {letter}.last + 1")
        return Edge(self.axis, self.side)

    def __sub__(self, by: int) -> Edge:
        return self + -by


@dataclass(frozen=True)
class Edge:
    """The one cell before the first (side −1) or after the last (side +1) member of an axis."""

    axis: Axis
    side: int

    def __str__(self) -> str:
        return f"{self.axis.letter}.first - 1" if self.side < 0 else f"{self.axis.letter}.last + 1"


def join(letter: str, meaning: str, *parts: Axis) -> Axis:
    """Makes one axis out of several, one after the other, so that `[x; h; 1]` can be one block.

    A block over the joined axis is defined part by part: `X[n, t, k] = …`, `X[n, t, j] = …`, `X[n, t, one] = 1`.
    """
    require(len(set(parts)) == len(parts), f"{letter} joins an axis to itself: give each part a letter of its own")
    return Axis(letter, meaning, parts=parts)


def check_size(axis: Axis, size: object) -> None:
    """Raises NotationError where an axis cannot have so many members."""
    require(
        type(size) is int and size >= 0,
        f"the axis {axis.letter} has the size {size}: it must be a whole number, 0 or more",
    )


def check_axes(name: str, axes: object) -> None:
    """Raises NotationError where a block cannot run along what it is given as its axes."""
    if not isinstance(axes, tuple) or not all(isinstance(axis, Axis) for axis in axes):
        raise NotationError(f"{name}: its axes are a tuple of letters, such as (n, t) or (t,), not {axes!r}")
    if len(set(axes)) < len(axes):
        raise NotationError(f"{name} runs along one axis twice: give the second a letter of its own, t.alias('u')")
