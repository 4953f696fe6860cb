"""Leaks: numbers from which an answer follows other than by doing the step.

A cell gives an answer away if it shows it while the blank is empty: it is computed a second way, repeats a step before it, or was
typed from elsewhere. So all numbers are computed with a blank empty, which a sheet reads as 0, and the answer is looked for
among them. What the equation of a blank reads itself does not count: to see which of these is meant is the step (a minimum is
always one of two numbers that one can see).

An equation may also be undone: of k3 = ρ − 1 − log ρ, written with the log-ratio, the ratio is k3 + 1 + the log-ratio:
nobody needs to take an exponential.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blueprint.language import Array, Block, Cell, Edge, Expr, Index, Op, Values, chain, fill, filled_by, reads
from blueprint.language.cells import alternative_of
from blueprint.language.trees import letters_of
from blueprint.language.vectorise import compiled
from blueprint.page.outline import Blank, Blueprint
from blueprint.worksheets.graph import Graph

SAME = 1e-9
"""How near two numbers are, as a share of them, that are taken for the same: what two ways to compute one may round."""


class Table:
    """The numbers of every block, edges included; `numbers[starts[block]:]` begins with those of a block."""

    def __init__(self, blocks: Iterable[Block], values: Values):
        self.values = values
        self.blocks = [block for block in blocks if not block.text]
        arrays = [values.arrays[block].astype(float).ravel() for block in self.blocks]
        self.starts = np.cumsum([0, *map(len, arrays)])
        self.numbers: Array = np.concatenate([*arrays, np.empty(0)])
        self.typed = np.repeat([block.typed for block in self.blocks], np.diff(self.starts))
        self._number = {block: i for i, block in enumerate(self.blocks)}

    def index(self, cell: Cell) -> int:
        """Returns where the number of a cell stands."""
        block, values = cell.block, self.values
        at = tuple(place + values.before(block, axis) for place, axis in zip(cell.places, block.axes, strict=True))
        return int(self.starts[self._number[block]] + np.ravel_multi_index(at, values.shape(block)) if at else
                   self.starts[self._number[block]])  # fmt: skip

    def cell(self, index: int) -> Cell:
        """Returns the cell whose number stands at an index."""
        number = int(np.searchsorted(self.starts, index, side="right")) - 1
        block, values = self.blocks[number], self.values
        at = np.unravel_index(index - self.starts[number], values.shape(block)) if block.axes else ()
        return Cell(block, tuple(int(i) - values.before(block, axis) for i, axis in zip(at, block.axes, strict=True)))

    def same(self, answer: float) -> Array:
        """Returns the indices of the numbers that are an answer, or its negative."""
        return np.flatnonzero(abs(abs(self.numbers) - abs(answer)) <= SAME * abs(answer))

    def shown_the_same(self, answer: float, decimals: int) -> Array:
        """Returns the indices of typed numbers that look like an answer, or its negative, as far as a page shows it."""
        size = abs(self.numbers)
        close = np.flatnonzero(self.typed & (abs(size - abs(answer)) <= 10.0**-decimals))
        # Only those are rounded: a number near the largest that there is, as e^709, would overflow on the way.
        found: Array = close[np.round(size[close], decimals) == round(abs(answer), decimals)]
        return found


UNDONE = ("add", "sub", "mul", "div", "neg", "exp", "log", "tanh", "sqrt")
"""Operations of which an operand follows from the result and the other operand."""


class Backwards:
    """The numbers that stand within the equations of blocks: `numbers[starts[i]:]` begins with those of the i-th of them."""

    def __init__(self, blocks: list[Block], values: Values):
        self.values = values
        self.steps: list[tuple[Block, tuple[Index, ...]]] = []
        arrays: list[Array] = []
        for block, target, expr in _within(blocks):
            frame = tuple(letters_of(target))
            sizes = tuple(values.size(axis) for axis in frame)
            with np.errstate(all="ignore"):
                numbers = np.asarray(compiled(expr, frame, values)({}), dtype=float)
            self.steps.append((block, target))
            arrays.append(np.broadcast_to(numbers, sizes).ravel())
        self.starts = np.cumsum([0, *map(len, arrays)])
        self.numbers: Array = np.concatenate([*arrays, np.empty(0)])

    def holding(self, answer: float) -> Iterator[Cell]:
        """Yields the cells within whose equations an answer stands, or its negative."""
        for index in np.flatnonzero(abs(abs(self.numbers) - abs(answer)) <= SAME * abs(answer)):
            number = int(np.searchsorted(self.starts, index, side="right")) - 1
            block, target = self.steps[number]
            sizes = tuple(self.values.size(axis) for axis in letters_of(target))
            at = iter(np.unravel_index(index - self.starts[number], sizes) if sizes else ())
            yield Cell(
                block, tuple(self.values.edge(each) if isinstance(each, Edge) else int(next(at)) for each in target)
            )


def _within(blocks: list[Block]) -> Iterator[tuple[Block, tuple[Index, ...], Expr]]:
    """Yields the steps within the equations of blocks, each with the block and the cells that the equation fills."""
    for block in (block for block in blocks if not (block.text or block.limit or block.link)):
        for definition in block.definitions:
            yield from ((block, definition.target, step) for step in _steps(definition.expr))


def _steps(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Op) and expr.name in UNDONE:
        for operand in (each for each in expr.args if isinstance(each, Op)):
            yield operand
            yield from _steps(operand)


SMALL = 2
"""Significant digits that an answer must show at least, so that it is no coincidence that something else shows the same."""


@dataclass(frozen=True)
class Leak:
    """A cell that shows an answer: of which cell of which blank, and whether it was typed, or the answer follows backwards."""

    blank: Blank
    of: Cell
    cell: Cell
    typed: bool = False
    backwards: bool = False


def number_in(cell: Cell, values: Values) -> float:
    """Returns the number of a cell."""
    return float(values.cell(cell.block, *cell.places))


def answers_of(blank: Blank, values: Values) -> list[float]:
    """Returns what belongs into the cells of a blank."""
    return [number_in(Cell(blank.block, at), values) for at in blank.cells]


def is_plain(answer: float, decimals: int) -> bool:
    """Tells whether so many cells may show a number that nothing can be said of one that does: 0, 1, too few digits, none.

    What counts is what a sheet shows: 0.99999 is 1.0000.
    """
    if not np.isfinite(answer) or abs(answer) < 10.0 ** (SMALL - 1 - decimals):
        return True
    return round(answer, decimals) == round(answer)


def is_short(answer: float) -> bool:
    """Tells whether a number has so few digits, as 0.5 or 1.2, that another one of them is no second way to it."""
    return bool(np.isclose(answer, float(f"{answer:.{SMALL}g}"), rtol=SAME, atol=0))


def is_chosen(cell: Cell, values: Values) -> bool:
    """Tells whether an answer is a minimum or maximum, and so by nature one of the numbers compared."""
    filled = filled_by(*cell, values)
    taken: Expr | None = filled.definition.expr if filled else None
    while isinstance(taken, Op) and taken.name == "where" and filled:
        taken = alternative_of(taken, filled.members, values)
    return isinstance(taken, Op) and taken.name in ("minimum", "maximum")


def repeats(cell: Cell, values: Values) -> Cell | None:
    """Returns a cell that an equation reads and whose number is its own result, or None."""
    answer = number_in(cell, values)
    for each in (each for read in reads(cell, values) for each in read.cells if not each.block.text):
        read = values.cell(each.block, *each.places)
        if isinstance(read, float) and abs(abs(read) - abs(answer)) <= SAME * abs(answer):
            return each
    return None


def is_told(cell: Cell, values: Values) -> bool:
    """Tells whether an answer can be looked for: it is neither plain nor one of the numbers that its equation chooses from."""
    plain = is_plain(number_in(cell, values), cell.block.about.decimals)
    return not plain and repeats(cell, values) is None and not is_chosen(cell, values)


class Search:
    """Looks for the answers of blanks among the numbers of a blueprint.

    blueprint: what stands in the file, its blanks among it, or `blanks`. values: all its numbers. shown: cells whose answers are
    not looked for, since they are known to stand elsewhere. graph: that of the blueprint, or of one that differs in what is typed.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        values: Values,
        blanks: Sequence[Blank] | None = None,
        shown: Collection[Cell] = (),
        graph: Graph | None = None,
    ):
        self.values, self.graph = values, Graph(blueprint) if graph is None else graph
        self.blanks = blueprint.blanks if blanks is None else tuple(blanks)
        self.known, self.tables = set(shown), dict[tuple[tuple[Blank, ...], bool], Table]()
        self.cells = {Cell(blank.block, at) for blank in self.blanks for at in blank.cells}
        """The cells of all blanks."""

    @cached_property
    def missing(self) -> list[tuple[Blank, dict[Cell, float]]]:
        """By blank the answers that are looked for, each with its cell."""
        cells = ((blank, [Cell(blank.block, at) for at in blank.cells]) for blank in self.blanks)
        sought = (
            (blank, [each for each in of if each not in self.known and is_told(each, self.values)])
            for blank, of in cells
        )
        return [(blank, {cell: number_in(cell, self.values) for cell in of}) for blank, of in sought]

    def leaks(self) -> list[Leak]:
        """Lists the cells that show an answer: with one blank empty and all others filled in, and with all of them empty."""
        found = [leak for blank, answers in self.missing for leak in self.with_empty((blank,), {blank: answers})]
        return list(dict.fromkeys([*self.with_all_empty(), *found, *self.from_behind()]))

    def from_behind(self) -> Iterator[Leak]:
        """Yields the cells from which the answer of a blank that asks for a number follows backwards, while it alone is empty."""
        for blank, answers in ((blank, answers) for blank, answers in self.missing if blank.asks == "number"):
            for of, answer in answers.items():
                # To see through what the blank itself reads is the step that is asked for.
                read = {each for found in reads(of, self.values) for each in found.cells}
                for cell in set(self.backwards.holding(answer)) - read - self.cells:
                    if not self._waits(cell, of):
                        yield Leak(blank, of, cell, backwards=True)

    def _waits(self, cell: Cell, blank: Cell) -> bool:
        """Tells whether a cell reads a blank one, directly or through others."""
        below = self.graph.below_one(blank.block)
        return blank in chain(cell, lambda each: reads(each, self.values) if each.block in below else ())

    @cached_property
    def backwards(self) -> Backwards:
        """The numbers that stand within equations."""
        return Backwards(self.graph.blocks, self.values)

    def with_all_empty(self) -> list[Leak]:
        """Lists the cells that show an answer with all blanks empty: the file as it is handed out."""
        shown = self.with_empty(self.blanks, dict(self.missing))
        return list(dict.fromkeys([*self.typed_alike(self.table(self.blanks)), *shown]))

    def with_empty(self, emptied: Sequence[Blank], sought: Mapping[Blank, Mapping[Cell, float]]) -> Iterator[Leak]:
        """Yields the cells that show an answer while some blanks are empty, whichever way an empty cell is read."""
        for passed_over in {False, any(self.graph.passed_over(blank.block) for blank in emptied)}:
            table = self.table(emptied, passed_over)
            for blank, answers in sought.items():
                yield from self.shown(table, blank, answers)

    def table(self, emptied: Sequence[Blank], passed_over: bool = False) -> Table:
        """Returns the numbers where some blanks are empty, and the others hold their answers.

        passed_over: an empty cell is passed over by what reads it so (MIN and MAX); else it is 0.
        """
        if (key := (tuple(emptied), passed_over)) not in self.tables:
            self.tables[key] = Table(self.graph.blocks, self._computed(*key))
        return self.tables[key]

    def _computed(self, emptied: Sequence[Blank], passed_over: bool) -> Values:
        """Computes what hangs on blanks that are empty; all else stays."""
        held: dict[Block, dict[tuple[int, ...], float]] = {}
        for blank in emptied:
            empty = self.graph.passed_over(blank.block) if passed_over else 0.0
            held.setdefault(blank.block, {}).update(dict.fromkeys(blank.cells, empty))
        values, below = Values(self.values.sizes, beyond=True), self.graph.below(held)
        values.hold(held)
        values.arrays = {block: array for block, array in self.values.arrays.items() if block not in below}
        fill(self.graph.steps(frozenset(below)), values)
        return values

    def shown(self, table: Table, blank: Blank, answers: Mapping[Cell, float]) -> Iterator[Leak]:
        """Yields the cells outside of all blanks that show one of the answers of a blank."""
        for of, answer in answers.items():
            for cell in (table.cell(int(index)) for index in table.same(answer)):
                if cell not in self.cells:
                    yield Leak(blank, of, cell, cell.block.typed)

    def typed_alike(self, table: Table) -> Iterator[Leak]:
        """Yields the typed cells that look like an answer."""
        for blank, answers in self.missing:
            for of, answer in answers.items():
                for index in table.shown_the_same(answer, blank.block.about.decimals):
                    yield Leak(blank, of, table.cell(int(index)), True)
