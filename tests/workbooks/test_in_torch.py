"""Every built-in workbook in torch: each cell as in numpy, and each row of the way back as autograd has it.

Books in which libraries stand side by side have the rows of every preset (`library.…`), values and gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("torch", reason="the notation is evaluated by torch here: install the extra [torch]")

import blueprint as bp
from blueprint.inputs import load
from blueprint.language import Block
from blueprint.language.evaluate_torch import Tensors, evaluate_torch
from blueprint.language.gradient.graph import behind_links
from blueprint.workbooks.common import Backward
from blueprint.workbooks.registry import kind_of, kinds
from tests.same.cases import presets_of

BUILT_IN = [name for kind in kinds() for name in kind.built_in()]
WITHOUT_LOSS = {"very-very-sleepy", "kl-controller", "optimum", "reinforce"}
"""Numbers that end before a loss, or whose workbook has no optimiser's gradient."""
COMPARED = ("ten-libraries", "by-hand", "grpo-batch", "dpo-batch")
"""Numbers whose workbooks can set all libraries side by side; of the others each preset is built."""
ONE_BY_ONE = [(name, preset) for name in ("classic", "sft-batch", "reward-batch") for preset in presets_of(name)]
CLOSE = 1e-12
ILL = {"pipeline/reward-model": 1e-8}
"""The slope by the head's bias is 0 but for rounding, and Adam divides it by its own size and 1e-8."""
Root = tuple[Block, list[Block], list[Block]]
"""What is differentiated, by what, and what passes no slope on."""


@cache
def built(name: str, preset: str | None = None, compare: str | None = None) -> bp.Book:
    return bp.build(name, preset=preset, compare=compare, gradients=name not in WITHOUT_LOSS)


def backward_of(name: str) -> Backward:
    module: ModuleType = import_module(f"blueprint.workbooks.{kind_of(load(name)).name}.backward")
    found: Backward = module.MOVED
    return found


def furthest(found: Tensors, book: bp.Book) -> dict[str, float]:
    """Returns by block how far torch is from numpy, the cells that are no number or infinite being so in both."""
    apart = {}
    for block, array in book.values.arrays.items():
        other = found.numpy(block)
        if block.text:
            assert (array == other).all(), block.name
            continue
        numbers = array.astype(float)
        assert np.array_equal(np.isfinite(numbers), np.isfinite(other)), block.name
        with np.errstate(invalid="ignore"):
            apart[block.name] = float(np.nan_to_num(np.abs(numbers - other) / (1 + np.abs(numbers))).max(initial=0))
    return apart


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_cell_is_the_same(name: str) -> None:
    book = built(name)
    found = evaluate_torch(book.blueprint.blocks(), book.blueprint.sizes, book.blueprint.typed)
    apart = furthest(found, book)
    assert len(apart) > 20
    assert {block: far for block, far in apart.items() if far > ILL.get(name, CLOSE)} == {}


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


def away(book: bp.Book, root: Root, prefix: str, row_of: str) -> Iterator[tuple[str, float]]:
    """Yields the rows of the way back from a root, with how far each is from autograd."""
    total, moving, still = root[0], set(root[1]), root[2]
    outline = book.blueprint
    found = evaluate_torch(outline.blocks(), outline.sizes, outline.typed, moving=moving, still=still)
    for block, slope in found.slopes(total).items():
        row = book.blocks.get(row_of.format(block.name.removeprefix(prefix)))
        if row is None or (not belongs_to(prefix, block.name) and block not in moving):
            continue
        ours, theirs = book.values[row], inside(slope, block, book)
        if row.axes != block.axes:
            ours = ours.sum(0)  # libraries side by side: autograd has the slope of their sum
        if ours.shape == theirs.shape:
            yield row.name, float(np.max(np.abs(ours - theirs) / (1 + np.abs(ours)), initial=0))


def way_back(name: str, preset: str | None = None) -> dict[str, float]:
    """Returns how far each row of the way back is from autograd."""
    book, of = built(name, preset), backward_of(name)
    return {
        row: far
        for prefix, rows in steps(book)
        for root in roots(of, rows)
        for row, far in away(book, root, prefix, prefix + "{}.grad")
    }


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name not in WITHOUT_LOSS])
def test_every_row_of_the_way_back_is_as_autograd_has_it(name: str) -> None:
    compared = way_back(name)
    assert len(compared) > 3
    assert {row: far for row, far in compared.items() if not far <= CLOSE} == {}


@pytest.mark.parametrize(("name", "preset"), ONE_BY_ONE)
def test_every_presets_way_back_is_as_autograd_has_it(name: str, preset: str) -> None:
    compared = way_back(name, preset)
    assert len(compared) > 3
    assert {row: far for row, far in compared.items() if not far <= CLOSE} == {}


@pytest.mark.parametrize("name", COMPARED)
def test_every_librarys_numbers_and_way_back_are_the_same(name: str) -> None:
    presets = ",".join(presets_of(name))
    book, of = built(name, compare=presets), backward_of(name)
    found = evaluate_torch(book.blueprint.blocks(), book.blueprint.sizes, book.blueprint.typed)
    assert {block: far for block, far in furthest(found, book).items() if far > CLOSE} == {}
    shared = {
        each.removeprefix("library."): block for each, block in book.blocks.items() if each.startswith("library.")
    }
    used = {"loss.advantages": shared["advantages_used"]} if "advantages_used" in shared else {}
    compared: dict[str, float] = {}
    for root in roots(of, {**book.blocks, **shared, **used}):
        compared |= dict(away(book, root, "library.", "library.{}.grad"))
    assert len(compared) > 5
    assert {row: far for row, far in compared.items() if not far <= CLOSE} == {}
