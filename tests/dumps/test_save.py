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
