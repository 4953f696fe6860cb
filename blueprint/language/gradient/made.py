"""What a gradient comes to: the adjoint of every block on the way, and where it belongs."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.language.axes import NotationError
from blueprint.language.blocks import Block
from blueprint.language.gradient.algebra import Product
from blueprint.language.gradient.graph import behind_links
from blueprint.language.gradient.rows import Rows


@dataclass(frozen=True)
class Gradient:
    """The adjoints of a total: `gradient[W]` is ∂L/∂W, a block over W's axes like any other.

    total: what was differentiated; of several totals the last. found: what each adjoint is. rows: the blocks that were made.
    """

    total: Block
    found: dict[Block, Product]
    rows: Rows

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every block that was made, from the total down, for a page to lay out."""
        return tuple(self.rows.made)

    @property
    def home(self) -> dict[Block, Block]:
        """For each of them the block with which it belongs on a page: of an adjoint what it is the adjoint of."""
        return self.rows.home

    @property
    def beside(self) -> dict[Block, Block]:
        """The table that is read row by row with a block, and so stands left of it."""
        return self.rows.beside

    @property
    def totals(self) -> dict[Block, Block]:
        """For each of them the total to which it leads."""
        return self.rows.totals

    def __getitem__(self, of: Block) -> Block:
        """Returns the adjoint of a block; where it is cell by cell another's, that one's.

        Raises NotationError for a block through which no derivative goes, and for one that needed no row.
        """
        product = self.found.get(behind_links(of))
        if product is None:
            raise NotationError(f"∂{self.total.symbol}/∂{of.symbol}: no derivative goes through {of.name}")
        if product.bare is None or product.sign < 0:
            raise NotationError(
                f"∂{self.total.symbol}/∂{of.symbol} is {product.term} and has no row: ask for it with keep="
            )
        return product.bare.block
