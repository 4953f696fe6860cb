"""Cells that hold a number whatever their equation says: what reads them goes on with it, and what the equation gave is kept."""

import numpy as np
import pytest

from blueprint.language import Block, compute
from blueprint.notation import Axis, NotationError, block, typed

n, t = Axis("n", "series"), Axis("t", "step")


def running_sum() -> tuple[Block, Block]:
    x = typed("x", (n, t), "x", "a number")
    total = block("total", (n, t), "S", "the sum up to here")
    total[n, t.first - 1] = 0
    total[n, t] = total[n, t - 1] + x[n, t]
    return x, total


def test_what_reads_a_held_cell_goes_on_with_its_number_and_the_equation_s_own_is_kept() -> None:
    x, total = running_sum()
    numbers = {x: [[1, 2, 3, 4], [10, 20, 30, 40]]}
    values = compute([x, total], {n: 2, t: 4}, numbers, held={total: {(0, 1): 100.0, (0, 3): 7.0}})
    np.testing.assert_array_equal(values[total], [[1, 100, 103, 7], [10, 30, 60, 100]])
    own = values.own[total][:, 1:]
    assert own[0, 1] == 3
    assert own[0, 3] == 107
    assert np.isnan(np.delete(own.ravel(), [1, 3])).all()


def test_without_held_cells_nothing_is_different() -> None:
    x, total = running_sum()
    numbers = {x: [[1, 2, 3, 4]]}
    assert compute([x, total], {n: 1, t: 4}, numbers)[total].tolist() == [[1, 3, 6, 10]]


def test_a_typed_cell_is_typed_not_held() -> None:
    x, total = running_sum()
    with pytest.raises(NotationError, match="x: only a computed number can be held"):
        compute([x, total], {n: 1, t: 1}, {x: [[1]]}, held={x: {(0, 0): 2.0}})
