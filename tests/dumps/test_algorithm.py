"""The algorithm that metadata say: a word that nothing is computed by is refused, and not read as some other one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.dumps import MinibatchError, inspect, read_dump
from tests.dumps.batches import batch, raw_npz

OF_GROUPS = {name: batch()[name] for name in ("response_mask", "logprobs_old", "logprobs_new", "scores")}


def _saved(folder: Path, algorithm: Any) -> Path:
    tensors = {**OF_GROUPS, "group": np.zeros(3, np.int64)}
    return raw_npz(folder, tensors, json.dumps({"algorithm": algorithm, "layout": "response", "preset": "trl_grpo"}))


@pytest.mark.parametrize(
    ("algorithm", "found", "advice"),
    [
        ("grpoo", "grpoo", "did you mean grpo? Otherwise write the one that computes as yours does, one of "),
        (
            "best-of-n",
            "best-of-n",
            "by which nothing here is computed; write the one that computes as yours does, one of ",
        ),
        (3, "3", "or leave it out: then names of tensors tell what it is."),
        (["x"], "['x']", "grpo"),
    ],
)
def test_an_algorithm_that_there_is_not_is_refused_with_those_that_there_are(
    tmp_path: Path, algorithm: Any, found: str, advice: str
) -> None:
    path = _saved(tmp_path, algorithm)
    for read in (read_dump, inspect):
        with pytest.raises(MinibatchError) as error:
            read(path)
        said = str(error.value)
        assert said.startswith(f"{path}: metadata, algorithm: found {found}, ")
        assert advice in said
        assert all(word in said for word in ("ppo", "grpo", "dpo", "kto", "reward_model", "sft"))


@pytest.mark.parametrize("algorithm", ["GRPO", " grpo ", "Dr-GRPO", "dr grpo", "reinforce++", "", None])
def test_an_algorithm_is_known_however_it_is_spelled(tmp_path: Path, algorithm: Any) -> None:
    assert read_dump(_saved(tmp_path, algorithm)).kind == "grpo"
