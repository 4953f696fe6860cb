"""Every cell of saved files, computed again: the equations of a fresh workbook, by torch, from what is typed in the files.

This sees what a spreadsheet, an edit or an engine did wrong. What an equation itself has wrong it repeats: for that there are the
pages of `papers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from blueprint.checking.files import Checked
from blueprint.language import Array, Block
from blueprint.language.schedule import read_by
from blueprint.page.outline import Blueprint
from blueprint.reopening.typed import cleaned

if TYPE_CHECKING:
    from blueprint.language.evaluate_torch import Tensors

TIE = {"float64": 1e-9, "float32": 2e-5}
"""Within this distance of a boundary two honest computations may decide differently."""
SINGLE = "float32"
SLOPE = ".grad"
"""How the name of a row ends that shows the slope of another one."""


class Tie(NamedTuple):
    """A number so close to the edge between two members that two honest computations may choose differently.

    of: the block whose cell chooses; at: the index of the cell, counted from 1.
    """

    of: str
    at: tuple[int, ...]


class Recomputed(NamedTuple):
    """What the equations make of one file: what is typed and every computed block by name, and the choices that are ties."""

    typed: dict[str, Array]
    rows: dict[str, Array]
    ties: tuple[Tie, ...]


def recomputed(files: Sequence[Checked], device: str, dtype: str) -> list[Recomputed]:
    """Computes every block of files, those of one kind and size together.

    Raises ReadError, with the cell, for what is typed and cannot be computed with.
    """
    together: dict[int, list[int]] = {}
    for number, file in enumerate(files):
        together.setdefault(id(file.outline), []).append(number)
    found: dict[int, Recomputed] = {}
    for numbers in together.values():
        found |= zip(numbers, _together([files[number] for number in numbers], device, dtype), strict=True)
    return [found[number] for number in range(len(files))]


def _together(files: Sequence[Checked], device: str, dtype: str) -> list[Recomputed]:
    from blueprint.language.evaluate_torch import evaluate_torch

    outline = files[0].outline
    blocks = [*outline.blocks()]
    typed = [_typed_in(file, outline) for file in files]
    made = evaluate_torch(blocks, outline.sizes, typed, device=device, dtype=dtype, near=TIE[dtype])
    arrays = {block: made.numpy(block) for block in made.arrays if not block.typed}
    if dtype == SINGLE and (beyond := _beyond(arrays)):
        exact = evaluate_torch(blocks, outline.sizes, typed, device="cpu")
        arrays |= {block: exact.numpy(block) for block in beyond}
    ties = _ties(made, len(files))
    return [
        Recomputed(
            {block.name: array for block, array in typed[number].items()},
            {block.name: _of_file(array, number) for block, array in arrays.items()},
            tuple(ties[number]),
        )
        for number in range(len(files))
    ]


def _beyond(arrays: Mapping[Block, Array]) -> list[Block]:
    """Returns the blocks that have no number somewhere, and all that hang on them: in double precision they may have one.

    A sheet that shows where exp overflows has 1e307 in a cell, which single precision cannot hold.
    """
    readers: dict[Block, list[Block]] = {}
    for block in arrays:
        for read in read_by(block):
            readers.setdefault(read, []).append(block)
    found = [each for each, array in arrays.items() if not (each.text or each.limit) and not np.isfinite(array).all()]
    for block in found:  # which grows by what is found
        found += [reader for reader in dict.fromkeys(readers.get(block, ())) if reader not in {*found}]
    return found


def _of_file(array: Array, number: int) -> Array:
    """Returns the cells of one file; a single one is an array, too."""
    return np.asarray(array[number], dtype=array.dtype)


def _typed_in(file: Checked, outline: Blueprint) -> dict[Block, Array]:
    """Returns what is typed in a file, by block; of blocks that a worksheet leaves out, what its numbers say."""
    typed = {block: np.asarray(array) for block, array in outline.typed.items()}
    for block in typed:
        if not file.left_out(block.name):
            file.block(block.name)
            typed[block] = file.arrays[block.name]
    named = cleaned(outline, typed, file)
    return {block: named[block.name] for block in typed}


def _ties(made: Tensors, files: int) -> list[list[Tie]]:
    """Returns by file the cells that chose by a number at an edge, and where gradients are shown those at a kink."""
    found: list[list[Tie]] = [[] for _ in range(files)]
    differentiated = {block.name.removesuffix(SLOPE) for block in made.arrays if block.name.endswith(SLOPE)}
    kinks = {block: each for block, each in made.kinks.items() if block.name in differentiated}
    for block, tied in (*made.ties.items(), *kinks.items()):
        for number, *at in tied.nonzero().tolist():
            found[number].append(Tie(block.name, tuple(at)))
    return found
