"""What the hooks wrote in real runs of the libraries, tests/data/real: see tests/hooks/real."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.minibatch import read_minibatch

REAL = Path(__file__).parents[1] / "data" / "real"
RUNS = sorted(folder for folder in REAL.glob("*/*") if folder.is_dir())


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.parent.name}-{run.name}")
def test_every_file_says_its_place_once(run: Path) -> None:
    batches = [read_minibatch(path) for path in sorted(run.glob("*.safetensors"))]
    assert len({batch.place for batch in batches}) == len(batches) > 0
    assert {batch.step for batch in batches} == {0}
    for batch in batches:
        said = [note for note in batch.notes if "not understood" in note and "row_index" not in note]
        assert not said
        assert batch.dtypes["logprobs_new"] == run.name
