"""Kinds of lines of the walk: what each one is called, and how its value looks."""

from __future__ import annotations

from blueprint.language.nodes import Constant, Lookup, Reduce, Ref
from blueprint.language.spelling.text import text
from blueprint.page.digits import SHOWN
from blueprint.page.dress import READS
from blueprint.page.picking import shift
from blueprint.page.steps import Leaf, blocks_of

NEIGHBOURS = {-1: "the decision before", 1: "the next decision"}


def meaning(leaf: Leaf) -> str:
    """Says what a line holds."""
    if isinstance(leaf, Reduce):
        return "sum over the whole batch"
    if by := shift(leaf):
        return f"{NEIGHBOURS[by]}: {leaf.block.symbol}"
    words = (index.id for index in leaf.at if isinstance(index, Lookup) and not isinstance(index.id, Constant))
    for word in words:
        return f"{leaf.block.symbol} of word {text(word, frozenset(leaf.block.axes))}"
    return leaf.block.about.meaning


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
