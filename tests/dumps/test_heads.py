"""What a file says of itself, read without its tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.dumps import MinibatchError, metadata_of, open_raw, save
from tests.dumps.batches import LIBRARY, batch

SAID = {**LIBRARY, "optimizer_step": 0, "logged": {"policy_loss": 0.5}}


@pytest.mark.parametrize("ending", ["safetensors", "npz", "jsonl", "parquet"])
def test_the_head_says_what_the_whole_file_says(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"run.{ending}"
    save(path, batch(), SAID)
    assert metadata_of(path)["step"] == 120
    assert metadata_of(path) == open_raw(path).metadata


def test_the_head_of_a_file_of_torch(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch", reason="the file is torch's own")
    path = tmp_path / "run.pt"
    torch.save({"logprobs_old": torch.zeros(2, 3), "metadata": dict(SAID)}, path)
    assert metadata_of(path) == SAID


@pytest.mark.parametrize("ending", ["safetensors", "jsonl"])
def test_the_tensors_are_not_read(tmp_path: Path, ending: str) -> None:
    """Cut off behind its head, a file still says what it is."""
    path = tmp_path / f"run.{ending}"
    save(path, {"logprobs_old": np.zeros((200, 50))}, SAID)
    path.write_bytes(path.read_bytes()[:2000])
    assert metadata_of(path)["step"] == 120
    with pytest.raises(MinibatchError):
        open_raw(path)


def test_a_file_without_metadata_says_nothing(tmp_path: Path) -> None:
    np.savez(tmp_path / "run.npz", logprobs_old=np.zeros((2, 3)))
    (tmp_path / "run.jsonl").write_text('{"logprobs_old": [0.0]}\n', encoding="utf-8")
    assert metadata_of(tmp_path / "run.npz") == metadata_of(tmp_path / "run.jsonl") == {}


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "is empty"), (b"{", "no JSON"), (b"PK\3\4", "damaged"), (b"no", "neither")]
)
def test_what_is_no_dump_is_refused_by_its_name(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    with pytest.raises(MinibatchError, match=says) as refusal:
        metadata_of(path)
    assert str(refusal.value).startswith(str(path))
