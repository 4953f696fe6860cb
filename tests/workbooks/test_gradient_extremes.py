"""Gradients of extreme batches: torch and the definitions agree, or end in the same cells; and at ties, and at a step of 0."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

pytest.importorskip("torch", reason="autograd is the outside witness: install the extra [torch]")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language.evaluate_torch import evaluate_torch
from blueprint.page.outline import Blueprint
from blueprint.workbooks import blueprint_of
from tests.autograd import slopes
from tests.rows import Array, arrays
from tests.workbooks.extreme import EXTREMES

NEAR = 1e-12
"""Of the largest of a block: both multiply the same slopes in another order."""
EVERYTHING = ("gradients=on", "ppo.ent_coef=0.1", "ppo.policy_kl_coef=0.3")
LOSSES = {"no KL to the reference": (), "k3 in the loss": ("reward.kl_in=both", "loss.kl_estimator=k3")}


@cache
def outline(numbers: str, *overrides: str) -> Blueprint:
    """Returns a blueprint with gradients and every part of the loss."""
    return blueprint_of(load(numbers, [*EVERYTHING, *overrides]))


def apart(books: list[Book]) -> list[str]:
    """Lists where gradients of books and autograd's differ: by cells that are no number in one of them, or by numbers."""
    found = []
    for number, book in enumerate(books):
        theirs = slopes(book)
        ours = {name: np.asarray(book.values[book.blocks[name]]) for name in theirs}
        assert len(theirs) > 10
        found += [f"{number}, {name}" for name in theirs if not _near(name, ours, theirs)]
    return found


def _near(name: str, ours: dict[str, Array], theirs: dict[str, Array]) -> bool:
    """A probability near 1 leaves 1 − p with the rounding of 1, so that logits are as exact as ∂L/∂log π that they multiply."""
    rows = (name, "policy.logprobs.grad") if name.startswith("policy.") else (name,)
    size = max(np.abs(theirs[row][np.isfinite(theirs[row])]).max(initial=0.0) for row in rows)
    ended = ~np.isfinite(ours[name])
    distance = np.abs(np.where(ended, 0.0, ours[name]) - np.where(ended, 0.0, theirs[name]))
    return np.array_equal(ended, ~np.isfinite(theirs[name])) and bool(distance.max(initial=0.0) <= NEAR * size)


@pytest.mark.parametrize("loss", LOSSES)
def test_extreme_batches(loss: str) -> None:
    """Log-ratios of 20 to 800, one token, empty responses, equal advantages: beyond the largest number both go on alike."""
    of = outline("ten-libraries", *LOSSES[loss])
    books = [Book(of.with_typed(each.typed), beyond=True) for each in EXTREMES]
    files = [arrays(book) for book in books]
    # Where a log-ratio ends a row, autograd goes through estimates that no loss uses, and has no number in more cells.
    assert apart([book for book, file in zip(books, files, strict=True) if _whole(file)]) == []
    ended = {each.name for each, file in zip(EXTREMES, files, strict=True) if not _whole(file)}
    assert "a log-ratio of 800.0" in ended
    assert len(ended) < len(EXTREMES) / 2


def _whole(file: dict[str, Array]) -> bool:
    return all(np.isfinite(array).all() for name, array in file.items() if name.endswith(".grad"))


def shifted(by: float) -> Book:
    """Returns the default with the new policy so far away that the largest log-ratio is about so many nats."""
    of = outline("default")
    names = {block.name: block for block in of.blocks()}
    delta = np.asarray(of.typed[names["policy.delta.Y"]], dtype=float)
    far = Book(of.with_typed({"policy.delta.Y": 1e3 * delta}))
    largest = np.abs(arrays(far)["log_ratio"]).max()
    return Book(of.with_typed({"policy.delta.Y": 1e3 * delta * by / largest}), beyond=True)


def test_a_plain_file_asks_for_no_estimate_that_its_loss_does_not_use() -> None:
    """A new policy whose tokens are 1e-348 times as probable as in the reference: e^−k is infinite, and no part of this loss."""
    books = [shifted(by) for by in (20, 40, 300, 700, 800)]
    assert np.abs(arrays(books[-1])["log_ratio"]).max() > 750
    assert apart(books[:-1]) == []
    assert all(map(_whole, map(arrays, books)))


TIES: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Array]], Array]]] = {
    "a step of 0": (("ppo.update_step=0",), lambda b: b["ratio"] == 1),
    "ratios at 1, the end of a range of 0": (
        ("ppo.update_step=0", "ppo.clip_range=0"), lambda b: b["surrogate.unclipped"] == b["surrogate.clipped"],
    ),
    "values at the end of a range of 0": (
        ("ppo.update_step=0", "ppo.value_clip_range=0"), lambda b: b["value.square"] == b["value.square_clipped"],
    ),
    "one token": (("sizes.max_new_tokens=1", "sizes.episodes=1"), lambda b: b["mask"][:, 1:-1].sum() == 1),
}  # fmt: skip


@pytest.mark.parametrize("tie", TIES)
def test_ties(tie: str) -> None:
    overrides, tied = TIES[tie]
    book = Book(outline("default", *overrides))
    assert np.all(tied(arrays(book)))
    assert apart([book]) == []


def test_a_ratio_exactly_at_the_end_of_its_range_pulls_on() -> None:
    """Each ratio in turn made 1 + ε or 1 − ε to the last bit, where torch's exponential is that of numpy to the last bit."""
    of = outline("default")
    ratio, blocks = arrays(Book(of))["ratio"], {block.name: block for block in of.blocks()}
    same = evaluate_torch(of.blocks(), of.sizes, of.typed).numpy(blocks["ratio"]) == ratio
    books = [Book(of.with_typed({"clip_range.yours": r})) for r in np.abs(ratio - 1)[same & (ratio != 1)]]
    files = [arrays(book) for book in books]
    ends = [
        same & ((f["ratio"] == 1 + f["clip_range.yours"]) | (f["ratio"] == 1 - f["clip_range.yours"])) for f in files
    ]
    assert sum(at.sum() for at in ends) > 0
    assert all(np.all(f["ratio.grad"][at] != 0) for f, at in zip(files, ends, strict=True))
    assert apart(books) == []


VALUES = {"at the end of its range": (0.5, 0.5), "as far beyond the return as the clipped one is below": (1.5, 0.5)}


@pytest.mark.parametrize("where", VALUES)
def test_a_value_whose_squares_tie_has_the_slope_of_the_free_one(where: str) -> None:
    """One token, a score of 1 and no KL: its return is 1, V_old 0 and ε_V ½, so that V_c is ½ and the squares are the same."""
    value, slope = VALUES[where]
    one, zero = np.zeros((4, 6)), np.zeros((4, 6))
    one[0, 0] = 1
    typed: dict[str, object] = {"mask": one, "reward_model.score": np.ones(4), "old_critic.out": zero}
    typed |= {"kl_coef.yours": 0.0, "gamma.yours": 1.0, "value_clip_range.yours": 0.5, "vf_coef.yours": 1.0}
    typed["critic.out"] = value * one
    book = Book(outline("ten-libraries", "value.combine=max").with_typed(typed))
    file = arrays(book)
    assert file["value.square"][0, 0] == file["value.square_clipped"][0, 0] == 0.25
    assert file["critic.values.grad"][0, 0] == np.sign(value - 1) * slope
    assert apart([book]) == []
