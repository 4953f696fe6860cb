"""Batches of log-probs through the front door: one row of tokens each, built by `bp.build` as a user builds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

import blueprint as bp
from tests.page.workshop import Array

LogProbs = Mapping[str, Sequence[float]]
"""By model (policy, old, reference, engine) the log-prob of every token, all of them in one row."""


def built(
    said: LogProbs,
    settings: Mapping[str, Any],
    *,
    preset: str | None = None,
    size: int = 2,
    scores: Sequence[float] = (),
) -> bp.Book:
    """Builds the workbook, with its gradients, of one prompt with responses that are as long as each other.

    Without scores all rewards are 1, so that every advantage is 0, and all that is left of the loss is its KL.
    """
    count = len(said["policy"])
    assert count % size == 0
    rows = {model: np.reshape(each, (size, -1)).tolist() for model, each in said.items()}
    tables: dict[str, Any] = {
        "level": "rollouts",
        "text": {"prompts": ["a"], "responses": [["w"] * (count // size)] * size},
        "reward": {"scores": list(scores) or [1] * size},
        **{model: {"logprobs": each} for model, each in rows.items()},
    }
    return bp.build(tables, preset=preset, set=settings, gradients=True)


def cells(book: bp.Book, name: str) -> Array:
    """Returns the numbers of a row, all of its tokens in one line."""
    return np.asarray(book.values[book.blocks[name]], float).ravel()


def leaves(said: LogProbs) -> dict[str, Tensor]:
    """Returns the log-probs as a library has them, those of the policy with a gradient."""
    found = {model: torch.tensor(np.asarray(each, float)) for model, each in said.items()}
    found["policy"].requires_grad_()
    return found


def slope(loss: Tensor, by: Tensor) -> Array:
    """Returns the gradient of a loss by log-probs."""
    return np.asarray(torch.autograd.grad(loss, by)[0].numpy(), float)
