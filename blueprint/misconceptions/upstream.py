"""What a row comes to when a mistake is made further up, and everything between is computed from it.

A mistake is an array: the numbers that a row shows by it. It is put in place of the row's own, and the rows between are
computed again. What is compiled for that is kept, so that a whole class is gone through quickly.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from blueprint.language import (
    Array,
    Axis,
    Block,
    Constant,
    Expr,
    NotationError,
    Ref,
    Step,
    Values,
    again,
    fill,
    in_order,
    schedule,
    walk,
)
from blueprint.language.making import reading
from blueprint.misconceptions.evaluating import Cells, Rewritten, WrongRow
from blueprint.misconceptions.relatives import ALTERNATIVES, DISCOUNTED, Relatives, discounted, in_other_units, to_go
from blueprint.misconceptions.rewriting import everywhere, is_setting, put

FARTHEST, NEAREST = 4, 1
"""Steps up to which a mistake is looked for; that a row only repeats another, or sums it, is no step. Up to the nearest one every
mistake that follows from an equation, farther up those that somebody wrote down, and a row that is taken for another."""
MOST_BETWEEN = 36
"""Rows that are computed again for a mistake further up; more are a whole rollout."""
SETTINGS = 4
"""Settings nearest to a row that may be exchanged with each other throughout, or left out."""
FEW = 6
"""Cells of a row of which one alone may be taken for their mean."""
CHOICE = "choice-"
"""How the names of mistakes begin in which another alternative is taken."""
INSTEAD = "instead-"
"""How the names of mistakes begin in which a row is taken for another."""
Arrays = Mapping[Block, Array]
Made = Callable[["Bench"], Mapping[Block, Array] | None]
"""The arrays that rows show by a mistake; None where there are none."""


class Bench:
    """Computes rows of one workbook again and again, on the numbers of one student after the other."""

    def __init__(self, sizes: Mapping[Axis, int]):
        self._values = Values(sizes, beyond=True)
        self._compiled: dict[object, object] = {}
        self.base: Values = self._values

    def take(self, values: Values) -> None:
        """Takes a student's numbers."""
        self.base = values
        self._values.arrays = dict(values.arrays)

    def computed(self, steps: tuple[Step, ...], wrong: Arrays, wanted: Block) -> Array:
        """Computes some rows anew while others show something else, and returns one of them; nothing is left of it."""
        arrays, base, anew = self._values.arrays, self.base.arrays, [*in_order(steps)]
        try:
            for block in anew:
                arrays.pop(block, None)
            arrays.update(wrong)
            fill(steps, self._values, self._compiled)
            return arrays[wanted]
        finally:
            for block in (*anew, *wrong):
                if block in base:
                    arrays[block] = base[block]
                else:
                    arrays.pop(block, None)


@dataclass(frozen=True, eq=False)
class Upstream:
    """A row under a mistake that was made further up.

    far: how far: 0 for what is next to the row's own step. made: what the rows with the mistake show.
    steps: how the rows between are computed, this one among them. row: where it is one that somebody wrote down, that row
    with it.
    """

    name: str
    says: str
    block: Block
    far: int
    made: Made
    steps: tuple[Step, ...] = ()
    row: WrongRow | None = None

    @property
    def written(self) -> bool:
        """Whether somebody wrote it down."""
        return self.row is not None

    def numbers(self, cells: Cells, bench: Bench) -> list[float] | None:
        """Returns what cells come to."""
        wrong = self.made(bench)
        if wrong is None:
            return None
        found = bench.computed(self.steps, wrong, self.block) if self.steps else wrong[self.block]
        before = [bench.base.before(self.block, axis) for axis in self.block.axes]
        return [float(found[tuple(place + b for place, b in zip(cell, before, strict=True))]) for cell in cells]


class _Mistake(NamedTuple):
    """A mistake in one row: name, sentence, what is shown; whether it is made in all its twins; and if somebody wrote it."""

    name: str
    says: str
    made: Made
    together: bool = False
    row: WrongRow | None = None


