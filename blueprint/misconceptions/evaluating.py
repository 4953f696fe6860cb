"""What a row comes to under a misconception, on the numbers at hand: made in the step alone, or throughout the row."""

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

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


@dataclass(frozen=True, eq=False)
class Rewritten:
    """A row with another equation.

    name: short and stable. says: one sentence. written: whether somebody wrote it; others follow from how the equation is built.
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
        """Computes the wrong recursion from end to end; None where the row is none, or a cell would need itself."""
        if not self.circle or self.anew is None:
            return None
        copy, steps = self.anew
        made = Values(values.sizes, beyond=True)
        made.arrays = dict(values.arrays)
        fill(steps, made)
        return [float(made.cell(copy, *cell)) for cell in cells]

    @cached_property
    def anew(self) -> tuple[Block, tuple[Step, ...]] | None:
        """A copy of the row with the wrong equation, and the steps that compute it; None where a cell would need itself."""
        circle = tuple(dict.fromkeys((*self.circle, self.block)))
        try:
            copies = again(circle, {}, equations=self.instead)
            return copies[self.block], schedule([copies[block] for block in circle])
        except NotationError:
            return None


@dataclass(frozen=True, eq=False)
class Made:
    """A row that shows what is made of the other rows' numbers; it is made in the step alone."""

    name: str
    says: str
    made: Callable[[Shown], Any]
    block: Block
    bound: Mapping[str, str | None]
    named: Mapping[str, Block]
    written: bool = True

    def in_the_step(self, cells: Cells, values: Values) -> list[float]:
        """Makes the row of what all rows hold, and of what its own equation comes to."""
        places = [*product(*(range(values.size(axis)) for axis in self.block.axes))]
        right = Rewritten("", "", True, self.block, {}).in_the_step(places, values)
        meant = np.reshape(right, [values.size(axis) for axis in self.block.axes])
        rows = Arrays(self.named, lambda name: values[self.named[name]])
        with np.errstate(all="ignore"):
            wrong = np.broadcast_to(self.made(Shown(rows, meant, self.bound)), meant.shape)
        return [float(wrong[cell]) for cell in cells]

    def throughout(self, cells: Cells, values: Values) -> None:
        """Says that it is no recursion."""


WrongRow = Rewritten | Made
"""A row with a misconception in it: what cells come to if each is computed wrongly from what all others hold (NaN where that is
no number), and throughout a recursion."""
