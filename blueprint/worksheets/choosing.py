"""Blanks that are chosen: along one derivation, from its first quantities to the result, in one column where that can be.

Where a kind names its derivation they lie on it, all of them in what one cell near its end is computed from, as long as
there are such; else, and once these are spent, cells are chosen among those that the result is computed from. An answer must
say something: it is not 0, 1 or a whole number, not what its equation reads already, and nothing that stays in the file
looks like it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import product, zip_longest
from math import isclose
from random import Random

import numpy as np

from blueprint.book import Book
from blueprint.language import Axis, Block, Cell, Expr, Op, Ref, Values, chain, filled_by, reads, walk
from blueprint.language.cells import value_of
from blueprint.language.trees import letters_of
from blueprint.language.vectorise import compiled
from blueprint.page.outline import Piece
from blueprint.worksheets.graph import Graph
from blueprint.worksheets.leaks import Table, is_chosen, is_plain, is_short, is_told, number_in
from blueprint.worksheets.leaks import repeats as repeated

CHOICES = ("minimum", "maximum", "where")
NO_CHOICE = ("is_off", "filled")
"""Conditions that settings decide, the same in all cells."""


def same(one: float, other: float, decimals: int) -> bool:
    """Tells whether two numbers show the same digits."""
    return round(one, decimals) == round(other, decimals) or isclose(one, other, rel_tol=1e-9)


def is_zero(cell: Cell, values: Values) -> bool:
    """Tells whether an answer shows no digit but 0."""
    return round(number_in(cell, values), cell.block.about.decimals) == 0


def is_one(cell: Cell, values: Values) -> bool:
    """Tells whether an answer that is no whole number by nature shows 1 or −1."""
    return cell.block.about.decimals > 0 and abs(round(number_in(cell, values), cell.block.about.decimals)) == 1


def repeats(cell: Cell, values: Values) -> bool:
    """Tells whether an answer shows the digits of what its equation reads; what chooses among numbers is one of them by nature."""
    filled = filled_by(*cell, values)
    if filled is None or [*choices_in(filled.definition.expr)]:
        return False
    answer, decimals = number_in(cell, values), cell.block.about.decimals
    read = (each for found in reads(cell, values) for each in found.cells if not each.block.text)
    numbers = (values.cell(each.block, *each.places) for each in read)
    return any(isinstance(number, float) and same(number, answer, decimals) for number in numbers)


def ties(cell: Cell, values: Values) -> bool:
    """Tells whether an equation chooses between two numbers that are the same."""
    filled = filled_by(*cell, values)
    if filled is None:
        return False
    for choice in choices_in(filled.definition.expr):
        one, other = (value_of(each, filled.members, values) for each in choice.args[-2:])
        if not isinstance(one, str) and not isinstance(other, str) and same(one, other, cell.block.about.decimals):
            return True
    return False


def choices_in(expr: Expr) -> Iterator[Op]:
    """Yields the minima, maxima and conditions of an equation, but for those that settings decide."""
    for node in walk(expr):
        if (
            isinstance(node, Op)
            and node.name in CHOICES
            and not (isinstance(node.args[0], Op) and node.args[0].name in NO_CHOICE)
        ):
            yield node


def ways_of(block: Block, values: Values) -> Iterator[set[int]]:
    """Yields, for each choice in a block's equations, the ways that it goes somewhere in the block; ties are none."""
    for definition in block.definitions:
        frame = tuple(letters_of(definition.target))
        for choice in choices_in(definition.expr):
            compared = choice.args[:1] if choice.name == "where" else choice.args
            with np.errstate(all="ignore"):
                one, *other = (np.asarray(compiled(each, frame, values)({}), dtype=float) for each in compared)
            gap = one - 0.5 if not other else one - other[0]
            yield {int(way) for way in np.unique(np.sign(gap[np.isfinite(gap)])) if way}


