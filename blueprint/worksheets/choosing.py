"""Blanks that are chosen: along one derivation, from its first quantities to the result, in one column where that can be.

Where a kind names its derivation they lie on it, all of them in what one cell near its end is computed from, as long as
there are such; else, and once these are spent, cells are chosen among those that the result is computed from. An answer must
say something: it is not 0, 1 or a whole number, not what its equation reads already, and nothing that stays in the file
looks like it.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import product, zip_longest
from random import Random

from blueprint.language import Axis, Block, Cell, chain
from blueprint.page.outline import Piece
from blueprint.worksheets.candidates import Candidates

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

        refused: cells that are not chosen. one_of: of the cells for which it is the same one is chosen.
        """
        found = self._derived(count, refused, one_of)
        for column in self.columns if len(found) < count and not self.alone else ():
            here = self._around(column, refused)
            for tier in self._tiers(here):
                self._take([cell for cell in tier if one_of(cell) not in set(map(one_of, found))], count, found)
        rank = {cell: i for i, cell in enumerate(self.candidates.derivation)}
        order = {block: i for i, block in enumerate(self.graph.order)}
        return sorted(found, key=lambda cell: (order[cell.block], rank.get(cell, len(rank)), cell.places))

    def _derived(self, count: int, refused: set[Cell], one_of: Callable[[Cell], object]) -> list[Cell]:
        """Chooses along the derivation that a kind names: a cell of each step first, then another one of each, and so on."""
        found: list[Cell] = []
        steps = [[cell for cell in step if cell not in refused] for step in self._steps]
        while len(found) < count and (round_ := self._round(steps, found, one_of)):
            self._take(round_, count, found)
            gone = set(round_)
            steps = [[cell for cell in step if cell not in gone] for step in steps]
        return found

    def _round(self, steps: list[list[Cell]], found: list[Cell], one_of: Callable[[Cell], object]) -> list[Cell]:
        """Returns a cell of each step that has one left, if it can be one of those that a cell near the end is computed from."""
        anchor = self._anchor(steps)
        behind = self._behind(anchor, steps) if anchor else set[Cell]()
        chosen: list[Cell] = []
        for step in reversed(steps):
            taken = set(map(one_of, [*found, *chosen]))
            free = [cell for cell in step if one_of(cell) not in taken and self._differs(cell, [*found, *chosen])]
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
        held = {cell: self._steps_behind(cell, steps[:last]) for cell in steps[last][:MOST_ANCHORS]}
        return self.random.choice([cell for cell, many in held.items() if many == max(held.values())])

    def _steps_behind(self, cell: Cell, steps: list[list[Cell]]) -> int:
        behind = self._behind(cell, steps)
        return sum(any(each in behind for each in step) for step in steps)

    def _behind(self, cell: Cell, steps: list[list[Cell]]) -> set[Cell]:
        """Returns what a cell is computed from, as far as it leads to the steps."""
        leading = self.graph.below({each.block for step in steps for each in step})
        return set(chain(cell, lambda each: self.book.reads(each) if each.block in leading else ()))

    @cached_property
    def _steps(self) -> list[list[Cell]]:
        """By step of the derivation that a kind names the cells that may be blanks: where others only hand it on, the first."""
        named = {block.name: block for block in self.graph.blocks}
        rows = [named[name] for name in self.book.blueprint.derivation if name in named]
        size = self.book.values.size
        cells = ([Cell(row, at) for at in product(*(range(size(axis)) for axis in row.axes))] for row in rows)
        origins = ([self.candidates.origin(cell) for cell in step if self.counts(cell)] for step in cells)
        return [[cell for cell in dict.fromkeys(step) if self.candidates.asks(cell)] for step in origins]

    def counts(self, cell: Cell) -> bool:
        """Tells whether a cell is part of what is computed."""
        return self.graph.counts(cell.block, cell.places, self.book.values)

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
        if not (inside := next(filter(None, found), [])):
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
        ordered = [[self.random.choice(step[block]) for block in self._ordered(step)] for step in steps.values()]
        first = [step[0] for step in ordered]
        later = zip_longest(*(step[1:] for step in ordered))
        return [
            [cell for cell in first if cell.block in self._looked_for],
            [cell for cell in first if cell.block not in self._looked_for],
            *([cell for cell in tier if cell is not None] for tier in later),
        ]

    def _ordered(self, step: Iterable[Block]) -> list[Block]:
        """Returns the blocks of a step, those first that one looks for, and those by chance."""
        shuffled = self.random.sample(list(step), len(list(step)))
        return sorted(shuffled, key=lambda block: block not in self._looked_for)

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
        own, decimals = self.answer(cell), cell.block.about.decimals
        return all(cell is not other and abs(abs(own) - abs(self.answer(other))) > 10.0**-decimals for other in found)

    def answer(self, cell: Cell) -> float:
        """Returns what belongs into a cell."""
        return float(self.book.values.cell(cell.block, *cell.places))
