"""Candidates: the cells that may be blanks, because their answers say something and stand nowhere else."""

from collections.abc import Callable
from functools import cached_property
from itertools import product

from blueprint.book import Book
from blueprint.language import Block, Cell, Ref, chain, filled_by, reads
from blueprint.worksheets.graph import Graph
from blueprint.worksheets.leaks import is_chosen, is_plain, is_short, is_told
from blueprint.worksheets.leaks import repeats as repeated
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
        order = {block: i for i, block in enumerate(self.graph.order)}
        return sorted((cell for cell in met if cell.block in order), key=lambda cell: order[cell.block])

    @cached_property
    def usable(self) -> list[Cell]:
        """The cells that may be blanks, in the order of computation."""
        fit = [cell for cell in self.derivation if self.fits(cell)]
        return [cell for cell in fit if not self.coincides(cell)] or fit

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
        answer = float(values.cell(block, *cell.places))
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
        answer = float(self.book.values.cell(cell.block, *cell.places))
        return len(self.table.shown_the_same(answer, cell.block.about.decimals)) > 0

    def may(self, block: Block) -> bool:
        """Tells whether there may be blanks in a block: computed numbers with decimals, in a row that is not folded away."""
        folded = block in self.graph.rows and self.graph.rows[block].fold
        return self._is_number(block) and not folded

    def _is_number(self, block: Block) -> bool:
        given = block.typed or block.text or block.link or block.limit
        return not (given or block in self.barred) and block in self.graph.home and block.about.decimals > 0

    def _alone(self, cell: Cell) -> bool:
        """Tells whether no step shows an answer of which it cannot be done without, such as one before it."""
        answer = float(self.book.values.cell(cell.block, *cell.places))
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
