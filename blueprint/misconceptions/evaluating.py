"""What a row comes to under a misconception, on the numbers at hand: made in the step alone, or throughout the row."""

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Protocol

import numpy as np

from blueprint.language import (
    Array,
    Block,
    Definition,
    Expr,
    NotationError,
    Step,
    Values,
    again,
    fill,
    filled_by,
    schedule,
)
from blueprint.language.trees import letters_of
from blueprint.language.vectorise import compiled
from blueprint.misconceptions.rewriting import Misconception


class Arrays(Mapping[str, Array]):
    """Rows by name, each made when it is read: without the cells at its edges, 0 where it is blank."""

    def __init__(self, names: Mapping[str, object], made: Callable[[str], Array]):
        self._names, self._made = names, made

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        return np.asarray(np.nan_to_num(self._made(name).astype(float)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Shown:
    """The rows by names in which {braces} stand for what they stood for in the row's own.

    meant: what the row has to show. bound: what the braces stand for.
    """

    def __init__(self, rows: Mapping[str, Array], meant: Array, bound: Mapping[str, str | None]):
        self._rows, self._within = rows, bound.get("within") or ""
        self.meant, self.bound = meant, bound

    def __contains__(self, row: str) -> bool:
        return self._called(row) in self._rows

    def __getitem__(self, row: str) -> Array:
        """Returns a row of the same repetition, if rows are repeated. Raises KeyError for one that is not there."""
        return self._rows[self._called(row)]

    def before(self, row: str, count: str) -> Array | None:
        """Returns a row as it is one repetition earlier, None in the first. count: the braces that count the repetitions."""
        names = fnmatch.filter(self._rows, row.format(**{**self.bound, count: "*"}))
        at = names.index(row.format(**self.bound))
        return self[names[at - 1]] if at else None

    def _called(self, row: str) -> str:
        name = row.format(**self.bound)
        return next((each for each in (f"{self._within}{name}", name) if each in self._rows), name)


Cells = Sequence[tuple[int, ...]]


class WrongRow(Protocol):
    """A row with a misconception in it.

    written: whether somebody wrote the sentence; the others follow from how the equation is built.
    """

    @property
    def name(self) -> str:
        """Short and stable."""

    @property
    def block(self) -> Block:
        """The row."""

    @property
    def says(self) -> str:
        """One sentence."""

    @property
    def written(self) -> bool:
        """Whether somebody wrote it."""

    def in_the_step(self, cells: Cells, values: Values) -> list[float]:
        """Returns what cells come to if each is computed wrongly, from what all others hold; NaN where that is no number."""

    def throughout(self, cells: Cells, values: Values) -> list[float] | None:
        """Returns what cells come to if the whole recursion is computed wrongly; None where the row is none, or cannot be."""


@dataclass(frozen=True, eq=False)
class Rewritten:
    """A row with another equation.

    instead: the wrong right-hand side of each of its equations that has one. circle: the blocks that need each other,
    this one among them, where the row is a recursion.
    """

    name: str
    says: str
    written: bool
    block: Block
    instead: Mapping[Definition, Expr]
    circle: tuple[Block, ...] = ()

    def in_the_step(self, cells: Cells, values: Values) -> list[float]:
        """Computes the wrong equation."""
        made: dict[Definition, Any] = {}
        with np.errstate(all="ignore"):
            return [self._cell(cell, values, made) for cell in cells]

    def _cell(self, cell: tuple[int, ...], values: Values, made: dict[Definition, Any]) -> float:
        filled = filled_by(self.block, cell, values)
        if filled is None:
            return float("nan")
        definition, members = filled
        frame = tuple(letters_of(definition.target))
        if definition not in made:
            wrong = compiled(self.instead.get(definition, definition.expr), frame, values)({})
            made[definition] = np.broadcast_to(wrong, tuple(map(values.size, frame)))
        return float(made[definition][tuple(members[axis] for axis in frame)])

    def throughout(self, cells: Cells, values: Values) -> list[float] | None:
        """Computes the wrong recursion."""
        if self._again is None:
            return None
        copy, steps = self._again
        made = Values(values.sizes, beyond=True)
        made.arrays = dict(values.arrays)
        fill(steps, made)
        return [float(made.cell(copy, *cell)) for cell in cells]

    @cached_property
    def _again(self) -> tuple[Block, tuple[Step, ...]] | None:
        if not self.circle:
            return None
        copies = again(self.circle, {}, equations=self.instead)
        try:
            return copies[self.block], schedule([copies[block] for block in self.circle])
        except NotationError:  # a cell would need itself
            return None


@dataclass(frozen=True, eq=False)
class Made:
    """A row that shows what is made of the other rows' numbers."""

    misconception: Misconception
    block: Block
    bound: Mapping[str, str | None]
    named: Mapping[str, Block]
    written: bool = True

    @property
    def name(self) -> str:
        """Short and stable."""
        return self.misconception.name

    @property
    def says(self) -> str:
        """One sentence."""
        return self.misconception.says

    def in_the_step(self, cells: Cells, values: Values) -> list[float]:
        """Makes the row of what all rows hold, and of what its own equation comes to."""
        assert self.misconception.made is not None
        places = [*product(*(range(values.size(axis)) for axis in self.block.axes))]
        right = Rewritten("", "", True, self.block, {}).in_the_step(places, values)
        meant = np.reshape(right, [values.size(axis) for axis in self.block.axes])
        rows = Arrays(self.named, lambda name: values[self.named[name]])
        with np.errstate(all="ignore"):
            wrong = np.broadcast_to(self.misconception.made(Shown(rows, meant, self.bound)), meant.shape)
        return [float(wrong[cell]) for cell in cells]

    def throughout(self, cells: Cells, values: Values) -> None:
        """Tells that it is made in the step alone."""
