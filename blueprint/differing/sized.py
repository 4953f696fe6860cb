"""What two workbooks have different numbers of, and which blocks can be compared cell by cell."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.reopening import SavedBook


class Unlike(NamedTuple):
    """How two files differ before their cells are looked at.

    sizes:    a line for everything they have different numbers of: episodes, decisions, words, their level.
    only:     for each file, the blocks that the other lacks.
    shapes:   the blocks that both have in different shapes.
    shared:   the blocks that both have in equal shapes, in the reading order of the first.
    """

    sizes: list[str]
    only: tuple[list[str], list[str]]
    shapes: list[str]
    shared: list[str]

    @property
    def any(self) -> bool:
        """Says whether anything differs."""
        return bool(self.sizes or any(self.only) or self.shapes)


def unlike(one: SavedBook, other: SavedBook) -> Unlike:
    """Compares levels, sizes and shapes."""
    shapes = [{block.name: array.shape for block, array in book.values.arrays.items()} for book in (one, other)]
    both = [block.name for block in one.blueprint.blocks() if block.name in shapes[1]]
    return Unlike(
        [*_levels(one, other), *_sizes(one, other)],
        (
            [name for name in one.blocks if name not in shapes[1]],
            [name for name in other.blocks if name not in shapes[0]],
        ),
        [name for name in both if shapes[0][name] != shapes[1][name]],
        [name for name in both if shapes[0][name] == shapes[1][name]],
    )


def _levels(one: SavedBook, other: SavedBook) -> list[str]:
    levels = [_level(book) for book in (one, other)]
    return [f"{levels[0]} and {levels[1]}"] if levels[0] != levels[1] else []


def _level(book: SavedBook) -> str:
    facts = book.blueprint.facts
    return f"level {facts['level']}" + (", live conventions" if facts.get("conventions") == "live" else "")


def _sizes(one: SavedBook, other: SavedBook) -> list[str]:
    """Names the axes of which the files have different numbers of members, by their letters and meanings."""
    sizes = [
        {(axis.letter, axis.meaning): size for axis, size in book.blueprint.sizes.items()} for book in (one, other)
    ]
    return [
        f"{meaning} {letter}: {sizes[0][letter, meaning]} and {sizes[1][letter, meaning]}"
        for letter, meaning in sizes[0]
        if sizes[1].get((letter, meaning), sizes[0][letter, meaning]) != sizes[0][letter, meaning]
    ]
