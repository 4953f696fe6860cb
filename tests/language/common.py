"""Hold the axes and the two helpers that the tests of the notation share."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from blueprint.language import Axis, Block, NotationError, Operand, block, compute, join

n = Axis("n", "episode", start=1)
t = Axis("t", "decision", start=1)
v = Axis("v", "word")
k = Axis("k", "input")
j = Axis("j", "hidden unit")
one = Axis("one", "bias", size=1)
i = join("i", "row", k, j, one)

SIZES = {n: 2, t: 3, v: 4, k: 2, j: 3}

TORCH = find_spec("torch") is not None
Given = Mapping[Block, object]


def refusal(write: Callable[[], object]) -> str:
    """Returns the sentence with which something is refused; fails if it is accepted or fails in another way."""
    with pytest.raises(NotationError) as refused:
        write()
    return str(refused.value)


def defined(name: str, axes: tuple[Axis, ...], expr: Operand) -> Block:
    """Returns a block with one equation for all its cells."""
    made = block(name, axes)
    made[axes] = expr
    return made


def result(axes: tuple[Axis, ...], expr: Operand, given: Given, sizes: Mapping[Axis, int] = SIZES) -> Any:
    """Returns the values of an expression as nested lists (a single one as it is); torch, where there is one, has the same."""
    made = defined("y", axes, expr)
    found = np.asarray(compute([*given, made], sizes, given)[made])
    if TORCH:
        from blueprint.language.evaluate_torch import evaluate_torch

        other = evaluate_torch([*given, made], sizes, given).numpy(made)
        compared = np.testing.assert_array_equal if made.text else partial(np.testing.assert_allclose, rtol=1e-14)
        compared(other, found)
    return found.tolist()
