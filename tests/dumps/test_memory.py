"""How much memory reading needs: about the file itself, not several copies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from blueprint.dumps import save

ROWS, SLOTS = 1000, 1000
CODE = """
import resource, sys, numpy, blueprint.dumps
from pathlib import Path
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
blueprint.dumps.read_minibatch(Path(sys.argv[1]))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss has other units elsewhere")
@pytest.mark.parametrize("ending", ["safetensors", "npz"])
def test_reading_a_million_words_needs_less_than_twice_the_file(tmp_path: Path, ending: str) -> None:
    """Ten tensors of float32, 41 MB; a few masks of 1 MB each are made for the checks."""
    rng = np.random.default_rng(0)
    names = ("logprobs_old", "logprobs_ref", "logprobs_new", "logprobs_rollout", "entropy")
    tensors = {name: -rng.random((ROWS, SLOTS), np.float32) for name in names}
    tensors["entropy"] *= -1
    for name in ("values_old", "values_new", "rewards", "advantages", "returns"):
        tensors[name] = rng.random((ROWS, SLOTS), np.float32)
    path = tmp_path / f"run.{ending}"
    save(path, tensors | {"response_mask": np.ones((ROWS, SLOTS), np.bool_)})
    found = subprocess.run([sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 2 * path.stat().st_size
