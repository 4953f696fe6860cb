"""Plants mistakes in the mathematics of a kind, one at a time, and gives what check says first of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from blueprint.book import Book
from blueprint.checking.verdicts import First, Verdict
from blueprint.language import Block, Definition, Operand
from blueprint.language.nodes import wrap
from blueprint.misconceptions import misconceptions_of
from blueprint.page.outline import Blueprint
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import kind_named
from tests.checking.test_gradient_causes import Bench, outline, saved
from tests.misconceptions.planting import plant, right_again
from tests.workbooks.test_backward import G


@dataclass
class Planting:
    """A saved workbook that check looks at, and a blueprint of the same numbers, in which one row at a time is wrong."""

    kind: Kind
    bench: Bench
    fresh: Blueprint

    def misconception(self, row: str, name: str) -> First:
        """Returns what is said where a row has the equation of a misconception: one deviation alone follows from no other."""
        with self._looked_at(row) as blocks:
            plant(name, row, blocks, self.kind)
            (first,) = self.bench.with_book(Book(self.fresh), row).firsts
        return first

    def says(self, row: str, name: str) -> set[str]:
        """Returns the sentences that a misconception of a row may be told by."""
        known = misconceptions_of(self.kind)
        return {each.says for each in known if each.name == name and each.bound(row) is not None}

    def equation(self, row: str, other: Callable[[G], Operand]) -> First:
        """Returns what is said first where a row has another equation."""
        with self._looked_at(row) as blocks:
            target = blocks[row].definitions[-1].target
            blocks[row].definitions = [Definition(target, wrap(other(blocks)))]
            return self.bench.with_book(Book(self.fresh), row).firsts[0]

    def as_it_is(self, row: str) -> Verdict:
        """Returns what is said where nothing is wrong; row: one that check is given as if it had been changed."""
        return self.bench.with_book(Book(self.fresh), row)

    @contextmanager
    def _looked_at(self, row: str) -> Iterator[dict[str, Block]]:
        blocks = {block.name: block for block in self.fresh.blocks()}
        with right_again(blocks[row]):
            yield blocks


def planting_in(kind: str, numbers: str, folder: Path) -> Planting:
    """Saves the workbook of built-in numbers of a kind, and makes the blueprint."""
    return Planting(kind_named(kind), saved(folder, numbers)[numbers], outline(numbers))
