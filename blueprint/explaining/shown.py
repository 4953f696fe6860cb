"""One cell in four ways: equation, numbers, formula, value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from blueprint.explaining.members import places as places_of
from blueprint.language import Block, equation, equations, explained, filled_by
from blueprint.page.cells import address, formula_at

if TYPE_CHECKING:
    from blueprint.book import Book


class Shown(NamedTuple):
    """One cell in four ways, and where it stands."""

    equation: str
    numbers: str
    formula: str
    value: float | str
    cell: str

    def __str__(self) -> str:
        return f"{self.equation}\n{self.numbers}\n{self.cell}: {self.formula}\n{self.value}"


def shown(book: Book, block: Block, members: Mapping[str, int | str]) -> Shown:
    """Shows the cell of a block at members that are named as the page counts them."""
    places = places_of(block, members, book.blueprint.names, book.values)
    filled = filled_by(block, places, book.values)
    return Shown(
        equation(block, filled.definition) if filled else equations(block),
        explained(block, places, book.values),
        formula_at(block, places, book.layout),
        book.values.cell(block, *places),
        address(block, places, book.layout),
    )
