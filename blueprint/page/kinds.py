"""Kinds of lines of the walk: what each one is called, and how its value looks."""

from __future__ import annotations

from blueprint.language.axes import Position
from blueprint.language.nodes import Constant, Lookup, Reduce, Ref
from blueprint.language.spelling.text import text
from blueprint.page.digits import SHOWN
from blueprint.page.dress import READS
from blueprint.page.picking import shift
from blueprint.page.steps import Leaf, blocks_of


def meaning(leaf: Leaf, whole: str) -> str:
    """Says what a line holds; `whole` is what all members together are called."""
    if isinstance(leaf, Reduce):
        return f"sum over the whole {whole}"
    if shift(leaf):
        return f"{neighbour(leaf)}: {leaf.block.symbol}"
    looked_up = (index for index in leaf.at if isinstance(index, Lookup) and not isinstance(index.id, Constant))
    for index in looked_up:
        what = index.axis.meaning.removesuffix(" id")
        return f"{leaf.block.symbol} of {what} {text(index.id, frozenset(leaf.block.axes))}"
    return leaf.block.about.meaning


def neighbour(leaf: Ref) -> str:
    """Names the member beside the chosen one that a leaf stands for: `the next day`."""
    index = next(index for index in leaf.at if isinstance(index, Position) and index.by)
    return f"the next {index.axis.meaning}" if index.by > 0 else f"the {index.axis.meaning} before"


def is_limit(leaf: Leaf) -> bool:
    """Tells whether a line may hold the word off instead of a number."""
    return isinstance(leaf, Ref) and leaf.block.limit


def is_whole(leaf: Leaf) -> bool:
    """Tells whether a quantity is printed as it stands: what is counted, and what may be the word off."""
    return is_limit(leaf) or max(block.about.decimals for block in blocks_of(leaf)) == 0


def decimals_of(leaf: Leaf) -> int:
    """Returns with how many decimals a line's number is shown."""
    return max(SHOWN, *(block.about.decimals for block in blocks_of(leaf)))


def style_of(leaf: Leaf, is_word: bool, derived: bool) -> str:
    """Returns the dress of a value: whole numbers as such, others with the decimals by which one checks them."""
    decimals = "word" if is_word else "0" if is_whole(leaf) and not is_limit(leaf) else str(decimals_of(leaf))
    reads = "" if isinstance(leaf, Reduce) else leaf.block.about.reads
    return f"live {decimals}" + " key" * derived + (READS + reads if reads else "")
