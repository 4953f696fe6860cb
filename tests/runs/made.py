"""Runs as folders of small dumps: the recorded run of a library again and again, with deviations where a test wants them."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path

import numpy as np

from blueprint.dumps import Minibatch, save
from tests.verifying.dumps import FIRST, dump

LIBRARY = "verl"


@cache
def batch() -> Minibatch:
    """Returns what a library wrote, in float64; everything in it agrees."""
    return dump(FIRST[LIBRARY])


def a_run(folder: Path, steps: int, wrong: Collection[int] = (), ending: str = "safetensors") -> Path:
    """Writes a file for each step; in the wrong ones the returns are off by 0.25."""
    for step in range(steps):
        a_step(folder, step, step in wrong, ending)
    return folder


def a_step(folder: Path, step: int, wrong: bool = False, ending: str = "safetensors") -> Path:
    """Writes the file of one step."""
    folder.mkdir(exist_ok=True)
    path = folder / f"dump_{step}.{ending}"
    returns = np.asarray(batch().tensors["returns"]) + (0.25 if wrong else 0.0)
    said = {"library": LIBRARY, "step": step, "optimizer_step": 1, "logged": dict(batch().logged)}
    save(path, {**batch().tensors, "returns": returns}, said)
    return path
