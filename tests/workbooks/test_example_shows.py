"""The default example takes every branch of the loss, so that a mistake in any of them shows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from blueprint.book import Book
from blueprint.page.outline import Note
from tests.page.workshop import row
from tests.workbooks.building import Array, mask_of, number, plain, words_of
from tests.workbooks.random_numbers import default

EOS, VERY, SLEEPY, HAPPY = 0, 5, 6, 7


@pytest.fixture(scope="module")
def book() -> Book:
    """Returns the default example."""
    return plain(default())


def cosine(one: Array, other: Array) -> float:
    """Returns the cosine of the angle between two arrays."""
    return float((one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum()))


def said_of(book: Book, title: str) -> str:
    """Returns what is said of Δ on the sheet of a model."""
    sheet = next(each for each in book.blueprint.sheets if each.title == title)
    section = next(each for each in sheet.sections if "The update Δ" in each.title)
    return " ".join(item.text for item in section.items if isinstance(item, Note))


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


def test_the_policy_follows_the_gradient_but_for_two_named_tokens(book: Book) -> None:
    """Δ is a gradient step: likelier where Â > 0, less likely where Â < 0; the file names who goes the other way."""
    mask = mask_of(book)
    good, likelier = (row(book, "advantages_used") > 0)[mask], (row(book, "ratio") > 1)[mask]
    assert words_of(book) == [[VERY, VERY, SLEEPY, EOS], [HAPPY, EOS]]
    assert np.flatnonzero(good != likelier).tolist() == [1, 5], "the second very, and the <eos> after happy"
    advantages = row(book, "advantages_used")[mask]
    assert advantages[1] == min(advantages[good])
    assert number(book, "policy_loss") < 0


def test_delta_points_along_the_gradient(book: Book) -> None:
    """The cosines that the file tells: of Δ_Y with the gradient, of the same without its two exceptions, and of Δ_w."""
    mask = mask_of(book)
    advantages, returns = row(book, "advantages_used")[mask], row(book, "returns")[mask]
    h, p, written = (row(book, name)[mask] for name in ("old.memory", "old.p", "rollout.written"))
    uphill = h.T @ (advantages[:, None] * (np.eye(p.shape[1])[written.astype(int)] - p)) / len(h)
    delta = row(book, "policy.delta.Y")
    whole = cosine(delta, uphill)
    followed = delta.copy()
    assert followed[2, [VERY, EOS]].tolist() == [-0.5, 0.5]
    followed[2, [VERY, EOS]] = 0
    assert said_of(book, "Policy").endswith(
        f"Its cosine with −∂L_policy/∂Y is {whole:.2f}; without these two it would be {cosine(followed, uphill):.2f}."
    )
    assert whole > 0.35
    assert np.count_nonzero(followed) == 4
    assert (followed * uphill >= 0).all()
    errors = returns - row(book, "old_critic.values")[mask]
    towards = row(book, "old_critic.memory")[mask].T @ errors / len(h)
    assert_array_equal(row(book, "critic.delta.head.w"), np.round(towards, 1))
    assert cosine(row(book, "critic.delta.head.w"), towards) > 0.99
    assert "rounded to tenths" in said_of(book, "Critic")


def test_the_critic_moves_towards_each_return_but_one(book: Book) -> None:
    mask = mask_of(book)
    old, new, returns = (row(book, name)[mask] for name in ("old_critic.values", "critic.values", "returns"))
    assert np.flatnonzero((new - old) * (returns - old) < 0).tolist() == [4], "happy"
    assert (old[0], new[0]) == pytest.approx((old[4], new[4])), "the same state as the first very"


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
