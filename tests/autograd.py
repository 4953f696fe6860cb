"""The rows of the way back beside autograd through the notation: what each optimiser makes smaller, by every cell of a book."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

import blueprint as bp
from blueprint.language import Block
from blueprint.language.evaluate_torch import evaluate_torch
from blueprint.language.making import behind_links
from blueprint.language.schedule import needs
from blueprint.workbooks.common import Backward
from blueprint.workbooks.registry import kind_named
from tests.workbooks.central import reached

Array = npt.NDArray[Any]
Root = tuple[Block, list[Block], list[Block]]
"""What is differentiated, by what, and what passes no slope on."""


@cache
def backward_of(kind: str) -> Backward:
    """Returns what a kind of workbook says of its way back."""
    module: ModuleType = import_module(str(kind_named(kind).gradient).partition(":")[0])
    found: Backward = module.MOVED
    return found


def steps(book: bp.Book) -> Iterator[tuple[str, dict[str, Block]]]:
    """Yields each step of an optimiser by the prefix of its rows, with these by their own names."""
    epochs = {name.split(".")[0] for name in book.blocks if name.startswith("epoch")}
    yield "", book.blocks
    for epoch in sorted(each for each in epochs if each[5:].isdigit()):
        yield f"{epoch}.", {name[7:]: block for name, block in book.blocks.items() if name.startswith(f"{epoch}.")}


def roots(of: Backward, rows: dict[str, Block]) -> Iterator[Root]:
    """Yields the totals of one step: one, or where the critic trains apart its own besides."""
    known = of.known(rows)
    policy, critic = ([behind_links(each) for each in side] for side in of.moves(known))
    still = [known[name] for name in of.constant if name in known]
    if "critic_loss" in known and critic:
        yield known["total_loss"], policy, still
        yield known["critic_loss"], critic, still
    elif "total_loss" in known:
        yield known["total_loss"], [*policy, *critic], still


def inside(slope: object, block: Block, book: bp.Book) -> np.ndarray:
    """Returns the slope by a block's cells without those at its edges."""
    values = book.values
    cut = [slice(values.before(block, axis), values.before(block, axis) + values.size(axis)) for axis in block.axes]
    return np.asarray(slope)[tuple(cut)]


def belongs_to(prefix: str, name: str) -> bool:
    """Tells whether a block is one of a step, or of the libraries: those without a prefix are of the first step."""
    return name.startswith(prefix) if prefix else not name.startswith(("library.", "epoch"))


def away(book: bp.Book, root: Root, prefix: str, row_of: str, device: str = "cpu") -> Iterator[tuple[str, float]]:
    """Yields the rows of the way back from a root, with how far each is from autograd."""
    for name, ours, theirs in both(book, root, prefix, row_of, device):
        yield name, float(np.max(np.abs(ours - theirs) / (1 + np.abs(ours)), initial=0))


def both(
    book: bp.Book, root: Root, prefix: str, row_of: str, device: str = "cpu"
) -> Iterator[tuple[str, Array, Array]]:
    """Yields the rows of the way back from a root, as a book and as autograd have them."""
    total, moving, still = root[0], set(root[1]), root[2]
    outline = book.blueprint
    blocks = outline.blocks()
    needed = reached([total, *moving, *still], {block: {need.read for need in needs(block)} for block in blocks})
    found = evaluate_torch(
        [block for block in blocks if block in needed],
        outline.sizes,
        {block: each for block, each in outline.typed.items() if block in needed},
        moving=moving,
        still=still,
        beyond=book.values.beyond,
        device=device,
    )
    for block, slope in found.slopes(total).items():
        row = book.blocks.get(row_of.format(block.name.removeprefix(prefix)))
        if row is None or (not belongs_to(prefix, block.name) and block not in moving):
            continue
        ours, theirs = book.values[row], inside(slope.cpu(), block, book)
        if row.axes != block.axes:
            ours = ours.sum(0)  # libraries side by side: autograd has the slope of their sum
        if ours.shape == theirs.shape:
            yield row.name, ours, theirs


def way_back(book: bp.Book, kind: str, device: str = "cpu") -> dict[str, float]:
    """Returns how far each row of the way back is from autograd."""
    return {
        row: far
        for prefix, rows in steps(book)
        for root in roots(backward_of(kind), rows)
        for row, far in away(book, root, prefix, prefix + "{}.grad", device)
    }


def slopes(book: bp.Book, kind: str = "rlhf_ppo") -> dict[str, Array]:
    """Returns what autograd finds for each row of the way back of a workbook with one step."""
    return {
        row: theirs
        for root in roots(backward_of(kind), book.blocks)
        for row, _, theirs in both(book, root, "", "{}.grad")
    }


def roots_of_libraries(book: bp.Book, kind: str) -> Iterator[Root]:
    """Yields the totals of libraries side by side."""
    shared = {
        each.removeprefix("library."): block for each, block in book.blocks.items() if each.startswith("library.")
    }
    used = {"loss.advantages": shared["advantages_used"]} if "advantages_used" in shared else {}
    yield from roots(backward_of(kind), {**book.blocks, **shared, **used})


def libraries_way_back(book: bp.Book, kind: str) -> dict[str, float]:
    """Returns how far rows of libraries are from autograd, which has the slope of their sum."""
    return {
        row: far
        for root in roots_of_libraries(book, kind)
        for row, far in away(book, root, "library.", "library.{}.grad")
    }
