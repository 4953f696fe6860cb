"""Workbooks of a minibatch for the tests: dumps that lack tensors, and numbers and conventions typed from fixed seeds."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from blueprint.book import Book
from blueprint.dumps import Minibatch
from blueprint.inputs.catalogue import OFF
from blueprint.page.contents import kind_of
from blueprint.workbooks.common.conventions import LIVE, rlhf
from tests.live import drawn_value
from tests.replayed import RESPONSES, SLOTS, minibatch, window_book, with_everything_logged
from tests.rows import Array

PRESETS = tuple(rlhf().presets)
VARIANTS = (
    "whole", "logged", "no reference", "no entropy", "no new values", "no new log-probs", "scores of tokens", "rewards",
    "rewards, no new values", "advantages", "advantages and returns", "advantages and returns, no new values",
    "advantages and returns, no old values", "advantages, no entropy",
)  # fmt: skip
"""What a dump has, or has not; a workbook of it begins at scores, at rewards or at advantages."""

LACKING = {
    "no reference": ("logprobs_ref",),
    "no entropy": ("entropy",),
    "no new values": ("values_new",),
    "no new log-probs": ("logprobs_new",),
    "advantages": ("scores",),
    "advantages, no entropy": ("scores", "entropy", "values_old", "values_new"),
}
LACKING_OF_LOGGED = {
    "logged": (),
    "rewards": ("scores",),
    "rewards, no new values": ("scores", "values_new"),
    "advantages and returns": ("scores", "rewards"),
    "advantages and returns, no new values": ("scores", "rewards", "values_new"),
    "advantages and returns, no old values": ("scores", "rewards", "values_old"),
}


@cache
def variant(name: str, preset: str = "verl") -> Book:
    """Returns the workbook of a dump."""
    return window_book(preset, batch=_dump(name))


def _dump(name: str) -> Minibatch:
    if name == "scores of tokens":
        scores = np.random.default_rng(5).normal(size=(RESPONSES, SLOTS)).astype(np.float32)
        return minibatch("advantages", scores=scores)
    if name in LACKING_OF_LOGGED:
        logged, lacking = with_everything_logged(), LACKING_OF_LOGGED[name]
        return replace(logged, tensors={key: each for key, each in logged.tensors.items() if key not in lacking})
    return minibatch(*LACKING.get(name, ()))


def typed_in(book: Book) -> dict[str, Array]:
    """Returns the typed blocks of a book by name."""
    return {block.name: array for block, array in book.values.arrays.items() if kind_of(block) == "typed"}


def computed_in(book: Book) -> set[str]:
    """Returns the names of the blocks of a book that have formulas, without those that repeat another one."""
    return {block.name for block in book.values.arrays if kind_of(block) == "formula"}


def retyped(name: str, seed: int) -> Book:
    """Returns the workbook of a dump with a preset, conventions and numbers typed that were drawn; masks have holes."""
    book, drawn = variant(name), np.random.default_rng(seed)
    typed = typed_in(book)
    names = (key for key in typed if key.startswith(REDRAWN) and not key.endswith(OF_SETTINGS))
    cells: dict[str, Any] = {key: _redrawn(key, typed[key], drawn) for key in names}
    slots = (
        np.arange(typed["slots"].shape[1])
        < drawn.integers(1, typed["slots"].shape[1] + 3, len(typed["slots"]))[:, None]
    )
    cells |= {"slots": slots.astype(float), "mask": slots[:, :-1] * drawn.integers(0, 2, typed["mask"].shape)}
    return Book(
        book.blueprint.with_typed({key: each.tolist() for key, each in cells.items()} | _conventions(typed, seed))
    )


NUMBERS = (
    "old.logprobs", "policy.logprobs", "reference.logprobs", "policy.entropy", "old_critic.values", "critic.values",
    "logged.", "batch.", "score.", "rewards", "returns", "advantages_used", "after.ahead", "after.advantages", "rest.",
    "reward.mean", "advantage.mean",
)  # fmt: skip
POSITIVE = ("reward.variance", "advantage.variance", "loss.mean_ratio")
COUNTS = ("policy.w", "policy.responses", "value.w", "value.responses", "response.most")
FLAGS = ("response.ended", "response.padded", "after.words")
REDRAWN = (*NUMBERS, *POSITIVE, *COUNTS, *FLAGS)
OF_SETTINGS = (".yours", ".words", ".low", ".high")


def _redrawn(name: str, typed: Array, drawn: np.random.Generator) -> Array:
    if name.startswith(COUNTS):
        # A batch without a token or a response is a case of its own: there the page has 0/0, and a workbook 0.
        return drawn.integers(0 if typed.shape else 1, 9, typed.shape).astype(float)
    if name.startswith(FLAGS):
        return drawn.integers(0, 2, typed.shape).astype(float)
    numbers = np.asarray(drawn.normal(size=typed.shape))
    return np.abs(numbers) if name.startswith(POSITIVE) else numbers


def _conventions(typed: dict[str, Array], seed: int) -> dict[str, object]:
    """Draws a preset, and about half of the conventions that a file has."""
    drawn = random.Random(seed)
    cells: dict[str, object] = {"preset": drawn.choice(PRESETS)}
    for name in LIVE:
        if f"{name}.yours" in typed and drawn.random() < 0.5:
            words = typed.get(f"{name}.words")
            cells[f"{name}.yours"] = drawn.choice(words.tolist()) if words is not None else _number(drawn, name)
    return cells


def _number(drawn: random.Random, name: str) -> float:
    value = drawn_value(drawn, name)
    return OFF if value == '"off"' else float(value)
