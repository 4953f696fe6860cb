"""Whatever a file holds, the answer is a minibatch or one sentence, in bounded memory and time."""

from __future__ import annotations

import io
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.dumps import Minibatch, save
from tests.dumps.batches import LIBRARY, batch
from tests.dumps.crafted import answered, safetensors

ENDINGS = ("safetensors", "npz", "jsonl", "parquet")
PIECES = [
    b"nan",
    b"null",
    b"-",
    b'"',
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"1e400",
    b"9" * 400,
    b"true",
    b"\xff",
    b"\0",
    b"[" * 3000,
]
QUICK = settings(max_examples=120, deadline=None, derandomize=True, database=None)
SAID = {**LIBRARY, "hyperparameters": {"gamma": 0.5, "clip_ratio": 0.2}, "logged": {"actor/pg_loss": 0.25}}


@cache
def whole(ending: str) -> bytes:
    """Returns the bytes of a good file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run.{ending}"
        save(path, batch(), SAID)
        return path.read_bytes()


@st.composite
def damaged(draw: st.DrawFn, ending: str) -> bytes:
    """Replaces a few stretches of a good file by something else or nothing, flips a bit, or cuts its end off."""
    data = whole(ending)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 30)))
        data = data[:start] + draw(st.sampled_from([b"", *PIECES]) | st.binary(max_size=8)) + data[end:]
    if draw(st.booleans()) and data:
        place = draw(st.integers(0, len(data) - 1))
        data = data[:place] + bytes([data[place] ^ 1 << draw(st.integers(0, 7))]) + data[place + 1 :]
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_damaged_file_is_answered(ending: str) -> None:
    assert isinstance(answered(whole(ending)), Minibatch)

    @QUICK
    @given(damaged(ending))
    def each(data: bytes) -> None:
        answered(data)

    each()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_cut_off_anywhere_is_refused(ending: str) -> None:
    """A cut jsonl may end between two lines, where fewer responses are left, and nothing else is lost."""
    data = whole(ending)
    for end in range(0, len(data), max(1, len(data) // 60)):
        found = answered(data[:end])
        assert isinstance(found, str) or (
            ending == "jsonl" and data[end : end + 1] in (b"\n", b"{") and len(found.mask) < 3
        )


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
NAMES = st.sampled_from(["logprobs_old", "response_mask", "scores", "metadata", "prev_logprobs", "rewards", "idx", "x"])
KEYS = st.sampled_from(
    ["schema", "library", "version", "step", "preset", "layout", "names", "hyperparameters", "logged", "x"]
)
OURS = st.dictionaries(st.sampled_from(["gamma", "kl_estimator", "use_kl_loss", "loss", "x.y"]), VALUES, max_size=3)


@QUICK
@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=3))
def test_odd_lines_are_answered(lines: list[dict[str, Any]]) -> None:
    answered("\n".join(json.dumps(line) for line in lines).encode())


@QUICK
@given(st.dictionaries(KEYS, VALUES | OURS, max_size=4))
def test_odd_metadata_are_answered(metadata: dict[str, Any]) -> None:
    said = io.BytesIO()
    np.savez(said, metadata=np.array(json.dumps(metadata)), **batch())  # type: ignore[arg-type]
    answered(said.getvalue())


@QUICK
@given(st.dictionaries(st.sampled_from(["dtype", "shape", "data_offsets"]), VALUES), st.binary(max_size=20))
def test_odd_headers_of_safetensors_are_answered(told: dict[str, Any], data: bytes) -> None:
    answered(safetensors({"logprobs_old": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]} | told}, data))


@QUICK
@given(st.binary(max_size=200))
def test_any_bytes_are_answered(data: bytes) -> None:
    answered(data)
