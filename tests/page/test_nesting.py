"""Blocks along several axes downwards: one inside the other under headings, nothing over anything else, sums of what is meant."""

from pathlib import Path

import numpy as np
import openpyxl
import pytest

from blueprint import Book
from blueprint.notation import Axis, Max, NotationError, Sum, block, book, typed
from blueprint.page.outline import Blueprint, Line, Row, Section, Sheet, Table
from blueprint.page.read import read

p, s, t = Axis("p", "pair"), Axis("s", "side"), Axis("t", "token")
X = np.round(np.random.default_rng(4).normal(size=(3, 2, 4)), 2)


def pairs() -> Book:
    """Returns logits of pairs, their running sum, what each side comes to, the larger side, and all in all."""
    x, run = typed("x", (p, s, t), "x", "logit"), block("run", (p, s, t), "r", "running sum")
    side, larger = block("side", (p, s), "S", "sum of a side"), block("larger", (p,), "d", "larger side")
    every = block("every", (), "E", "all in all")
    run[p, s, t.first - 1] = 0
    run[p, s, t] = run[p, s, t - 1] + x[p, s, t]
    side[p, s] = Sum(t, x[p, s, t])
    larger[p] = Max(s, side[p, s])
    every[()] = Sum((p, s), side[p, s])
    return book("Pairs", [x, run, side, larger, every], t, {x: X})


def test_three_axes_lie_one_inside_the_other_and_come_back_as_they_were(tmp_path: Path) -> None:
    made, path = pairs(), tmp_path / "pairs.xlsx"
    formulas = made.save(path)
    proof = made.prove(path)
    assert proof.failures == []
    assert proof.total == formulas
    found = read(path)
    assert np.array_equal(found["x"], X)
    assert np.allclose(found["run"][..., 1:], X.cumsum(axis=2), rtol=0, atol=1e-12)
    assert np.allclose(found["side"], X.sum(axis=2), rtol=0, atol=1e-12)
    assert np.allclose(found["larger"], X.sum(axis=2).max(axis=1), rtol=0, atol=1e-12)
    assert found["every"] == pytest.approx(X.sum(), abs=1e-12)


def test_each_member_of_an_outer_axis_has_a_heading_and_below_it_the_inner_rows(tmp_path: Path) -> None:
    pairs().save(tmp_path / "pairs.xlsx")
    page = openpyxl.load_workbook(tmp_path / "pairs.xlsx")["Pairs"]
    first = next(row for row in range(1, 40) if page.cell(row, 3).value == "pair 0")
    names = [(page.cell(row, 2).value, page.cell(row, 3).value) for row in range(first, first + 9)]
    assert names == [
        (None, f"pair {pair}") if row == 0 else (f"x{row - 1}", None) for pair in range(3) for row in range(3)
    ]
    numbers = [[cell.value for cell in page[row] if isinstance(cell.value, float)] for row in range(first, first + 9)]
    assert numbers == [[] if row == 0 else X[pair, row - 1].tolist() for pair in range(3) for row in range(3)]


def test_four_axes_and_cells_at_the_edges_have_rows_of_their_own(tmp_path: Path) -> None:
    k = Axis("k", "prompt")
    x, sums = typed("x", (k, p, s, t), "x", "logit"), block("sums", (k, p, s, t), "r", "running sum")
    sums[k, p, s.first - 1, t] = 0
    sums[k, p, s, t] = sums[k, p, s - 1, t] + x[k, p, s, t]
    numbers = np.arange(2 * 3 * 2 * 4, dtype=float).reshape(2, 3, 2, 4)
    made = book("Four", [x, sums], t, {x: numbers})
    formulas = made.save(tmp_path / "four.xlsx")
    assert made.prove(tmp_path / "four.xlsx").agreeing == formulas
    assert np.array_equal(read(tmp_path / "four.xlsx")["sums"][:, :, 1:], numbers.cumsum(axis=2))


