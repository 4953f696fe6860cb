"""The rows of a workbook by name, as those of one repetition know each other."""

from collections.abc import Callable, Iterator, Mapping

from blueprint.language import Block, Expr, Position, Ref, walk
from blueprint.misconceptions.parts import moved


class Names:
    """The blocks of a workbook by name, as a row knows them: those of its own repetition (`epoch2.`) first.

    bound: what stands for the {braces} in names.
    """

    def __init__(self, blocks: Mapping[str, Block], bound: Mapping[str, str | None]):
        self._blocks, self._bound, self._within = blocks, bound, bound.get("within") or ""

    def __getitem__(self, name: str) -> Block:
        """Returns a block; of several names, which stand apart by |, the first that the workbook has. Raises KeyError."""
        found = (self._blocks[each] for each in self._called(name) if each in self._blocks)
        if (block := next(found, None)) is None:
            raise KeyError(name)
        return block

    def _called(self, name: str) -> Iterator[str]:
        """Yields what a row may be called: with its repetition before it, or without."""
        for each in name.split("|"):
            if "{" not in each or any(f"{{{text}}}" in each for text in self._bound):
                plain = each.format(**self._bound)
                yield from (f"{self._within}{plain}", plain)

    def __call__(self, name: str, by: int = 0) -> Ref:
        """Reads a row in the cell's own column, or `by` columns from it. Raises KeyError for one that is not there."""
        block = self[name]
        own = Ref(block, tuple(map(Position, block.axes)))
        read = moved(own, by) if by else own
        if by and read is own:
            raise KeyError(name)
        return read

    def means(self, node: Expr, name: str) -> bool:
        """Tells whether a part of an equation reads the row of this name, or one that repeats it.

        name: several stand apart by |; behind @ stands how many columns from the cell's own it is read.
        """
        return isinstance(node, Ref) and any(self._is(node, *each.split("@")) for each in name.split("|"))

    def _is(self, ref: Ref, name: str, by: str = "") -> bool:
        moved = next((index.by for index in ref.at if isinstance(index, Position) and index.by), 0)
        called = [*self._called(name)]
        return by in ("", str(moved)) and any(block.name in called for block in _repeated(ref.block))


def _repeated(block: Block) -> Iterator[Block]:
    """Yields a block, and link after link what it repeats."""
    yield block
    while block.link:
        block = next(node.block for node in walk(block.definitions[-1].expr) if isinstance(node, Ref))
        yield block


Change = Callable[[Expr, Names], Expr]
"""How a misconception changes a right-hand side."""
