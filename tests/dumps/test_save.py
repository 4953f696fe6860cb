"""What is handed to `save` by somebody who has read one line about it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from blueprint.dumps import MinibatchError, read_minibatch, save


@pytest.mark.parametrize(
    ("tensor", "sentence"),
    [
        ([[1.0, 2.0], [3.0]], "run.npz, values: numpy makes no array of it"),
        (torch.zeros(2, 2, dtype=torch.bfloat16), "give tensors of torch as tensor.detach().float().cpu()."),
        (torch.zeros(2, 2, requires_grad=True), "give tensors of torch as tensor.detach().float().cpu()."),
    ],
)
def test_what_numpy_makes_no_array_of_is_refused_when_it_is_saved(tmp_path: Path, tensor: Any, sentence: str) -> None:
    with pytest.raises(MinibatchError, match=re.escape(sentence)):
        save(str(tmp_path / "run.npz"), {"values": tensor})
    assert list(tmp_path.iterdir()) == []


def test_metadata_is_a_dictionary(tmp_path: Path) -> None:
    with pytest.raises(MinibatchError, match="metadata is str, expected a dictionary"):
        save(tmp_path / "run.npz", {"values": np.zeros((1, 1))}, "verl")  # type: ignore[arg-type]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.npz")
    with pytest.raises(MinibatchError, match="this is a pipe or a device; save it as a file first"):
        read_minibatch(tmp_path / "run.npz")


@pytest.mark.parametrize("ending", ["npz", "safetensors", "jsonl", "parquet"])
def test_numbers_of_half_the_responses_are_refused(tmp_path: Path, ending: str) -> None:
    tensors = {"logprobs_old": np.zeros((4, 3)), "scores": np.zeros(2)}
    sentence = f"run.{ending}: expected tensors with the same number of rows, found {{'logprobs_old': 4, 'scores': 2}}."
    with pytest.raises(MinibatchError, match=re.escape(sentence)):
        save(tmp_path / f"run.{ending}", tensors)
    assert list(tmp_path.iterdir()) == []


def test_both_sides_of_pairs_stand_below_each_other_where_the_format_allows_it(tmp_path: Path) -> None:
    tensors = {"per_token_logps": np.zeros((4, 3)), "chosen_logps": np.zeros(2)}
    save(tmp_path / "run.npz", tensors)
    for ending in ("jsonl", "parquet"):
        with pytest.raises(MinibatchError, match="the same number of rows, as this format has, found"):
            save(tmp_path / f"run.{ending}", tensors)
