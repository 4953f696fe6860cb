"""What a blank hangs on: the other blanks that its cells read, directly or through the steps between, and these steps."""

from collections.abc import Iterable
from typing import NamedTuple

from blueprint.language import Block, Cell, Values, needs, reads


class Before(NamedTuple):
    """What lies before a cell: the nearest cells of blanks, and the cells on the way to them, its own among these."""

    blanks: frozenset[Cell]
    between: tuple[Cell, ...]


def hanging_on(blanks: Iterable[Block], blocks: Iterable[Block]) -> frozenset[Block]:
    """Returns the blocks that read one of the blanks' blocks, directly or through others, and these themselves."""
    readers: dict[Block, list[Block]] = {}
    for block in blocks:
        for need in needs(block):
            readers.setdefault(need.read, []).append(block)
    found: set[Block] = set()
    new = list(blanks)
    while new:
        block = new.pop()
        if block not in found:
            found.add(block)
            new += readers.get(block, [])
    return frozenset(found)


def before(cell: Cell, blanks: frozenset[Cell], hanging: frozenset[Block], values: Values) -> Before:
    """Returns what lies before a cell, as far back as to the nearest blanks; blocks that hang on none are not looked at."""
    found: set[Cell] = set()
    between = {cell: None}
    new = [cell]
    while new:
        for read in reads(new.pop(), values):
            for each in read.cells:
                if each in blanks:
                    found.add(each)
                elif each.block in hanging and each not in between:
                    between[each] = None
                    new.append(each)
    return Before(frozenset(found), tuple(between))
