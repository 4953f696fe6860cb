"""Plants a misconception of the list into a fresh blueprint: the row has the wrong equation, and all that reads it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from blueprint.language import Block, Definition
from blueprint.misconceptions import Rows
from blueprint.workbooks.kind import Kind


def plant(name: str, row: str, blocks: Mapping[str, Block], kind: Kind) -> None:
    """Gives a row the equation of a misconception. Raises LookupError where the row has none of that name."""
    block = blocks[row]
    known = {each.name: each for each in Rows(blocks.values()).rewritten(kind, block)}
    if name not in known:
        raise LookupError(f"{row} has no misconception {name}: its are {', '.join(known)}")
    block.definitions = [Definition(d.target, known[name].instead.get(d, d.expr)) for d in block.definitions]


@contextmanager
def right_again(block: Block) -> Iterator[None]:
    """Takes a planted mistake out when it was looked at: one blueprint serves all of them."""
    kept = block.definitions
    try:
        yield
    finally:
        block.definitions = kept
