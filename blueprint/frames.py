"""Arrays as tables: blocks as pandas DataFrames whose rows and columns say what they are of."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from blueprint.language import Axis, Block, require

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from blueprint.book import Book
    from blueprint.language.evaluate_torch import Tensors


def frame_of(book: "Book", block: Block) -> "pd.DataFrame":
    """Returns a block as a table: a row per member of its first axis, columns for all others; cells at edges are left out.

    Rows and columns are called what the axis is (week, day …). Members have the numbers that the sheets count by,
    or their words.
    """
    import pandas as pd

    array = np.atleast_1d(book.values[block])
    members = [[_member(axis, place, book) for place in range(book.values.size(axis))] for axis in block.axes]
    called = [axis.meaning for axis in block.axes]
    rows = pd.Index(members[0], name=called[0]) if block.axes else pd.Index([block.name], name="name")
    if array.ndim == 1:
        return pd.DataFrame({block.name: array}, index=rows)
    columns = pd.MultiIndex.from_product(members[1:], names=called[1:])
    return pd.DataFrame(
        array.reshape(len(rows), -1),
        index=rows,
        columns=columns if array.ndim > 2 else columns.get_level_values(0),
    )


def tensors_of(book: "Book", device: str) -> dict[str, "Tensor"]:
    """Returns the numbers of every block as torch tensors, by name, on a device; words are left out."""
    import torch

    arrays = {block.name: array for block, array in book.values.arrays.items() if array.dtype != object}
    return {name: torch.from_numpy(array.astype(np.float64)).to(device) for name, array in arrays.items()}


class Differentiable(Mapping[str, "Tensor"]):
    """The tensors of a book by name, computed in torch, with the slopes of any total by every cell."""

    def __init__(self, book: "Book", found: "Tensors"):
        self._book, self._found = book, found
        self._named = {block.name: block for block in found.arrays if not block.text}

    def __getitem__(self, name: str) -> "Tensor":
        return self._found[self._named[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def __repr__(self) -> str:
        return f"<{len(self)} tensors of {self._book.blueprint.title}: {', '.join([*self][:3])}, …>"

    def slopes(self, *totals: "Block | str") -> dict[str, "Tensor"]:
        """Returns how much totals, or the sums of their cells, grow with every cell of every block of numbers, by its name."""
        wanted = [self._book.block_named(total) if isinstance(total, str) else total for total in totals]
        return {block.name: slope for block, slope in self._found.slopes(*wanted).items()}


def differentiable(book: "Book", device: str, dtype: str) -> Differentiable:
    """Has every block of a book computed in torch, so that slopes follow."""
    from blueprint.language.evaluate_torch import evaluate_torch

    require(not book.values.held, "this book holds numbers in computed cells: slopes are those of equations alone")
    require(dtype in ("float64", "float32"), f"{dtype} is no format of these numbers: write float64 or float32")
    outline = book.blueprint
    blocks = [*outline.blocks()]
    moving = [block for block in blocks if block.typed and not (block.text or block.limit)]
    found = evaluate_torch(
        blocks,
        outline.sizes,
        outline.typed,
        device=device,
        dtype=dtype,
        moving=moving,
        beyond=book.values.beyond,
    )
    return Differentiable(book, found)


def _member(axis: Axis, place: int, book: "Book") -> object:
    """Returns what a member of an axis is called."""
    part, number = book.values.part(axis, place)
    known = book.blueprint.names.get(part, part.letter if part.size == 1 else "")
    if isinstance(known, Block):
        return book.values.cell(known, number)
    return (known if part.size == 1 else known.format(number + part.start)) or number + part.start
