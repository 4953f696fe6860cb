"""Hold the axes and the two helpers that the tests of the notation share."""

from collections.abc import Callable, Mapping
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
    """Returns the values of an expression as nested lists (a single one as it is)."""
    made = defined("y", axes, expr)
    return np.asarray(compute([*given, made], sizes, given)[made]).tolist()
