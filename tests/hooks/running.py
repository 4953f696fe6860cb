"""Takes the hooks of docs/dump-hooks.md from the page and runs them where people paste them: in a library's variables.

Each stand-in has the names, shapes and alignments that the library's source has at the version named on the page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from blueprint.dumps import Minibatch, read_minibatch
from tests.hooks.page import HOOKS

ROWS, PROMPT, SLOTS = 4, 3, 5
LENGTHS = (5, 2, 3, 1)
SEED = torch.Generator().manual_seed(6)
MASK = torch.arange(SLOTS) < torch.tensor(LENGTHS)[:, None]


def run(hook: str, folder: Path, monkeypatch: pytest.MonkeyPatch, version: str, **space: Any) -> Minibatch:
    """Runs a hook among the local variables of a library of a version, and reads the file that it wrote."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("importlib.metadata.version", lambda library: version)
    exec(HOOKS[hook].code, space)
    (path,) = folder.iterdir()
    return read_minibatch(path)


def noise(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=SEED)


def same(found: Minibatch, **expected: Tensor) -> None:
    """Checks tensors inside the mask, word for word."""
    for name, tensor in expected.items():
        mine = found.tensors[name]
        for row, count in enumerate(LENGTHS):
            mine_row, its = (mine[row, :count], tensor[row, :count]) if mine.ndim == 2 else (mine[row], tensor[row])
            assert np.array_equal(mine_row, its.numpy()), name
