"""The rows of a workbook by name, as those of one repetition know each other."""

from collections.abc import Callable, Iterator, Mapping

from blueprint.language import Block, Expr, Position, Ref, walk


class Names:
    """The blocks of a workbook by name, as a row knows them: those of its own repetition (`epoch2.`) first.

    bound: what stands for the {braces} in names.
    """

    def __init__(self, blocks: Mapping[str, Block], bound: Mapping[str, str | None]):
        self._blocks, self._bound, self._within = blocks, bound, bound.get("within") or ""

    def __getitem__(self, name: str) -> Block:
        """Returns a block. Raises KeyError for one that the workbook has not."""
        plain = name.format(**self._bound)
        own = f"{self._within}{plain}"
        return self._blocks[own if own in self._blocks else plain]

    def __contains__(self, name: str) -> bool:
        plain = name.format(**self._bound)
        return f"{self._within}{plain}" in self._blocks or plain in self._blocks

    def means(self, node: Expr, name: str) -> bool:
        """Tells whether a part of an equation reads the row of this name, or one that repeats it.

        name: several stand apart by |; behind @ stands how many columns from the cell's own it is read.
        """
        return isinstance(node, Ref) and any(self._is(node, *each.split("@")) for each in name.split("|"))

    def _is(self, ref: Ref, name: str, by: str = "") -> bool:
        moved = next((index.by for index in ref.at if isinstance(index, Position) and index.by), 0)
        plain = name.format(**self._bound)
        return by in ("", str(moved)) and any(b.name.removeprefix(self._within) == plain for b in _repeated(ref.block))


def _repeated(block: Block) -> Iterator[Block]:
    """Yields a block, and link after link what it repeats."""
    yield block
    while block.link:
        block = next(node.block for node in walk(block.definitions[-1].expr) if isinstance(node, Ref))
        yield block


Change = Callable[[Expr, Names], Expr]
"""How a misconception changes a right-hand side."""
