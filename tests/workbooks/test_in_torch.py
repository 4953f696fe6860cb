"""Every built-in workbook in torch: each cell as in numpy, and each row of the way back as autograd has it.

Books in which libraries stand side by side have the rows of every preset (`library.…`), values and gradients.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.page.workshop import BUILT_IN, SLOPED

pytest.importorskip("torch", reason="the notation is evaluated by torch here: install the extra [torch]")

import blueprint as bp
from blueprint.inputs import load
from blueprint.language.evaluate_torch import Tensors, evaluate_torch
from blueprint.workbooks.registry import kind_of
from tests.autograd import libraries_way_back, way_back
from tests.same.cases import presets_of

COMPARED = ("ten-libraries", "by-hand", "grpo-batch", "dpo-batch")
"""Numbers whose workbooks can set all libraries side by side; of the others each preset is built."""
ONE_BY_ONE = [(name, preset) for name in ("classic", "sft-batch", "reward-batch") for preset in presets_of(name)]
CLOSE = 1e-12
ILL = {"pipeline/reward-model": 1e-8}
"""The slope by the head's bias is 0 but for rounding, and Adam divides it by its own size and 1e-8."""


@cache
def built(name: str, preset: str | None = None, compare: str | None = None) -> bp.Book:
    return bp.build(name, preset=preset, compare=compare, gradients=name in SLOPED)


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


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name in SLOPED])
def test_every_row_of_the_way_back_is_as_autograd_has_it(name: str) -> None:
    compared = way_back(built(name), kind_of(load(name)).name)
    assert len(compared) > 3
    assert {row: far for row, far in compared.items() if not far <= CLOSE} == {}


@pytest.mark.parametrize(("name", "preset"), ONE_BY_ONE)
def test_every_presets_way_back_is_as_autograd_has_it(name: str, preset: str) -> None:
    compared = way_back(built(name, preset), kind_of(load(name)).name)
    assert len(compared) > 3
    assert {row: far for row, far in compared.items() if not far <= CLOSE} == {}


@pytest.mark.parametrize("name", COMPARED)
def test_every_librarys_numbers_and_way_back_are_the_same(name: str) -> None:
    book = built(name, compare=",".join(presets_of(name)))
    found = evaluate_torch(book.blueprint.blocks(), book.blueprint.sizes, book.blueprint.typed)
    assert {block: far for block, far in furthest(found, book).items() if far > CLOSE} == {}
    compared = libraries_way_back(book, kind_of(load(name)).name)
    assert len(compared) > 5
    assert {row: far for row, far in compared.items() if not far <= CLOSE} == {}
