"""The place of a file in its run: read from every format's metadata, and what it says of updates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from blueprint.commands import inspect as command
from blueprint.dumps import Minibatch, Place, inspect, read_minibatch
from tests.dumps.batches import batch, raw_npz, reread

SAID: dict[str, Any] = {"rank": 1, "world_size": 2, "epoch": 0, "minibatch": 3, "minibatches": 4, "optimizer_step": 3}


def placed(folder: Path, **metadata: Any) -> Minibatch:
    """Returns a minibatch whose metadata say something more."""
    return reread(folder, batch(), metadata)


@pytest.mark.parametrize("ending", ["npz", "jsonl", "parquet", "safetensors"])
def test_the_place_is_read_from_every_format(tmp_path: Path, ending: str) -> None:
    assert reread(tmp_path, batch(), SAID, ending).place == Place(**SAID)


def test_texts_of_digits_are_numbers(tmp_path: Path) -> None:
    """As hooks write them into safetensors."""
    texts = {key: str(value) for key, value in SAID.items()} | {"logprobs_old_from": "engine", "layout": "response"}
    texts["forward_dtype"] = "torch.bfloat16"
    save_file(batch(), tmp_path / "run.safetensors", texts)
    found = read_minibatch(tmp_path / "run.safetensors")
    assert (found.place, found.old_from, found.forward_dtype) == (Place(**SAID), "engine", "bfloat16")
    assert placed(tmp_path, **{key: str(value) for key, value in SAID.items()}).place == Place(**SAID)


def test_without_a_word_there_is_no_place(tmp_path: Path) -> None:
    found = placed(tmp_path, epoch=None)
    assert (found.place, found.old_from, found.forward_dtype) == (None, None, None)


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ({"optimizer_step": 0}, True),
        ({"optimizer_step": 1, "epoch": 0, "minibatch": 0}, False),
        ({"optimizer_step": 0, "epoch": 0, "minibatch": 1}, True),  # gradients are gathered over minibatches
        ({"epoch": 0, "minibatch": 0, "microbatch": 5}, True),
        ({"epoch": 0, "minibatches": 1}, True),
        ({"epochs": 1, "minibatch": 0}, True),
        ({"epoch": 1}, False),
        ({"minibatch": 1}, False),
        ({"epoch": 0}, None),
        ({"minibatch": 0}, None),
        ({"rank": 0, "microbatch": 0}, None),
    ],
)
def test_it_says_whether_the_policy_was_updated(said: dict[str, int], before: bool | None) -> None:
    assert Place(**said).before_first_update is before


def test_inspect_names_the_place(tmp_path: Path) -> None:
    path = raw_npz(tmp_path, batch(), json.dumps({"library": "verl", "step": 7} | SAID))
    found = inspect(path)
    assert found.unknown_metadata == ()
    told = "library verl, step 7, rank 1 of 2, epoch 0, minibatch 3 of 4, optimizer_step 3; preset verl"
    assert [*command._head(found)][1].rstrip() == told
    assert command._data(found)["place"]["world_size"] == np.int64(2)
