"""What losses were divided by, and which rows of the rollout a file has: read from metadata and tensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from blueprint.dumps import MinibatchError, Share, read_minibatch
from tests.dumps.batches import batch, reread

SAID: dict[str, Any] = {"batch_num_tokens": 1234, "global_batch_size": 64, "dp_size": 2, "loss_scale_factor": 512}
SHARE = Share(1234.0, 64.0, 2.0, 512.0)


@pytest.mark.parametrize("ending", ["npz", "jsonl", "parquet", "safetensors"])
def test_what_losses_were_divided_by_is_read_from_every_format(tmp_path: Path, ending: str) -> None:
    assert reread(tmp_path, batch(), SAID, ending).share == SHARE


def test_texts_are_numbers_and_what_is_none_says_nothing(tmp_path: Path) -> None:
    """As hooks write them into safetensors: str(config.loss_scale_factor) is None where there is none."""
    texts = {"batch_num_tokens": "12.5", "loss_scale_factor": "None", "dp_size": "1", "layout": "response"}
    save_file(batch(), tmp_path / "run.safetensors", texts)
    assert read_minibatch(tmp_path / "run.safetensors").share == Share(12.5)
    assert reread(tmp_path, batch(), {"global_batch_size": None}).share is None


def test_openrlhfs_object_is_read_as_text_too(tmp_path: Path) -> None:
    said = {"dp_size": 2, "batch_num_tokens": 617.0, "global_batch_size": 32.0}
    for found in (said, json.dumps(said)):
        assert reread(tmp_path, batch(), {"loss_batch_info": found}).share == Share(617.0, 32.0, 2.0)


def test_rows_of_the_rollout_go_with_the_rows_that_are_kept(tmp_path: Path) -> None:
    tensors = batch() | {"row_index": np.array([5, 0, 2]), "sample_mask": np.array([1, 0, 1])}
    assert reread(tmp_path, tensors).tensors["row_index"].tolist() == [5, 2]
    with pytest.raises(MinibatchError, match=r"row_index: found -1, expected rows of the rollout, counted from 0\."):
        reread(tmp_path, batch() | {"row_index": np.array([0, -1, 2])})