class Beyond:
    """The mistakes that can be made further up than in a row's own equation; made once for all variants of a workbook."""

    def __init__(self, relatives: Relatives, wrong: Callable[[Block], Sequence[WrongRow]]):
        self.relatives, self._wrong = relatives, wrong
        self.bench = Bench(relatives.blueprint.sizes)
        self._known: dict[Block, tuple[Upstream, ...]] = {}

    def of(self, block: Block) -> tuple[Upstream, ...]:
        """Returns the mistakes further up that reach a row, the nearest first."""
        if block not in self._known:
            self._known[block] = tuple(sorted(self._found(block), key=lambda each: each.far))
        return self._known[block]

    def _found(self, block: Block) -> Iterator[Upstream]:
        yield from self._own(block)
        kin = self.relatives
        near = {
            each: far
            for each, far in kin.near(block, FARTHEST).items()
            if not each.link and (far <= NEAREST or not kin.is_count(each)) and (far < FARTHEST or kin.namesakes(each))
        }
        for each, far in near.items():
            if is_setting(each) or (each.axes != block.axes and self.relatives.is_transposed(each, near)):
                continue
            twins = self.relatives.twins(each, near)
            paths = self._steps([each], block), self._steps([each, *twins], block)
            for name, says, made, together, row in self._mistakes(each, far, twins):
                if steps := paths[together]:
                    yield Upstream(name, says, block, max(far, 1), made, steps, row)
        yield from self._settings(block)

    def _own(self, block: Block) -> Iterator[Upstream]:
        """Yields what the row itself shows if another row, or another unit, stands there."""
        kin = self.relatives
        for other in kin.apart(block, [*kin.alike(block), *kin.made_of(block, 2), *kin.makes(block)]):
            one, two = self._told_apart(other, block)
            says = f"This is {one}, not {two}."
            yield Upstream(f"{INSTEAD}{other.name}", says, block, 0, _shows(block, other))
        for name, says, change in (*in_other_units(block, kin), *along_axes(block)):
            yield Upstream(name, says, block, 0, _changed(block, change))
        for row in (*self._of_namesakes(block), *stopped(block)):
            yield Upstream(row.name, row.says, block, 0, _by_equation(row))
        for other in kin.few_cells(block, FEW):
            for place in range(kin.numbers(other).size):
                says = f"This is {told(other)} of one {other.axes[0].meaning} alone."
                yield Upstream(f"one-{other.name}", says, block, 0, _one_cell(block, other, place))
        if block.axes:
            for other in kin.made_of(block, 2):
                says = f"This is the sum of {told(other)} from here on."
                yield Upstream(f"rest-of-{other.name}", says, block, 0, _to_go(block, other))
            for other, by in discounted(block, kin, FARTHEST):
                says = f"This is the sum of {told(other)} from here on, discounted by {by.symbol}."
                name = f"{DISCOUNTED}{other.name}"
                yield Upstream(name, says, block, 0, _to_go(block, other, by))

    def _of_namesakes(self, block: Block) -> Iterator[Rewritten]:
        """Yields the equation with another model's row read in one of the places where a row is read."""
        for definition in block.definitions:
            refs = [node for node in walk(definition.expr) if isinstance(node, Ref)]
            for ref in refs:
                if sum(each.block is ref.block for each in refs) < 2:
                    continue
                for other in self.relatives.namesakes(self.relatives.origin(ref.block)):
                    stands = self.relatives.with_edges(other, ref.block)
                    if stands is not None:
                        says = f"{told(other)} is read in one place where {told(ref.block)} should be."
                        expr = put(definition.expr, ref, Ref(stands, ref.at))
                        yield Rewritten(f"{INSTEAD}{other.name}", says, False, block, {definition: expr})

    def _steps(self, above: Sequence[Block], block: Block) -> tuple[Step, ...]:
        """Returns how the rows between some rows and one are computed; nothing where these are too many, or a whole model."""
        shown = set(above)
        path = [each for each in self.relatives.between(above, block) if each not in shown]
        through_a_model = any(len(each.axes) >= ALTERNATIVES > len(block.axes) for each in path)
        if through_a_model or len(path) > MOST_BETWEEN:
            return ()
        try:
            return schedule(path)
        except NotationError:
            return ()

    def _mistakes(self, block: Block, far: int, twins: list[Block]) -> Iterator["_Mistake"]:
        """Yields the mistakes in a row further up."""
        where = f"In {told(block)}: "
        everywhere = f"In {', '.join(each.symbol for each in (block, *twins))}: "
        own, at_twins = self._wrong(block), [self._wrong(twin) for twin in twins]
        for i, row in enumerate(own):
            near = far <= NEAREST or row.written or row.name.startswith(CHOICE)
            if not near or not isinstance(row, Rewritten):
                continue
            written = row if row.written else None
            yield _Mistake(row.name, f"{where}{row.says}", _by_equation(row), row=written)
            alike = [each[i] for each in at_twins] if all(len(each) == len(own) for each in at_twins) else []
            if rows := [each for each in alike if isinstance(each, Rewritten)]:
                together = _all([_by_equation(each) for each in (row, *rows)])
                yield _Mistake(row.name, f"{everywhere}{row.says}", together, together=True, row=written)
        kin = self.relatives
        if kin.is_count(block):
            yield from (_Mistake(name, f"{where}{says}", _changed(block, change)) for name, says, change in ends(block))
            return
        others = [*kin.alike(block), *kin.made_of(block), *kin.makes(block)] if far < FARTHEST else kin.namesakes(block)
        for other in kin.apart(block, others):
            one, two = self._told_apart(other, block)
            says = f"{one} stands where {two} should."
            yield _Mistake(f"{INSTEAD}{other.name}", says, _shows(block, other))
            pairs = [(twin, kin.counterpart(other, block, twin)) for twin in twins]
            if pairs and all(each is not None for _, each in pairs):
                shown = [_shows(block, other), *(_shows(twin, each) for twin, each in pairs if each is not None)]
                yield _Mistake(f"{INSTEAD}{other.name}", f"{says[:-1]}, and so on.", _all(shown), together=True)
        if far <= NEAREST:
            for name, says, change in (*in_other_units(block, kin), *along_axes(block)):
                yield _Mistake(name, f"{where}{says}", _changed(block, change))

    def _told_apart(self, one: Block, other: Block) -> tuple[str, str]:
        """Names two rows; if they are called the same, by their sheets, too."""
        if told(one) != told(other):
            return told(one), told(other)
        return tuple(f"{told(each)} of {self.relatives.sheet(each)}" for each in (one, other))  # type: ignore[return-value]

    def _settings(self, block: Block) -> Iterator[Upstream]:
        """Yields what a row comes to with two settings exchanged in every equation, or one of them left out of all."""
        near = self.relatives.near(block, 2)
        read = [each for each in near if is_setting(each) and not each.limit][:SETTINGS]
        for i, one in enumerate(read):
            mistakes: list[tuple[str, str, Callable[..., Made], list[Block]]]
            mistakes = [(f"left-out-{one.name}", f"{told(one)} is left out throughout.", _ones, [one])]
            for other in read[:i]:
                both, name = f"{told(one)} and {told(other)} are", f"{one.name}-{other.name}"
                mistakes.append((f"swapped-{name}", f"{both} exchanged throughout.", _turned, [one, other]))
                mistakes.append((f"left-out-{name}", f"{both} left out throughout.", _ones, [one, other]))
            for name, says, made, settings in mistakes:
                if steps := self._steps(settings, block):
                    far = max(1, *(near[each] for each in settings))
                    yield Upstream(name, says, block, far, made(*settings), steps)


