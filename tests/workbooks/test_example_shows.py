"""The default example takes every branch of the loss, so that a mistake in any of them shows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from blueprint.book import Book
from tests.workbooks.building import mask_of, number, plain, row, words_of
from tests.workbooks.random_numbers import default


@pytest.fixture(scope="module")
def book() -> Book:
    """Returns the default example."""
    return plain(default())


def test_every_corner_of_the_clip(book: Book) -> None:
    mask, clip_range = mask_of(book), number(book, "clip_range")
    advantages, ratios = row(book, "advantages_used")[mask], row(book, "ratio")[mask]
    good, above, below = advantages > 0, ratios > 1 + clip_range, ratios < 1 - clip_range
    clipped = {"good and likelier": good & above, "bad and less likely": ~good & below}
    outside = {"good and less likely": good & below, "bad and likelier": ~good & above}
    assert all(found.any() for found in (clipped | outside).values()), clipped | outside
    assert (~above & ~below).any()
    changed = row(book, "clip_fraction.changed")[mask] == 1
    assert_array_equal(changed, np.logical_or(*clipped.values()))


def test_both_squares_of_the_value_loss_and_one_inside(book: Book) -> None:
    mask = mask_of(book)
    moved = np.abs(row(book, "critic.values") - row(book, "old_critic.values"))[mask]
    square, held = row(book, "value.square")[mask], row(book, "value.square_clipped")[mask]
    outside = moved > number(book, "value_clip_range")
    assert (outside & (held > square)).any()
    assert (outside & (square > held)).any()
    assert (~outside).any()


def test_k1_has_both_signs(book: Book) -> None:
    assert set(np.sign(row(book, "kl.k1")[mask_of(book)])) == {1.0, -1.0}


def test_two_lengths_and_pads(book: Book) -> None:
    assert [len(words) for words in words_of(book)] == row(book, "response.length").tolist() == [4, 2]
    pads = row(book, "rollout.ended")[:, :-1] == 1
    assert pads.sum(axis=1).tolist() == [0, 2]
    assert not (pads & mask_of(book)[:, :-1]).any()


def test_one_good_answer_and_one_bad(book: Book) -> None:
    assert np.sign(row(book, "score.response")).tolist() == [1, -1]
    good = row(book, "advantages")[mask_of(book)] > 0
    assert_array_equal(good, row(book, "advantages_used")[mask_of(book)] > 0)
