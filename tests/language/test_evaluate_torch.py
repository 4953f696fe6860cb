"""The notation in torch: many files at once, slopes by every cell, and the numbers at which autograd goes wrong by itself.

What each operation gives is tested beside numpy's: `common.result` has every value of `test_values` computed by both.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("torch", reason="this is how torch computes equations: install the extra [torch]")

import torch

from blueprint.language import (
    Block,
    Expr,
    Max,
    NotationError,
    Sum,
    block,
    compute,
    equal,
    exp,
    find,
    less,
    log,
    match,
    maximum,
    minimum,
    sqrt,
    typed,
    weighed,
    where,
)
from blueprint.language.evaluate_torch import OPERATIONS, Tensors, evaluate_torch
from blueprint.language.vectorise import LAZY, NUMPY
from tests.language.common import SIZES, Given, defined, n, t, v
from tests.language.test_brackets import drawn
from tests.language.trees import LEAVES, trees

a, b = typed("a"), typed("b")
x = typed("x", (n, t))
w = typed("w", (v,))


def slope(expr: Expr, given: Given, by: Block = a) -> float:
    """Returns how much an expression grows with a typed number."""
    made = defined("y", (), expr)
    return float(evaluate_torch([*given, made], SIZES, given, moving=[by]).slopes(made)[by])


def recursion() -> tuple[Block, Block]:
    """Returns the discounted sum G[t] = x[t] + a·G[t + 1], as an advantage is one, and its total."""
    G = block("G", (n, t))
    G[n, t.last + 1] = 0
    G[n, t] = x[n, t] + a * G[n, t + 1]
    return G, defined("total", (), Sum((n, t), G[n, t]))


GIVEN = {a: 0.5, x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}


def test_every_operation_on_numbers_is_there() -> None:
    assert NUMPY.keys() == OPERATIONS.keys() | {*LAZY, "equal"}


def test_random_expressions_are_what_numpy_makes_of_them() -> None:
    rows = [defined(f"y{i}", (), tree.expr) for i, tree in enumerate(drawn(trees()))]
    values = compute([*LEAVES, *rows], {}, LEAVES)
    found = evaluate_torch([*LEAVES, *rows], {}, LEAVES)
    assert len(rows) > 100
    np.testing.assert_allclose([float(found[row]) for row in rows], [float(values[row]) for row in rows], rtol=1e-13)


def test_random_expressions_grow_as_their_differences_say() -> None:
    step, compared = 1e-6, 0
    rows = [defined(f"y{i}", (), tree.expr) for i, tree in enumerate(drawn(trees())[::6])]
    for leaf, number in LEAVES.items():
        down, here, up = (compute([*LEAVES, *rows], {}, {**LEAVES, leaf: number + way}) for way in (-step, 0, step))
        found = evaluate_torch([*LEAVES, *rows], {}, LEAVES, moving=[leaf])
        for row in rows:
            before, behind = (float(here[row] - down[row]) / step, float(up[row] - here[row]) / step)
            if before == pytest.approx(behind, rel=1e-3, abs=1e-3):  # elsewhere two sides of a max or an IF meet
                compared += 1
                assert float(found.slopes(row)[leaf]) == pytest.approx(behind, rel=2e-3, abs=2e-3), str(row)
    assert compared > 3 * len(rows)


def test_a_recursion_has_the_slopes_of_all_its_cells() -> None:
    G, total = recursion()
    found = evaluate_torch([*GIVEN, G, total], SIZES, GIVEN, moving=[x])
    slopes = found.slopes(total)
    assert found[G].tolist() == [[2.75, 3.5, 3.0, 0.0], [8.0, 8.0, 6.0, 0.0]]
    # What one more of x[t] adds to G[t], G[t − 1] and G[t − 2]: 1, 1 + ½, 1 + ½ + ¼. At the edge there is a slope as well.
    assert slopes[x].tolist() == [[1.0, 1.5, 1.75]] * 2
    assert slopes[G].tolist() == [[1.0, 1.5, 1.75, 0.875]] * 2


def test_files_side_by_side_are_what_each_is_by_itself() -> None:
    G, total = recursion()
    files = [{**GIVEN, a: discount} for discount in (0.5, 1.0, 0.0)]
    found = evaluate_torch([*GIVEN, G, total], SIZES, files, moving=[a])
    for i, file in enumerate(files):
        alone = evaluate_torch([*GIVEN, G, total], SIZES, file, moving=[a])
        assert torch.equal(found[G][i], alone[G])
        assert found.slopes(total)[a][i] == alone.slopes(total)[a]


def test_a_file_is_looked_up_in_its_own_numbers() -> None:
    row = defined("row", (n, t), w[x[n, t]])
    files = [{x: [[0, 1, 2], [3, 2, 1]], w: [1, 2, 3, 4]}, {x: [[3, 3, 3], [0, 0, 0]], w: [5, 6, 7, 8]}]
    found = evaluate_torch([x, w, row], SIZES, files)
    assert found[row].tolist() == [[[1, 2, 3], [4, 3, 2]], [[8, 8, 8], [5, 5, 5]]]


@pytest.mark.parametrize("id", [-1, 4, 0.5, math.nan])
def test_what_is_no_member_has_no_number(id: float) -> None:
    picked = defined("picked", (), w[a])
    given = {a: id, w: [1, 2, 3, 4]}
    assert evaluate_torch([a, w, picked], SIZES, given)[picked].isnan()


def test_a_search_in_a_list_that_is_not_in_order_finds_nothing() -> None:
    place = defined("place", (), find(v, w[v], a))
    found = [
        evaluate_torch([a, w, place], SIZES, {a: 2.5, w: listed})[place] for listed in ([1, 2, 3, 4], [1, 3, 2, 4])
    ]
    assert (float(found[0]), bool(found[1].isnan())) == (1.0, True)


def test_words_are_compared_without_their_capitals_and_come_back_as_they_were() -> None:
    words, word = typed("words", (v,), text=True), typed("word", (), text=True)
    at = defined("at", (), match(v, words[v], word))
    said = defined("said", (), where(equal(word, "LAZY"), "Yes", "no"))
    given = {words: ["the", "old", "Lazy", "dog"], word: "lAZY"}
    found = evaluate_torch([words, word, at, said], SIZES, given)
    assert (float(found[at]), found.numpy(said).item(), found.numpy(words).tolist()) == (2.0, "Yes", given[words])


@pytest.mark.parametrize(
    ("expr", "number", "expected"),
    [
        (where(less(0, a), log(a), 0), 0.0, 0.0),
        (where(less(0, a), 1 / a, a), 0.0, 1.0),
        (where(less(0, a), sqrt(a), 2 * a), 0.0, 2.0),
        (where(less(a, b), exp(2 * a), a), 700.0, 1.0),
        (where(less(a, b), exp(2 * a) * exp(2 * a), a), 700.0, 1.0),
        (minimum(maximum(a, b), 2), 1.0, 1.0),
        (maximum(b, a), 1.0, 1.0),
        (minimum(a, b), 1.0, 1.0),
        (maximum(2 * a, a + 1), 1.0, 2.0),
        (-(maximum(0, -a) + log(1 + exp(-abs(a)))), 0.0, 0.5),
        (-(maximum(0, -a) + log(1 + exp(-abs(a)))), 700.0, math.exp(-700)),
        (-(maximum(0, -a) + log(1 + exp(-abs(a)))), -700.0, 1.0),
        (exp(minimum(a, 0)) / (1 + exp(-abs(a))), 0.0, 0.25),
        (maximum(0, 1 - a), 1.0, -1.0),
        (less(a, b), 1.0, 0.0),
        (weighed(b, exp(a)), 1.0, math.e),
        (weighed(b - 1, exp(a)), 800.0, 0.0),
    ],
    ids=str,
)
def test_the_slope_where_two_meet_or_one_has_no_number(expr: Expr, number: float, expected: float) -> None:
    assert slope(expr, {a: number, b: 1.0}) == pytest.approx(expected, rel=1e-12)


def test_what_is_infinite_is_no_number_in_a_sheet_and_goes_on_in_a_library() -> None:
    far = defined("far", (), exp(-exp(a)))
    here, beyond = (evaluate_torch([a, far], {}, {a: 800.0}, beyond=beyond)[far] for beyond in (False, True))
    assert (bool(here.isnan()), float(beyond)) == (True, 0.0)


def test_what_is_still_passes_no_slope_on() -> None:
    held = defined("held", (), 2 * a)
    made = defined("made", (), held * a)
    still, free = (evaluate_torch([a, held, made], {}, {a: 3.0}, moving=[a], still=each) for each in ([held], []))
    assert (float(still.slopes(made)[a]), float(free.slopes(made)[a])) == (6.0, 12.0)


def test_a_slope_by_what_is_computed_ends_there() -> None:
    middle = defined("middle", (), 2 * a)
    made = defined("made", (), middle * middle)
    slopes = evaluate_torch([a, middle, made], {}, {a: 3.0}, moving=[middle]).slopes(made)
    assert {each.name: float(slope) for each, slope in slopes.items()} == {"middle": 12.0, "made": 1.0}


def test_the_largest_of_several_share_the_slope() -> None:
    largest = defined("largest", (), Max(v, w[v]))
    found = evaluate_torch([w, largest], SIZES, {w: [1.0, 4.0, 4.0, 2.0]}, moving=[w])
    assert found.slopes(largest)[w].tolist() == [0, 0.5, 0.5, 0]


def test_float32_rounds_and_stays_what_it_is() -> None:
    G, total = recursion()
    found: Tensors = evaluate_torch([*GIVEN, G, total], SIZES, {**GIVEN, a: 0.1}, dtype="float32")
    exact = evaluate_torch([*GIVEN, G, total], SIZES, {**GIVEN, a: 0.1})
    assert found[total].dtype == torch.float32
    assert 0 < abs(float(found[total]) - float(exact[total])) < 2e-5


def test_numbers_of_another_shape_are_refused() -> None:
    G, total = recursion()
    with pytest.raises(NotationError, match=r"x has the shape \(2,\); its axes ask for \(2, 3\)"):
        evaluate_torch([*GIVEN, G, total], SIZES, [GIVEN, {**GIVEN, x: [1.0, 2.0]}])
    with pytest.raises(NotationError, match="holds words or limits"):
        evaluate_torch([most := typed("most", limit=True)], {}, {most: 1.0}, moving=[most])
