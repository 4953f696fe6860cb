"""What TRL's SFTTrainer wrote by its hook, tests/data/real/trl_sft: counted by hand, and mistakes in what was logged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from blueprint.dumps import inspect, save
from blueprint.verifying import verify_step

RUN = Path(__file__).parents[1] / "data" / "real" / "trl_sft"
FILES = sorted((RUN / "completion").glob("*.safetensors"))


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Returns the tensors and the metadata of a file."""
    with safe_open(path, "np") as file:
        return load_file(path), file.metadata()


def test_a_microbatch_is_a_share_of_the_tokens_of_the_update() -> None:
    both = [read(path) for path in FILES]
    tokens = sum(int(tensors["mask"].sum()) for tensors, _ in both)
    for tensors, said in both:
        logged, mask = json.loads(said["logged"]), tensors["mask"]
        assert int(said["num_items_in_batch"]) == tokens > mask.sum()
        assert logged["loss"] == pytest.approx(-tensors["per_token_logps"][mask].astype(float).sum() / tokens, abs=1e-6)
        assert logged["entropy"] == pytest.approx(tensors["per_token_entropy"][mask].astype(float).mean(), abs=1e-6)


def changed(folder: Path, **logged: float) -> list[Path]:
    """Writes the files again, with logged numbers multiplied."""
    found = []
    for path in FILES:
        tensors, said = read(path)
        numbers = {name: each * logged.get(name, 1) for name, each in json.loads(said["logged"]).items()}
        found.append(folder / path.name.replace(".safetensors", ".npz"))
        settings = json.loads(said["hyperparameters"]) | {"packing": False}
        plain = {key: int(each) if each.isdecimal() else each for key, each in said.items()}
        save(found[-1], tensors, {**plain, "hyperparameters": settings, "logged": numbers})
    return found


@pytest.mark.parametrize(
    ("name", "factor", "cause"),
    [("entropy", 0.5, "halved"), ("entropy", 1.1, ""), ("loss", 2.0, "2"), ("loss", -1.0, "opposite sign")],
)
def test_a_number_that_is_wrong_is_found_and_named(name: str, factor: float, cause: str, tmp_path: Path) -> None:
    found = verify_step(changed(tmp_path, **{name: factor}))
    assert found.first is not None
    assert found.first.name == {"loss": "total_loss"}.get(name, name)
    said = [each.said for each in found.causes]
    assert any(cause in each for each in said) if cause else not said, said


def test_whether_texts_were_packed_is_listed_and_not_refused(tmp_path: Path) -> None:
    files = changed(tmp_path)
    assert verify_step(files).first is None
    assert "packing = False" in inspect(files[0]).dropped
