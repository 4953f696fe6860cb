"""Candidates: the cells that may be blanks, because their answers say something and stand nowhere else."""

from collections.abc import Callable
from functools import cached_property
from itertools import product

from blueprint.book import Book
from blueprint.language import Block, Cell, chain, in_order, schedule
from blueprint.worksheets.graph import Graph
from blueprint.worksheets.leaks import is_told
from blueprint.worksheets.rules import ties
from blueprint.worksheets.table import Table


class Candidates:
    """The cells of a book that may be blanks.

    barred: blocks in which there is none. suits: what an answer must be besides.
    """

    def __init__(self, book: Book, graph: Graph, barred: set[Block], suits: Callable[[float], bool]):
        self.book, self.graph, self.barred, self.suits = book, graph, barred, suits
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
        order = {block: i for i, block in enumerate(in_order(schedule([b for b in self.graph.blocks if not b.typed])))}
        return sorted((cell for cell in met if cell.block in order), key=lambda cell: order[cell.block])

    @cached_property
    def usable(self) -> list[Cell]:
        """The cells that may be blanks, in the order of computation."""
        return [cell for cell in self.derivation if self.fits(cell)]

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
            and self.suits(float(values.cell(block, *cell.places)))
            and self._alone(cell)
        )

    def may(self, block: Block) -> bool:
        """Tells whether there may be blanks in a block: computed numbers with decimals, in a row that is not folded away."""
        given = block.typed or block.text or block.link or block.limit
        folded = block in self.graph.rows and self.graph.rows[block].fold
        return not (given or folded or block in self.barred) and block in self.graph.home and block.about.decimals > 0

    def _alone(self, cell: Cell) -> bool:
        """Tells whether nothing shows an answer of which it cannot be done without: an input, a step before it."""
        answer = float(self.book.values.cell(cell.block, *cell.places))
        if len(self.table.shown_the_same(answer, cell.block.about.decimals)):
            return False
        shown = {self.table.cell(int(index)) for index in self.table.same(answer)} - {cell}
        needed = {cell.block, *self.book.blueprint.parts, *self.graph.result}
        apart = (
            each.block
            for each in shown
            if each.block not in self.graph.below_one(cell.block) or each.block is cell.block
        )
        return not any(self.graph.below_one(block) & needed for block in apart)
