"""Misconceptions that follow from how an equation is built: a blueprint of one's own has some, and none is an error."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.book import book as book_of
from blueprint.misconceptions import Wrong, wrong_values
from blueprint.misconceptions.relatives import Relatives, is_logarithm
from blueprint.notation import Axis, Sum, block, choose, exp, less, log, maximum, minimum, number, typed, where
from blueprint.page.outline import Blank
from tests.page.workshop import made

n, t = Axis("n", "series", start=1), Axis("t", "step", start=1)


@pytest.fixture(scope="module")
def book() -> Book:
    """A discounted sum, its mean, and what else an equation may have; of a workbook of no kind."""
    x, m = typed("x", (n, t), "x", "a number"), typed("m", (n, t), "m", "1 where it counts")
    fade, rate, which = (typed(name, (), name, name) for name in ("fade", "rate", "which"))
    total = block("total", (n, t), "S", "a discounted sum")
    total[n, t.last + 1] = 0
    total[n, t] = x[n, t] + fade * rate * total[n, t + 1]
    mean = block("mean", (), "mean", "the mean of what counts")
    mean[()] = Sum((n, t), m[n, t] * total[n, t]) / Sum((n, t), m[n, t])
    held = block("held", (n, t), "h", "held between two numbers")
    held[n, t] = maximum(1 - fade, minimum(1 + fade, exp(x[n, t])))
    info = block("info", (n, t), "i", "its logarithm, where there is one")
    info[n, t] = where(less(0, total[n, t]), log(total[n, t]), 0)
    either = block("either", (n, t), "e", "one of two")
    either[n, t] = choose(which, sum=total[n, t], held=held[n, t])
    taken = block("taken", (n, t), "k", "the sum, or its logarithm")
    taken[n, t] = choose(which, sum=total[n, t], info=info[n, t])
    left = block("left", (n, t), "l", "what a rate leaves")
    left[n, t] = x[n, t] * (1 - rate)
    counted = block("counted", (n, t), "c", "divided by its number")
    counted[n, t] = x[n, t] / number(t)
    blocks = [x, m, fade, rate, which, total, mean, held, info, either, taken, left, counted]
    given = {x: [[0.3, -1.2, 2.0], [0.7, 0.4, -0.5]], m: [[1, 1, 0], [1, 1, 1]], fade: 0.5, rate: 0.9, which: 0}
    return book_of("mine", blocks, t, given)


def wrong(book: Book, name: str, *cells: tuple[int, ...]) -> list[Wrong]:
    return wrong_values(None, book.blueprint, book.values, Blank(name, book.block_named(name), cells))


def said(book: Book, name: str, *cells: tuple[int, ...]) -> dict[str, float]:
    """Returns what each sentence gives in the first cell, made in the step alone."""
    return {each.says: each.numbers[0] for each in reversed(wrong(book, name, *cells))}


def test_a_factor_a_term_a_sign_and_a_neighbour(book: Book) -> None:
    found = said(book, "total", (0, 1))
    S = book.values[book.block_named("total")]
    assert found["fade is left out."] == pytest.approx(-1.2 + 0.9 * S[0, 2])
    assert found["The sign is turned."] == pytest.approx(-S[0, 1])
    assert found["S is read, not S[t + 1]."] == pytest.approx(-1.2 + 0.45 * S[0, 1])
    assert found["It is the number of the step after."] == pytest.approx(S[0, 2])
    assert found["It is the number of the series after."] == pytest.approx(S[1, 1])


def test_min_for_max_a_function_forgotten_another_choice_and_what_is_not_divided(book: Book) -> None:
    S = book.values[book.block_named("total")]
    assert said(book, "held", (0, 2))["max stands where min should."] == pytest.approx(np.exp(2.0))
    assert said(book, "held", (1, 0))["e^… is forgotten."] == pytest.approx(0.7)
    assert said(book, "either", (0, 2))["h is taken, whatever was chosen."] == pytest.approx(1.5)
    assert said(book, "info", (1, 0))["The logarithm is to base 2, not the natural one."] == pytest.approx(
        np.log2(S[1, 0])
    )
    assert said(book, "mean", ())["m is left out of the sum."] == pytest.approx(S.sum() / 5)


def test_a_constant_that_is_left_out_is_said_with_what_it_stood_in(book: Book) -> None:
    assert said(book, "left", (0, 1))["1 is left out of 1 − rate."] == pytest.approx(0.9 * 1.2)


def test_of_a_choice_only_what_is_taken_makes_it_a_logarithm(book: Book) -> None:
    """The policy loss of GRPO may be one that has a logarithm, as REINFORCE's has; by the ratio it has none."""
    kin = Relatives(book.blueprint)
    assert is_logarithm(book.block_named("info"), kin)
    assert not is_logarithm(book.block_named("taken"), kin)
    grpo = made(numbers="grpo")
    assert not is_logarithm(grpo.block_named("policy_loss"), Relatives(grpo.blueprint))


def test_a_ratio_of_which_the_logarithm_is_clipped(book: Book) -> None:
    held = said(book, "held", (0, 2))
    assert held["The logarithm is held between the bounds, not the ratio."] == pytest.approx(np.exp(0.5))
    assert said(book, "held", (0, 1))["The logarithm is held between the bounds, not the ratio."] == pytest.approx(
        np.exp(-0.5)
    )


def test_numbers_are_finite_another_than_the_right_one_and_for_every_cell(book: Book) -> None:
    for name in ("total", "mean", "held", "info", "either", "counted"):
        made = book.block_named(name)
        cells = [*np.ndindex(book.values[made].shape)]
        right = [book.values.cell(made, *cell) for cell in cells]
        known = wrong(book, name, *cells)
        assert len(known) >= 2
        for each in known:
            assert np.isfinite(each.numbers).all()
            assert len(each.numbers) == len(cells)
            assert list(each.numbers) != right
            assert not each.written
