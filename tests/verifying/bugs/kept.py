"""What the libraries made of every bug, kept in a file: the suite needs no library for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.verifying.bugs.running import RESPONSES, SLOTS, Step, inputs

FILE = Path(__file__).parents[2] / "data" / "planted_bugs.npz"
MADE = ("rewards", "advantages", "returns")


def write(steps: dict[str, Step]) -> None:
    """Writes the steps by their names: what they were given is made again, what they made is kept."""
    arrays: dict[str, Any] = {"logged": np.array(json.dumps({name: dict(step.logged) for name, step in steps.items()}))}
    for name, step in steps.items():
        given = inputs(0)
        kept = {each: values for each, values in step.tensors.items() if not _same(given.get(each), values)}
        arrays |= {f"{name}/{each}": values.numpy() for each, values in kept.items()}
    np.savez_compressed(FILE, **arrays)


def _same(one: torch.Tensor | None, other: torch.Tensor) -> bool:
    return one is not None and one.shape == other.shape and bool(torch.equal(one, other))


def read(name: str) -> Step:
    """Returns a step by its name."""
    with np.load(FILE) as held:
        logged = json.loads(str(held["logged"]))[name]
        made = {
            key.partition("/")[2]: torch.from_numpy(held[key]) for key in held.files if key.partition("/")[0] == name
        }
    tensors = {each: values for each, values in inputs(0).items() if each != "length"} | made
    assert tensors["response_mask"].shape == (RESPONSES, SLOTS)
    return Step(tensors, logged)


def names() -> list[str]:
    """Returns the names of the steps that are kept."""
    with np.load(FILE) as held:
        return list(json.loads(str(held["logged"])))
