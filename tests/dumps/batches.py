"""One small batch of responses, and the same batch as each layout has it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps import Array, Minibatch, read_minibatch, save

PROMPTS, WORDS, SLOTS = (2, 4, 3), (6, 3, 5), 6
LIBRARY = {"library": "verl", "version": "0.9.1", "step": 120}


def batch(dtype: str = "float32") -> dict[str, Array]:
    """Returns three responses of up to six words under neutral names; outside the mask stands 1.0, as in TRL."""
    rng = np.random.default_rng(3)
    mask = np.arange(SLOTS) < np.array(WORDS)[:, None]
    found: dict[str, Array] = {"response_mask": mask}
    for name in ("logprobs_old", "logprobs_ref", "logprobs_new"):
        found[name] = np.where(mask, -rng.exponential(size=mask.shape), 1.0).astype(dtype)
    for name in ("values_old", "values_new", "rewards", "advantages", "returns"):
        found[name] = rng.normal(size=mask.shape).astype(dtype)
    found["entropy"] = rng.exponential(size=mask.shape).astype(dtype)
    found["scores"] = rng.normal(size=3).astype(dtype)
    found["response_ids"] = rng.integers(1, 50, mask.shape)
    return found


def whole(tensors: Mapping[str, Array], shifted: bool, left: bool) -> dict[str, Array]:
    """Returns the same batch over whole sequences: prompts of 2, 4 and 3 words, padded left or right.

    shifted: column i belongs to word i + 1, and there is one column fewer; else to word i, and the first is 0.
    """
    width = max(PROMPTS) + SLOTS
    starts = [max(PROMPTS) if left else prompt for prompt in PROMPTS]
    found = {name: array for name, array in tensors.items() if array.ndim == 1}
    for name, array in tensors.items():
        if array.ndim == 2:
            wide = np.zeros((3, width), array.dtype)
            for row, start in enumerate(starts):
                wide[row, start : start + SLOTS] = array[row]
            found[name] = wide[:, 1:] if shifted and name != "response_ids" else wide
    found["tokens"] = found.pop("response_ids")
    for row, (start, prompt) in enumerate(zip(starts, PROMPTS, strict=True)):
        found["tokens"][row, start - prompt : start] = 90 + np.arange(prompt)
    return found


def reread(
    folder: Path, tensors: Mapping[str, Array], metadata: Mapping[str, Any] | None = None, ending: str = "npz"
) -> Minibatch:
    """Saves and reads again."""
    path = folder / f"run.{ending}"
    save(path, tensors, metadata)
    return read_minibatch(path)


def raw_npz(folder: Path, tensors: Mapping[str, Any], metadata: str | None = None) -> Path:
    """Writes an npz without asking what is in it, and without a layout in its metadata."""
    path = folder / "raw.npz"
    arrays = {name: np.asarray(tensor) for name, tensor in tensors.items()}
    said = {} if metadata is None else {"metadata": np.array(metadata)}
    np.savez(path, allow_pickle=True, **(arrays | said))
    return path