@pytest.mark.parametrize("over", [p, (p, t)])
def test_a_sum_between_whose_cells_others_stand_is_refused(over: Axis | tuple[Axis, ...]) -> None:
    x = typed("x", (p, s, t), "x", "logit")
    rest = (s,) if isinstance(over, tuple) else (s, t)
    total = block("total", rest, "X", "total")
    total[rest] = Sum(over, x[p, s, t])
    with pytest.raises(NotationError, match="cells of other sides stand between; sum over s as well, or link a block"):
        book("T", [x, total], t, {x: X}).save("never.xlsx")


def test_a_sum_over_groups_in_whose_columns_other_members_stand_is_refused(tmp_path: Path) -> None:
    n = Axis("n", "episode")
    x, total = typed("x", (n, t), "x", "logit"), block("total", (t,), "X", "total")
    total[t] = Sum(n, x[n, t])
    sheet = Sheet("T", "", (Section("T", (x, total)),), (n, t))
    made = Book(Blueprint("T", (sheet,), {n: 2, t: 3}, {x: np.arange(6.0).reshape(2, 3)}))
    with pytest.raises(NotationError, match="x\\[n, t\\] over n: cells of other tokens stand between"):
        made.save(tmp_path / "never.xlsx")
    assert not (tmp_path / "never.xlsx").exists()


@pytest.mark.parametrize("item", [Line, Table])
def test_what_would_be_laid_over_itself_is_refused_before_anything_is_written(item: type, tmp_path: Path) -> None:
    x = typed("x", (p, s, t), "x", "logit")
    placed = Line((x,)) if item is Line else Table(x, t)
    made = Book(Blueprint("T", (Sheet("T", "", (Section("T", (placed,)),), ()),), {p: 3, s: 2, t: 4}, {x: X}))
    with pytest.raises(NotationError, match=r"two numbers of x would stand in one cell|x has 3 axes, a Table two"):
        made.save(tmp_path / "never.xlsx")
    assert not (tmp_path / "never.xlsx").exists()


def test_two_blocks_in_one_cell_are_refused() -> None:
    one, other = typed("one", (s,), "a", "one"), typed("other", (p, s), "b", "other")
    head = Sheet("T", "", (Section("T", (one,)),), (s,), head=(other,))
    made = Book(Blueprint("T", (head,), {p: 30, s: 2}, {one: np.zeros(2), other: np.zeros((30, 2))}))
    with pytest.raises(NotationError, match=r"one and other|other and one|two numbers of other"):
        made.save("never.xlsx")


def test_weights_beside_rows_along_two_axes_are_refused() -> None:
    x, weights = typed("x", (p, s, t), "x", "logit"), typed("w", (p, s), "w", "weight")
    sheet = Sheet("T", "", (Section("T", (Row(x, beside=weights),)),), (t,))
    made = Book(Blueprint("T", (sheet,), {p: 3, s: 2, t: 4}, {x: X, weights: np.zeros((3, 2))}))
    with pytest.raises(NotationError, match="w stands beside x, which has rows along 2 axes: make it a Table"):
        made.save("never.xlsx")


def test_a_row_on_a_sheet_of_other_columns_is_refused(tmp_path: Path) -> None:
    n = Axis("n", "episode")
    x, twice = typed("x", (n, t), "x", "logit"), block("twice", (n,), "c", "twice the number")
    number, product = typed("number", (n,), "a", "number"), block("product", (n, t), "d", "product")
    twice[n] = number[n] + number[n]
    product[n, t] = twice[n] * x[n, t]
    sheets = (
        Sheet("One", "", (Section("One", (number, twice)),), (n,)),
        Sheet("Two", "", (Section("Two", (x, product)),), (n, t)),
    )
    numbers = {number: np.array([1.0, 2.0]), x: np.arange(6.0).reshape(2, 3)}
    made = Book(Blueprint("T", sheets, {n: 2, t: 3}, numbers))
    with pytest.raises(NotationError, match="c\\[n\\] goes on by 1 columns for each n, the cells that read it by"):
        made.save(tmp_path / "never.xlsx")
