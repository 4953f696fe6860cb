"""Central differences of a workbook's loss, in numpy and from its forward equations alone: a third witness of every gradient.

(L(x + h) − L(x − h)) / 2h is off by h²·L‴/6, and by the rounding of L, about 1e-16, over h. Both are about 1e-10 or less
for h = 1e-5, where L and its derivatives are about 1 to 10. All nudges are one computation: whatever hangs on what is
nudged runs along one axis more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from blueprint.book import Book
from blueprint.language import Axis, Block, Definition, Expr, Position, compute
from blueprint.language.nodes import Ref
from blueprint.language.schedule import needs
from blueprint.language.trees import rebuilt
from tests.rows import Array

NUDGE = 1e-5
NEAR = 1e-8
"""Of the largest slope of a block, see above: a hundred times what both errors come to."""
S = Axis("s", "nudge")


def slopes(book: Book, leaves: Sequence[Block], total: Block, constant: Iterable[Block] = ()) -> dict[str, Array]:
    """Returns the central difference of a total by every number of the leaves, by their names.

    constant: blocks that stay as they are, as those do through which no gradient flows.
    """
    ends = {*leaves, *constant}
    reads = {b: set() if b in ends else {need.read for need in needs(b)} for b in book.blueprint.blocks()}
    readers = {read: {b for b, found in reads.items() if read in found} for read in reads}
    moving = reached([total], reads) & reached(leaves, readers)
    still = {read for block in moving for read in reads[block]} - moving
    new = {block: _like(block, (S, *block.axes), block in ends) for block in moving}
    new |= {block: _like(block, block.axes, True) for block in still}
    for block in moving - ends:
        new[block].definitions = [
            Definition((Position(S), *each.target), _along(each.expr, new)) for each in block.definitions
        ]
    given = {block: book.values.arrays[block] for block in (*leaves, *still)}
    count = sum(given[leaf].size for leaf in leaves)
    typed: dict[Block, object] = {new[block]: given[block] for block in still}
    first = 0
    for leaf in leaves:
        typed[new[leaf]] = _nudged(given[leaf], first, count)
        first += given[leaf].size
    up, down = np.split(compute(new.values(), {**book.blueprint.sizes, S: 2 * count}, typed)[new[total]], 2)
    parts = np.split((up - down) / (2 * NUDGE), np.cumsum([given[leaf].size for leaf in leaves])[:-1])
    return {leaf.name: part.reshape(given[leaf].shape) for leaf, part in zip(leaves, parts, strict=True)}


def reached(start: Iterable[Block], leads: dict[Block, set[Block]]) -> set[Block]:
    """Returns what can be reached."""
    found, waiting = {*start}, [*start]
    while waiting:
        ahead = leads.get(waiting.pop(), set()) - found
        found |= ahead
        waiting += ahead
    return found


def _like(block: Block, axes: tuple[Axis, ...], typed: bool) -> Block:
    made = Block(block.name, axes, block.about, typed=typed)
    made.text, made.limit, made.edges = block.text, block.limit, block.edges
    return made


def _along(expr: Expr, new: dict[Block, Block]) -> Expr:
    """Returns an expression of the new blocks, of those that have one axis more at the nudge at hand."""
    found = rebuilt(expr, lambda inner: _along(inner, new))
    if not isinstance(found, Ref):
        return found
    block = new[found.block]
    return Ref(block, (Position(S), *found.at) if S in block.axes else found.at)


def _nudged(array: Array, first: int, count: int) -> Array:
    """Returns a copy for each nudge of all leaves: up, number by number, then down; the leaf's own begin with the first."""
    copies = np.repeat(array[None], 2 * count, axis=0).reshape(2 * count, -1)
    own = np.arange(array.size)
    copies[first + own, own] += NUDGE
    copies[count + first + own, own] -= NUDGE
    return copies.reshape(2 * count, *array.shape)
