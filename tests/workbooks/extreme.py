"""Batches of extreme numbers on the libraries' rollout: log-ratios of 20 to 800, one word, equal advantages, empty responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from blueprint.book import Book
from blueprint.language import NoNumber
from blueprint.page.outline import Blueprint

Array = npt.NDArray[Any]
WORDS = [[3, 4, 5, 6, 2, 3], [5, 2, 4, 1, 0, 0], [6, 1, 0, 0, 0, 0], [2, 3, 6, 5, 4, 1]]
"""The words of ten-libraries by their ids."""
LENGTHS = [6, 4, 2, 6]


class Extreme(NamedTuple):
    """What is typed by name of a block."""

    name: str
    typed: Mapping[str, Array]


def _logits(logprobs: Array) -> Array:
    """Returns logits that give each word that was written about this log-prob: the other six share the rest."""
    logits = np.zeros((4, 6, 7))
    rows, slots = np.indices((4, 6))
    logits[rows, slots, WORDS] = logprobs + np.log(6)
    return logits


def _apart(by: float) -> dict[str, Array]:
    """Returns logits whose log-ratios are about 0, but for one word of each response: by, −by, by / 2 and −by / 2."""
    calm = np.full((4, 6), -1.7)
    old, new = calm.copy(), calm.copy() - 0.1
    old[0, 2], new[1, 1], old[2, 0], new[3, 5] = -by, -by, -by / 2, -by / 2
    return {"old.logits": _logits(old), "policy.logits": _logits(new), "reference.logits": _logits(calm + 0.2)}


def _random(seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    scale = rng.choice([3.0, 30.0, 150.0])
    typed = {f"{model}.logits": scale * rng.normal(size=(4, 6, 7)) for model in ("old", "reference", "policy")}
    typed |= {f"{model}.out": rng.choice([1.0, 1e3]) * rng.normal(size=(4, 6)) for model in ("old_critic", "critic")}
    return {name: np.round(array, 6) for name, array in typed.items()}


_SAME = {f"{model}.logits": _logits(np.full((4, 6), -1.7)) for model in ("old", "reference", "policy")}
_UNDISCOUNTED = {"gamma.yours": np.ones(()), "gae_lambda.yours": np.ones(())}
_CALM = {f"{model}.out": np.zeros((4, 6)) for model in ("old_critic", "critic")}
_MASK = (np.arange(6) < np.array(LENGTHS)[:, None]) * 1.0
_ONE = np.zeros((4, 6))
_ONE[0, 0] = 1
_HALF_EMPTY = _MASK * np.array([[1.0], [0], [1], [0]])

EXTREMES = (
    *(Extreme(f"a log-ratio of {by}", _apart(by)) for by in (20.0, 40.0, 300.0, 700.0, 800.0)),
    Extreme("probabilities of 1e-300", _apart(np.log(1e300))),
    Extreme("one token", {"mask": _ONE}),
    Extreme("one token, a log-ratio of 40", {"mask": _ONE, "old.logits": _logits(np.full((4, 6), -40.0))}),
    Extreme("empty responses", {"mask": _HALF_EMPTY}),
    Extreme("all advantages 0", {**_SAME, **_CALM, "reward_model.score": np.zeros(4)}),
    Extreme("all advantages equal", {**_SAME, **_CALM, **_UNDISCOUNTED, "reward_model.score": np.ones(4)}),
    *(Extreme(f"random {seed}", _random(seed)) for seed in range(6)),
)  # fmt: skip


class Computed(NamedTuple):
    """Every block by name, NaN where nothing is, and where the computation ended, if it did."""

    arrays: dict[str, Array]
    ended: NoNumber | None


def computed(blueprint: Blueprint, extreme: Extreme) -> Computed:
    """Computes a batch of ten-libraries with extreme numbers typed."""
    try:
        values, ended = Book(blueprint.with_typed(extreme.typed)).values, None
    except NoNumber as error:
        values, ended = error.values, error
    return Computed({block.name: array for block, array in values.arrays.items()}, ended)


def finite(arrays: Mapping[str, Array], blueprint: Blueprint) -> set[str]:
    """Returns the blocks all of whose cells have a number or a word."""
    off = limits(blueprint)
    return {name for name, array in arrays.items() if (not np.isnan(array).any() if name in off else _whole(array))}


def limits(blueprint: Blueprint) -> set[str]:
    """Returns the blocks whose cells may be off, which is infinity among their values and no lost number."""
    return {block.name for block in blueprint.blocks() if block.limit}


def _whole(array: Array) -> bool:
    if array.dtype == object:
        return all(isinstance(cell, str) for cell in array.flat)
    return bool(np.isfinite(array).all())
