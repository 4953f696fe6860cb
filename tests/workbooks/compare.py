"""Compare the numbers of a book with those of the independent witness, quantity by quantity."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from blueprint.book import Book
from blueprint.workbooks.rlhf_ppo.inputs.result import WeightNumbers
from tests.reference import Result, run
from tests.workbooks.convert import reference_numbers

Array = npt.NDArray[np.float64]

# The witness calls by other names what would collide with another block.
RENAMED = {"value.loss": "value.word_loss", "score": "score.response"}
# What stands outside the response: the ratio of nothing to nothing is exp(0 - 0) = 1, and so is the clipped one.
OUTSIDE = {"ratio": 1.0, "ratio.clipped": 1.0}
# Rows that the witness does not keep, because they are steps of another one, but that must be empty outside too.
STEPS = ("advantage.centred", "advantage.whitened", "log_ratio", "ratio.clipped", "value.error", "share")
WHITENED = ("advantages_used", "surrogate", "policy_loss", "total_loss")
ROUNDING = 1e-12


class Pair(NamedTuple):
    """One quantity of the witness (its name there), and the same numbers as the book has them."""

    name: str
    ours: Array
    theirs: Array


def assert_agrees(book: Book, numbers: WeightNumbers) -> Result:
    """Asserts that words, lengths and every quantity of the witness are the book's, and nothing is outside; returns it."""
    expected = run(reference_numbers(numbers))
    mask = inside(numbers, expected)
    np.testing.assert_array_equal(book.values[book.blocks["mask"]], mask, "mask")
    for episode, words in enumerate(expected.words):
        assert book.values[book.blocks["rollout.written"]][episode, mask[episode]].tolist() == words, "words"
    for name, ours, theirs in pairs(book, expected, mask):
        allowed = ROUNDING * (1 + np.abs(theirs).max()) * conditioning(name, numbers, expected)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=allowed, err_msg=name)
    assert_empty_outside(book, expected, mask)
    return expected


def inside(numbers: WeightNumbers, expected: Result) -> npt.NDArray[np.bool_]:
    """Returns where the response stands, from its length alone: column len(prompt), counted from 1, writes its first."""
    mask = np.zeros(numbers.draws.shape, dtype=bool)
    for row, prompt, words in zip(mask, numbers.prompts, expected.words, strict=True):
        row[len(prompt) - 1 :][: len(words)] = True
    return mask


def pairs(book: Book, expected: Result, mask: npt.NDArray[np.bool_]) -> Iterator[Pair]:
    """Yields every quantity that the witness has; rows without what is outside the response."""
    for name, rows in expected.tokens.items():
        yield Pair(name, row_of(book, name)[mask], np.concatenate(rows))
        if f"mean.{RENAMED.get(name, name)}" in book.blocks:
            mean = np.concatenate(rows).mean()
            yield Pair(f"mean.{name}", row_of(book, f"mean.{RENAMED.get(name, name)}"), mean)
    for name, cells in (expected.episodes | expected.scalars).items():
        yield Pair(name, row_of(book, name), np.asarray(cells))


def row_of(book: Book, name: str) -> Array:
    """Returns the numbers of the block that the witness calls `name`."""
    return np.asarray(book.values[book.blocks[RENAMED.get(name, name)]], dtype=float)


def conditioning(name: str, numbers: WeightNumbers, expected: Result) -> float:
    """Returns by how much a quantity magnifies the rounding of what it is made of.

    Whitening divides by σ. The explained variance divides by the variance of the returns, which is a difference of
    squares: both lose as many digits as what they divide by is small.
    """
    settings = reference_numbers(numbers)["ppo"]
    returns = np.concatenate(expected.tokens["returns"])
    if name == "explained_variance" and np.ptp(returns):
        return float(max(1.0, (1 + np.abs(returns).max() ** 2) / returns.var()))
    whitened = name.removeprefix("mean.").startswith(WHITENED)
    if whitened and settings["whiten_advantages"] == "on":
        return max(1.0, 1 / math.sqrt(expected.scalars["advantage.variance"] + settings["whiten_eps"]))
    return 1.0


def assert_empty_outside(book: Book, expected: Result, mask: npt.NDArray[np.bool_]) -> None:
    """Asserts that the rows hold nothing outside the response, so that a sum over a whole row is one over its words."""
    for name in (*expected.tokens, *STEPS):
        outside = row_of(book, name)[~mask]
        np.testing.assert_array_equal(outside, np.full_like(outside, OUTSIDE.get(name, 0.0)), f"{name} outside")
