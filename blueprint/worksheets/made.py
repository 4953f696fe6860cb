"""A worksheet as it was made: what is handed out, and what belongs into its blanks."""

from dataclasses import dataclass, field, replace
from functools import cached_property

from blueprint.book import Book
from blueprint.language import Cell
from blueprint.page.blanks import areas_of
from blueprint.page.outline import Blank, Blueprint

LEVELS = {1: "single cells", 2: "whole rows", 3: "whole sections"}


@dataclass(frozen=True)
class Worksheet:
    """A blueprint with blanks, and what belongs into them.

    full: the book with all answers, of which only what is in use is left. whole: the blueprint it was made of.
    answers: by the title of a blank the numbers of its cells, in their order.
    shown: cells whose answers stand elsewhere as well, in what cannot be left out: of rows the formula is asked, and in single
    cells it is a coincidence.
    """

    blueprint: Blueprint
    full: Book
    whole: Blueprint
    level: int
    answers: dict[str, list[float]] = field(default_factory=dict)
    shown: frozenset[Cell] = frozenset()

    @property
    def blanks(self) -> tuple[Blank, ...]:
        """The blanks, in the order of computation or in that in which they were asked for."""
        return self.blueprint.blanks

    @cached_property
    def book(self) -> Book:
        """The book to save and to hand out."""
        return Book(self.blueprint)

    def cells_of(self, blank: Blank) -> list[str]:
        """Returns where the cells of a blank stand in the book that is handed out, as ranges with their sheet."""
        return [area.replace("$", "") for area in areas_of(blank, self.book.layout)]

    @cached_property
    def filled_in(self) -> Book:
        """The whole book, of which nothing is left out, with the answers in its blanks."""
        named = {block.name: block for block in self.whole.blocks()}
        blanks = tuple(replace(blank, block=named[blank.block.name]) for blank in self.blanks)
        held = {blank.block: dict[tuple[int, ...], float]() for blank in blanks}
        for blank in blanks:
            held[blank.block] |= dict(zip(blank.cells, self.answers[blank.title], strict=True))
        return Book(replace(self.whole, blanks=blanks), held=held)