def told(block: Block) -> str:
    """Names a row: its symbol, and what it is."""
    meaning = block.about.meaning
    return f"{block.symbol} ({meaning})" if meaning and not meaning.startswith(("the same", "its ")) else block.symbol


def _filled(block: Block, numbers: Callable[[Values], Array]) -> Made:
    """Shows other numbers, made of all values, in the cells of a row; its edges stay as they are."""

    def made(bench: Bench) -> Arrays | None:
        array = bench.base.arrays[block].copy()
        with np.errstate(all="ignore"):
            array[_inner(bench.base, block)] = numbers(bench.base)
        return {block: array}

    return made


def _shows(block: Block, other: Block) -> Made:
    return _filled(block, lambda values: values[other])


def _changed(block: Block, change: Callable[[Array], Array]) -> Made:
    return _filled(block, lambda values: change(values[block]))


def _to_go(block: Block, other: Block, by: Block | None = None) -> Made:
    """Shows in each cell the sum of another row from there on, each number discounted once a place by a setting, if by one."""
    return _filled(block, lambda values: to_go(values[other], 1.0 if by is None else float(values.arrays[by])))


def _inner(values: Values, block: Block) -> tuple[slice, ...]:
    """Returns where the cells of a row lie in its array, without its edges."""
    begins = (values.before(block, axis) for axis in block.axes)
    return tuple(slice(begin, begin + values.size(axis)) for begin, axis in zip(begins, block.axes, strict=True))


