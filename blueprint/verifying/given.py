"""Rows of the file that stand in place of computed ones: where the computation starts, or goes on from the file's own."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor

from blueprint.dumps import Minibatch
from blueprint.verifying.inputs import Rows, tensor
from blueprint.witness.options import Options, Texts
from blueprint.witness.ppo import compared_rows
from blueprint.witness.tensors import Named

PLACES = {
    "scores": ("scores", "score.place", "scores"),
    "rewards": ("rewards", "rewards", "rewards"),
    "rewards.raw": ("rewards", "rewards.raw", "rewards"),
    "advantages": ("advantages", "advantages_used", "advantages"),
    "advantages.raw": ("advantages", "advantages", "advantages"),
    "returns": ("returns", "returns", "returns"),
}
"""By what a file's tensor is taken for: the tensor, the row that it stands in, and the row that says where it is read."""

EDGED = ("advantages",)
"""Rows with a column behind the last slot."""


def given_rows(batch: Minibatch, rows: Rows, options: Options, texts: Texts, names: Collection[str]) -> Named:
    """Returns rows of the file by the names of the rows that they stand for; not a number wherever the file says nothing."""
    where = compared_rows(texts, options) if names else {}
    found = {}
    for name in names:
        called, row, place = PLACES[name]
        read = torch.where(where[place] > 0, tensor(batch, called, rows, options), torch.nan)
        if name == "scores":  # a score of 0 stands nowhere
            read = torch.where(
                (read.nan_to_num() != 0).any(dim=-1, keepdim=True), (read.nan_to_num() != 0) * 1.0, torch.nan
            )
        found[row] = _with_end(read) if row in EDGED else read
    return found


def placed_rows(batch: Minibatch, rows: Rows, options: Options, texts: Texts) -> Named:
    """Returns the scores that stand on several words of a response: no convention places them."""
    scores = tensor(batch, "scores", rows, options).nan_to_num(nan=0.0)
    return {"score.placed": torch.where(texts.slots > 0, scores, torch.nan)}


def _with_end(values: Tensor) -> Tensor:
    """Returns rows with what is not given behind the last slot."""
    return torch.cat([values, torch.full_like(values[..., :1], torch.nan)], dim=-1)
