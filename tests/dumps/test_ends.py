"""Tokens behind the first end token that a mask counts: a note says so, and no clean dump has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from blueprint.dumps import Minibatch, read_dump

REAL = Path(__file__).parents[1] / "data" / "real"
WITH_TOKENS = sorted(
    path for name in ("trl_grpo", "trl_rloo", "trl_1_12", "verl_grpo") for path in (REAL / name).rglob("*.safetensors")
)
SAID = "if that is the pad or the end token, tokens behind the first end token are counted"


def masked(path: Path, folder: Path, mask: np.ndarray, pad: int = 0) -> tuple[str, ...]:
    """Writes a file of TRL again with another mask, and what stands behind its responses; returns the notes on it."""
    with safe_open(path, "np") as file:
        tensors, said = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
    own = tensors["completion_mask"] > 0
    tensors["completion_mask"] = mask.astype(np.int64)
    tensors["completion_ids"] = np.pad(
        tensors["completion_ids"], ((0, 0), (0, 10 - tensors["completion_ids"].shape[1]))
    )
    tensors["completion_ids"][~own] = pad
    for name in ("per_token_logps", "old_per_token_logps", "entropies"):
        tensors[name] = np.where(mask > 0, np.abs(tensors[name]) * (1 if name == "entropies" else -1), 0).astype(
            np.float32
        )
    save_file(tensors, folder / "a.safetensors", said)
    return tuple(note for note in read_dump(folder / "a.safetensors").notes if SAID in note)


def read_minibatch_of_grpo(path: Path) -> Minibatch:
    found = read_dump(path)
    assert isinstance(found, Minibatch)
    return found


def short() -> Path:
    """Returns a file of which two responses end early."""
    for path in sorted((REAL / "trl_grpo" / "uneven").iterdir()):
        lengths = read_minibatch_of_grpo(path).mask.sum(axis=1)
        if (lengths < 9).sum() == 2:
            return path
    raise AssertionError("no file has two responses that end early")


@pytest.mark.parametrize("pad", [0, 1])
def test_a_mask_of_ones_is_said_to_count_what_stands_behind_the_end(pad: int, tmp_path: Path) -> None:
    """The pad is a token of its own, or the end token (1) again."""
    (note,) = masked(short(), tmp_path, np.ones((3, 10)), pad)
    assert note.startswith(f"2 of 3 responses end in token {pad} several times over, all inside the mask (row ")


def test_the_mask_of_the_library_is_not_said_to(tmp_path: Path) -> None:
    assert masked(short(), tmp_path, read_minibatch_of_grpo(short()).mask) == ()


@pytest.mark.parametrize("path", WITH_TOKENS, ids=lambda path: "/".join(path.parts[-3:]))
def test_no_clean_file_is_said_to(path: Path) -> None:
    assert not [note for note in read_dump(path).notes if SAID in note]