class Candidates:
    """The cells of a book that may be blanks.

    barred: blocks in which there is none. suits: what an answer must be besides. alike: whether a cell has the same answer
    for all who get a worksheet.
    """

    def __init__(
        self,
        book: Book,
        graph: Graph,
        barred: set[Block],
        suits: Callable[[float], bool],
        alike: Callable[[Cell], bool] = lambda cell: False,
    ):
        self.book, self.graph, self.barred, self.suits, self.alike = book, graph, barred, suits, alike
        self.table = Table(graph.blocks, book.values)

    @cached_property
    def derivation(self) -> list[Cell]:
        """The cells that the result is computed from, the first ones first, and it; all cells, where there is no result."""
        values = self.book.values
        roots = self.graph.result or [block for block in self.graph.blocks if not block.typed]
        met: dict[Cell, None] = {}
        for block in roots:
            for places in product(*(range(values.size(axis)) for axis in block.axes)):
                if (root := Cell(block, places)) not in met:
                    met |= dict.fromkeys(chain(root, self.book.reads))
        order = {block: i for i, block in enumerate(self.graph.order)}
        return sorted((cell for cell in met if cell.block in order), key=lambda cell: order[cell.block])

    @cached_property
    def usable(self) -> list[Cell]:
        """The cells that may be blanks, in the order of computation."""
        fit = [cell for cell in self.derivation if self.fits(cell)]
        return [cell for cell in fit if not self.coincides(cell)] or fit

    def differing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Returns the cells of which not everybody has the same answer; all, where there is none."""
        listed = list(cells)
        return [cell for cell in listed if not self.alike(cell)] or listed

    def fits(self, cell: Cell) -> bool:
        """Tells whether a cell may be a blank: one that is seen, counts, and has an answer that says something."""
        block, values = cell.block, self.book.values
        inside = all(0 <= at < values.size(axis) for at, axis in zip(cell.places, block.axes, strict=True))
        return (
            inside
            and self.may(block)
            and cell.places not in values.ended.get(block, {})
            and self.graph.counts(block, cell.places, values)
            and is_told(cell, values)
            and not ties(cell, values)
            and self.suits(number_in(cell, values))
            and self._alone(cell)
        )

    def asks(self, cell: Cell) -> bool:
        """Tells whether a cell of a step that is asked for may be a blank: its row may be one that folds away.

        What chooses between two numbers is one of them by nature; which of them is the question.
        """
        block, values = cell.block, self.book.values
        return (
            self._is_number(block)
            and self.says(cell)
            and not ties(cell, values)
            and (is_chosen(cell, values) or (repeated(cell, values) is None and self._alone(cell)))
        )

    def says(self, cell: Cell) -> bool:
        """Tells whether a cell counts and has an answer with digits: what may be asked for by the name of the cell."""
        block, values = cell.block, self.book.values
        answer = number_in(cell, values)
        counts = self.graph.counts(block, cell.places, values)
        return counts and self.suits(answer) and not is_plain(answer, block.about.decimals)

    def origin(self, cell: Cell) -> Cell:
        """Returns the cell from which others only hand an answer on to this one: what it repeats, step by step."""
        while self._is_number(cell.block) and not is_chosen(cell, self.book.values):
            step = repeated(cell, self.book.values)
            if step is None or step.block.typed:
                break
            cell = self.through(step)
        return cell

    def source(self, cell: Cell) -> Cell:
        """Returns the cell that a cell hands on because its equation says nothing else, step by step; any other cell itself."""
        while (filled := filled_by(*cell, self.book.values)) and isinstance(filled.definition.expr, Ref):
            (step,) = reads(cell, self.book.values)[-1].cells
            if step.block.typed or step.block.text:
                break
            cell = step
        return cell

    def through(self, cell: Cell) -> Cell:
        """Returns the cell that a link repeats; any other cell itself."""
        while cell.block.link and (step := repeated(cell, self.book.values)):
            cell = step
        return cell

    def coincides(self, cell: Cell) -> bool:
        """Tells whether a typed number looks like an answer: with these numbers, in others it is another."""
        return len(self.table.shown_the_same(number_in(cell, self.book.values), cell.block.about.decimals)) > 0

    def may(self, block: Block) -> bool:
        """Tells whether there may be blanks in a block: computed numbers with decimals, in a row that is not folded away."""
        folded = block in self.graph.rows and self.graph.rows[block].fold
        return self._is_number(block) and not folded

    def _is_number(self, block: Block) -> bool:
        given = block.typed or block.text or block.link or block.limit
        return not (given or block in self.barred) and block in self.graph.home and block.about.decimals > 0

    def _alone(self, cell: Cell) -> bool:
        """Tells whether no step shows an answer of which it cannot be done without, such as one before it."""
        answer = number_in(cell, self.book.values)
        if is_short(answer):
            return True
        shown = {self.table.cell(int(index)) for index in self.table.same(answer)} - {cell}
        needed = {cell.block, *self.book.blueprint.parts, *self.graph.result}
        apart = (
            each.block
            for each in shown
            if not each.block.typed and (each.block not in self.graph.below_one(cell.block) or each.block is cell.block)
        )
        return not any(self.graph.below_one(block) & needed for block in apart)


NEARLY = 0.9
"""A column is as good as the best one if it has this share of its quantities."""
MOST_ANCHORS = 24
"""Cells of a row of which one looks up what they are computed from."""
Column = frozenset[tuple[Axis, int]]


class Chooser:
    """Chooses cells among those that may be blanks.

    seed: of what is left to chance. alone: only rows of the derivation are chosen, as far as they go.
    """

    def __init__(self, candidates: Candidates, seed: str, alone: bool = False):
        self.alone = alone
        self.candidates, self.book, self.graph = candidates, candidates.book, candidates.graph
        self.random = Random(f"blanks {seed}")  # a seed that anybody may know

    def chosen(
        self, count: int, refused: set[Cell], one_of: Callable[[Cell], object] = lambda cell: cell
    ) -> list[Cell]:
        """Chooses so many cells, or as many as there are, spread over the steps, in the order of computation.

        Another row is preferred to one that is asked for. refused: cells that are not chosen. one_of: of the cells for which it
        is the same one is chosen.
        """
        found: list[Cell] = []
        for more in (self._along, *(() if self.alone else (self._around_columns,))):
            for most in range(1, count + 1):  # cells of each row
                before = len(found)
                more(count, refused, one_of, most, found)
                asked = Counter(cell.block for cell in found)
                if len(found) == count or (len(found) == before and most > max(asked.values(), default=0)):
                    break
        rank = {cell: i for i, cell in enumerate(self.candidates.derivation)}
        order = {block: i for i, block in enumerate(self.graph.order)}
        return sorted(found, key=lambda cell: (order[cell.block], rank.get(cell, len(rank)), cell.places))

    def _around_columns(
        self, count: int, refused: set[Cell], one_of: Callable[[Cell], object], most: int, found: list[Cell]
    ) -> None:
        """Adds cells that the result is computed from, column by column, those first that one looks for."""
        for column in self.columns if len(found) < count else ():
            for tier in self._tiers(self._around(column, refused)):
                taken, asked = set(map(one_of, found)), Counter(cell.block for cell in found)
                free = [cell for cell in tier if one_of(cell) not in taken and asked[cell.block] < most]
                self._take(free, count, found)

    def _along(
        self, count: int, refused: set[Cell], one_of: Callable[[Cell], object], most: int, found: list[Cell]
    ) -> None:
        """Adds cells along the derivation that a kind names: one of each step first, then another one of each, and so on.

        most: how many cells of a row there may be. What has the same answer for everybody comes after the other cells of its step.
        """
        gone: set[Cell] = set()
        free = [[cell for cell in step if cell not in refused] for step in self._steps]
        first = [self.candidates.differing(step) for step in free]
        for steps in (first, free) if first != free else (free,):
            while len(found) < count:
                left = [[cell for cell in step if cell not in gone] for step in steps]
                if not (round_ := self._round(left, found, one_of, most)):
                    break
                self._take(round_, count, found)
                gone |= set(round_)

    def _round(
        self, steps: list[list[Cell]], found: list[Cell], one_of: Callable[[Cell], object], most: int
    ) -> list[Cell]:
        """Returns a cell of each step that has one left, if it can be one of those that a cell near the end is computed from."""
        anchor = self._anchor(steps)
        behind = self._behind(anchor, steps) if anchor else set[Cell]()
        chosen: list[Cell] = []
        for step in reversed(steps):
            there = [*found, *chosen]
            taken, rows = set(map(one_of, there)), Counter(cell.block for cell in there)
            left = (cell for cell in step if one_of(cell) not in taken and rows[cell.block] < most)
            free = [cell for cell in left if self._differs(cell, there)]
            if free:
                near = [cell for cell in free if cell in behind] or free
                plain = [cell for cell in near if not self.candidates.coincides(cell)] or near
                chosen.append(self.random.choice(plain))
        return chosen[::-1]

    def _anchor(self, steps: list[list[Cell]]) -> Cell | None:
        """Returns a cell of the last step that has several: one of those that are computed from cells of the most steps."""
        last = next((i for i, step in reversed([*enumerate(steps)]) if len(step) > 1), None)
        if last is None:
            return None
        earlier = steps[:last]
        behind = {cell: self._behind(cell, earlier) for cell in steps[last][:MOST_ANCHORS]}
        held = {cell: sum(not of.isdisjoint(step) for step in earlier) for cell, of in behind.items()}
        return self.random.choice([cell for cell, many in held.items() if many == max(held.values())])

    def _behind(self, cell: Cell, steps: list[list[Cell]]) -> set[Cell]:
        """Returns what a cell is computed from, as far as it leads to the steps."""
        leading = self.graph.below({each.block for step in steps for each in step})
        return set(chain(cell, lambda each: self.book.reads(each) if each.block in leading else ()))

    @cached_property
    def _steps(self) -> list[list[Cell]]:
        """By step of the derivation that a kind names the cells that may be blanks: where others only hand it on, the first."""
        named = {block.name: block for block in self.graph.blocks}
        rows = [named[name] for name in self.book.blueprint.derivation if name in named]
        values, counts = self.book.values, self.graph.counts
        cells = ([Cell(row, at) for at in product(*(range(values.size(axis)) for axis in row.axes))] for row in rows)
        origins = (
            [self.candidates.origin(cell) for cell in step if counts(cell.block, cell.places, values)] for step in cells
        )
        return [[cell for cell in dict.fromkeys(step) if self.candidates.asks(cell)] for step in origins]

    def _around(self, column: Column, refused: set[Cell]) -> list[Cell]:
        """Lists the usable cells of a column, and those of its group of which the column itself has none of the row.

        None is of what says which cells count: with such a blank empty, everything would wait.
        """
        left = [cell for cell in self.candidates.usable if cell not in refused and cell.block not in self.graph.frame]
        inside = {cell for cell in left if self.column(cell) <= column}
        rows = {cell.block for cell in inside}
        outer = [axis.extent for sheet in self.book.blueprint.sheets for axis in sheet.across[:-1]]
        group = {(axis, place) for axis, place in column if axis in outer}
        beside = {cell for cell in left if cell.block not in rows and group and group <= self.column(cell)}
        return [cell for cell in left if cell in inside or cell in beside]

    def by_section(self, refused: set[Cell]) -> list[Cell]:
        """Lists a cell of each section: those of the derivation first, then those in which stands what one looks for."""
        column = self.columns[0] if self.columns else frozenset()
        tiers = self._tiers(self._around(column, refused))
        named = [cell for step in self._steps[::-1] for cell in step if cell not in refused]
        others = () if self.alone else tiers[:2]
        return [*named, *(cell for tier in others for cell in self.random.sample(tier, len(tier)))]

    def best(self, cells: Iterable[Cell]) -> Cell | None:
        """Returns the cell to ask for among some of a row: the best kind of which there is one, in the best of its columns.

        None is plain; of the others those are best that may be chosen, then those that may be asked for on a derivation. Where
        the row only hands on another one, a cell of that is returned.
        """
        listed, usable = [self.candidates.source(cell) for cell in cells], set(self.candidates.usable)
        kinds = (usable.__contains__, self.candidates.fits, self.candidates.asks, self.candidates.says)
        found = (list(filter(kind, listed)) for kind in kinds)
        if not (inside := self.candidates.differing(next(filter(None, found), []))):
            return None
        for column in self.columns:
            if here := [cell for cell in inside if self.column(cell) <= column]:
                return self.random.choice(here)
        return inside[0]

    def column(self, cell: Cell) -> Column:
        """Returns where a cell stands along the axes that run from left to right."""
        at = zip(cell.block.axes, cell.places, strict=True)
        return frozenset((axis.extent, place) for axis, place in at if axis.extent in self._across)

    @cached_property
    def _across(self) -> set[Axis]:
        return {axis.extent for sheet in self.book.blueprint.sheets for axis in sheet.across}

    @cached_property
    def columns(self) -> list[Column]:
        """The columns by how many quantities they have; of those that have nearly the most, one by chance comes first."""
        held: dict[Column, set[Block]] = {}
        for cell in self.candidates.usable:
            held.setdefault(self.column(cell), set()).add(cell.block)
        longest = max(map(len, held), default=0)
        whole = [column for column in held if len(column) == longest]
        whole.sort(key=lambda each: -len(held[each]))  # the order of equals is that of the computation
        good = [column for column in whole if len(held[column]) >= NEARLY * len(held[whole[0]])]
        first = self.random.choice(good) if good else frozenset()
        return list(dict.fromkeys([first, *whole, *held]))

    @cached_property
    def _looked_for(self) -> set[Block]:
        """The quantities that one looks for: those with a key row, and those that are named on the first sheet."""
        pieces = {item.about for _, _, item in self.graph.items() if isinstance(item, Piece)}
        return pieces | {block for block, row in self.graph.rows.items() if row.role == "key"}

    def _tiers(self, cells: list[Cell]) -> list[list[Cell]]:
        """Sorts cells into those to take first, second …: one of each step that one looks for, of each other step, and more."""
        steps: dict[int, dict[Block, list[Cell]]] = {}
        for cell in cells:
            steps.setdefault(id(self.graph.home[cell.block][1]), {}).setdefault(cell.block, []).append(cell)
        ordered = []
        for step in steps.values():  # blocks in chance's order, those first that one looks for
            shuffled = self.random.sample(list(step), len(step))
            blocks = sorted(shuffled, key=lambda block: block not in self._looked_for)
            ordered.append([self.random.choice(self.candidates.differing(step[block])) for block in blocks])
        first = [step[0] for step in ordered]
        later = zip_longest(*(step[1:] for step in ordered))
        return [
            [cell for cell in first if cell.block in self._looked_for],
            [cell for cell in first if cell.block not in self._looked_for],
            *([cell for cell in tier if cell is not None] for tier in later),
        ]

    def _take(self, tier: list[Cell], count: int, found: list[Cell]) -> None:
        """Takes what is still needed from a tier, evenly spread, where it has more; no two answers look alike."""
        left: list[Cell] = []
        for cell in tier:
            if self._differs(cell, [*found, *left]):
                left.append(cell)
        need = count - len(found)
        if need < len(left):
            last = len(left) - 1
            left = [left[round(last - i * last / max(need - 1, 1))] for i in range(need)]
        found += left

    def _differs(self, cell: Cell, found: list[Cell]) -> bool:
        size, least = abs(number_in(cell, self.book.values)), 10.0**-cell.block.about.decimals
        others = ((other, abs(number_in(other, self.book.values))) for other in found)
        return all(cell is not other and abs(size - its) > least for other, its in others)