def _one_cell(block: Block, other: Block, place: int) -> Made:
    return lambda bench: {block: np.asarray(bench.base[other].ravel()[place], dtype=float)}


def _turned(one: Block, other: Block) -> Made:
    return lambda bench: {one: bench.base.arrays[other], other: bench.base.arrays[one]}


def _ones(*settings: Block) -> Made:
    return lambda bench: {each: np.ones_like(bench.base.arrays[each]) for each in settings}


def _all(makes: Sequence[Made]) -> Made:
    def made(bench: Bench) -> Arrays | None:
        found: dict[Block, Array] = {}
        for each in makes:
            arrays = each(bench)
            if arrays is None:
                return None
            found |= arrays
        return found

    return made


def _by_equation(row: Rewritten) -> Made:
    """Shows a row by another equation, computed from the others; throughout, where it is a recursion."""

    def made(bench: Bench) -> Arrays | None:
        if row.anew is None:
            return None
        copy, steps = row.anew
        try:
            return {row.block: bench.computed(steps, {}, copy)}
        except (NotationError, IndexError, ValueError, KeyError):
            return None

    return made


def along_axes(block: Block) -> Iterator[tuple[str, str, Callable[[Array], Array]]]:
    """Yields what stands in every cell if a row is summed, or averaged, along an axis of its own, or is read a place off."""
    for place, axis in enumerate(block.axes):
        what, every = axis.meaning, axis.plural
        yield f"sum-over-{axis.letter}", f"It is summed over all {every}.", partial(_everywhere, np.sum, place)
        yield f"mean-over-{axis.letter}", f"It is averaged over all {every}.", partial(_everywhere, np.mean, place)
        if place:
            yield f"shared-over-{axis.letter}", f"It is divided by how many {every} count.", partial(_shared, place)
        for by, where in ((1, "after"), (-1, "before")) if axis is block.axes[-1] else ():
            says = f"It is read at the {what} {where}."
            yield f"{what}-{where}".replace(" ", "-"), says, partial(np.roll, shift=-by, axis=place)


def _everywhere(made: Callable[..., Array], place: int, array: Array) -> Array:
    return np.broadcast_to(made(array, axis=place, keepdims=True), array.shape)


def _shared(place: int, array: Array) -> Array:
    """Shares each number out among the places along an axis where something stands."""
    return array / np.maximum(1, np.count_nonzero(array, axis=place, keepdims=True))


def stopped(block: Block) -> Iterator[Rewritten]:
    """Yields a recursion that stops after one step: what its cells would be without it is read in its place."""
    for definition in block.definitions:
        if any(isinstance(node, Ref) and node.block is block for node in walk(definition.expr)):
            alone = everywhere(definition.expr, partial(_none_of, block))
            first = again((block,), {}, equations={definition: alone})[block]
            expr = reading(definition.expr, {block: first})
            says = f"It goes on for one step alone: beyond the next place {block.symbol} is taken for 0."
            yield Rewritten("one-step-alone", says, False, block, {definition: expr}, (first,))


def _none_of(block: Block, node: Expr) -> Expr:
    return Constant(0) if isinstance(node, Ref) and node.block is block else node


def ends(block: Block) -> Iterator[tuple[str, str, Callable[[Array], Array]]]:
    """Yields what a mask is if the first or the last place that it counts is left out, along its last axis."""
    if block.axes:
        what = block.axes[-1].meaning
        yield "first-left-out", f"The first {what} that counts is left out.", lambda array: _without(array, 0)
        yield "last-left-out", f"The last {what} that counts is left out.", lambda array: _without(array, -1)


def _without(array: Array, which: int) -> Array:
    found = array.copy()
    for at in np.ndindex(*array.shape[:-1]):
        places = np.flatnonzero(array[at])
        if len(places):
            found[(*at, places[which])] = 0
    return found
