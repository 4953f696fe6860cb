"""Value iteration: golden values, walls, and the exact values of both policies."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.language import compute
from tests.page.workshop import Array, made

NAME = "value-iteration"
EXACT = 1e-12
WALLS_AROUND = 'grid.map=[["S", "#"], ["#", "G"]]'
FAR = {0.902: 6, 0.921: 5, 0.941: 4, 0.960: 3, 0.980: 2, 1.0: 1}
"""Values of cells to three decimals, and how many moves away the goal is: computed before there was a workbook."""
START = (-0.01, -0.0199, -0.0297, -0.0394, -0.0490, 0.90198, 0.90198)
RIGHT = (2, 5, 9, 12, 14, 15, 15)
WALLS = 'grid.map=[["S", "#", ".", "G"], [".", "#", ".", "#"], [".", ".", ".", "."]]'


def row(name: str, *overrides: str) -> Array:
    """Return a block, its edges included."""
    book = made(*overrides, numbers=NAME)
    return np.asarray(book.values.arrays[book.blocks[name]])


def test_the_start_and_the_cells_that_are_right_sweep_by_sweep() -> None:
    np.testing.assert_allclose(row("progress.start"), START, rtol=0, atol=5e-5)
    assert row("progress.right").tolist() == [*RIGHT]
    assert float(row("final.value")) == pytest.approx(0.99**5 - 0.01 * (1 - 0.99**5) / 0.01, abs=EXACT)


def test_the_value_of_a_cell_is_that_of_its_distance() -> None:
    values = row("sweep.value")[-1]
    for value, moves in FAR.items():
        cells = [values[r, c] for r in range(4) for c in range(4) if 6 - r - c == moves]
        np.testing.assert_allclose(cells, value, rtol=0, atol=5e-4)
    assert values[3, 3] == 0  # the goal


@pytest.mark.parametrize(
    ("gamma", "step", "value"),
    [(0.5, -0.01, 0.0119), (0.9, -0.01, 0.5495), (0.99, -0.01, 0.9020), (1, -0.01, 0.95), (0.99, -0.1, 0.461)],
)
def test_the_value_of_the_start_by_gamma_and_by_the_price_of_a_step(gamma: float, step: float, value: float) -> None:
    changed = (f"value_iteration.gamma={gamma}", f"value_iteration.step_reward={step}")
    assert float(row("final.value", *changed)) == pytest.approx(value, abs=5e-4)
    assert (row("sweep.arrow", *changed)[-1] == row("sweep.arrow")[-1]).all()  # γ and price change no path here


def test_the_policy_shows_all_best_moves_and_goes_around_walls() -> None:
    assert row("sweep.arrow")[-1].tolist()[3] == ["→", "→", "→", "G"]
    assert set(row("sweep.arrow")[-1][:3, :3].ravel()) == {"↓→"}
    assert row("sweep.arrow", WALLS, "grid.sweeps=8")[-1].tolist() == [
        ["↓", "#", "→", "G"],
        ["↓", "#", "↑", "#"],
        ["→", "→", "↑", "←"],
    ]


def test_the_random_policy_comes_to_its_exact_values() -> None:
    torch = pytest.importorskip("torch", reason="the page is torch: install the extra [torch]")
    from blueprint.papers.value_iteration import at_random, grid_of, steps_at_random

    grid = grid_of([list("S..."), *[list("....")] * 2, list("...G")], -0.01, 1.0)
    assert float(steps_at_random(grid)[0]) == pytest.approx(59.43, abs=0.005)
    assert float(at_random(grid, 1.0)[0]) == pytest.approx(0.416, abs=5e-4)
    corridor = [["S", ".", "G"]]
    exact = at_random(grid_of(corridor, -0.01, 1.0), 0.5).reshape(1, 3)
    found = row("random.value", f"grid.map={corridor}".replace("'", '"'), "value_iteration.gamma=0.5", "grid.sweeps=32")
    torch.testing.assert_close(torch.tensor(found[-1].astype(float)), exact, rtol=0, atol=0.5**32)


def test_behind_walls_one_pays_for_ever_and_with_gamma_0_only_neighbours_know_of_the_goal() -> None:
    assert float(row("final.value", WALLS_AROUND)) == pytest.approx(-0.01 * (1 - 0.99**7) / 0.01, abs=EXACT)
    values = row("sweep.value", "value_iteration.gamma=0")[-1]
    assert (values == 1).sum() == 2
    assert (values == -0.01).sum() == 13


def test_what_is_typed_over_the_map_is_read_and_something_else_is_noticed() -> None:
    assert float(row("check.map")) == 0
    book = made(numbers=NAME)
    block = book.blocks["grid.map"]
    typed = {each: book.values.arrays[each].copy() for each in book.blueprint.typed}
    typed[block][1, 1] = "x"
    found = compute(book.blueprint.blocks(), book.blueprint.sizes, typed)
    assert float(found.cell(book.blocks["check.map"])) == 1


def test_where_a_step_pays_one_does_not_arrive() -> None:
    paid = ("value_iteration.step_reward=0.1", "value_iteration.gamma=1")
    assert (np.diff(row("progress.start", *paid)) > 0).all()
    arrows = row("sweep.arrow", *paid)[-1]
    assert "↓" not in arrows[2, 3]
    assert "→" not in arrows[3, 2]
