"""Arrays as tables: blocks as pandas DataFrames whose rows and columns say what they are of."""

from typing import TYPE_CHECKING

import numpy as np

from blueprint.language import Axis, Block

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from blueprint.book import Book


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


def _member(axis: Axis, place: int, book: "Book") -> object:
    """Returns what a member of an axis is called."""
    part, number = book.values.part(axis, place)
    known = book.blueprint.names.get(part, part.letter if part.size == 1 else "")
    if isinstance(known, Block):
        return book.values.cell(known, number)
    return (known if part.size == 1 else known.format(number + part.start)) or number + part.start
