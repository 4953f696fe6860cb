"""A search for causes ends in time, says what it left, and is silent on numbers that are beyond every number."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from time import thread_time

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from safetensors import safe_open
from safetensors.numpy import save_file

from blueprint.verifying import StepVerdict, data_of_step, progress, text_of_step, verify_step
from blueprint.verifying.progress import Room

REAL = Path(__file__).parents[1] / "data" / "real"


def logged(folder: Path, name: str, quantity: str, value: float) -> StepVerdict:
    """Verifies a recorded file of which one logged number is another one; no warning is allowed."""
    path = min((REAL / name).rglob("*.safetensors"))
    with safe_open(path, "numpy") as file:
        tensors, said = {each: file.get_tensor(each) for each in file.keys()}, dict(file.metadata())  # noqa: SIM118
    said["logged"] = json.dumps({**json.loads(said["logged"]), quantity: value})
    save_file(tensors, folder / "other.safetensors", said)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return verify_step([folder / "other.safetensors"])


def test_a_search_that_takes_too_long_ends_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MOST_SECONDS", 0.0)
    found = logged(tmp_path, "trl_kto/kto", "loss", 0.123456789)
    assert found.first is not None
    search = found.parts[0].verdict.search
    assert search is not None
    assert search.tried < search.known
    assert "were tried, the likeliest: the others would take too long." in text_of_step(found)


@pytest.mark.parametrize(
    ("name", "quantity", "many"), [("trl_dpo/alike", "loss", 2), ("trl_1_12/float32", "pg_loss", 2)]
)
def test_a_search_over_several_files_that_takes_too_long_says_how_many_causes_were_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, quantity: str, many: int
) -> None:
    monkeypatch.setattr(progress, "MOST_SECONDS", 0.0)
    paths = []
    for path in sorted((REAL / name).rglob("*.safetensors"))[:many]:
        with safe_open(path, "numpy") as file:
            tensors, said = {each: file.get_tensor(each) for each in file.keys()}, dict(file.metadata())  # noqa: SIM118
        logged = json.loads(said["logged"])
        assert quantity in logged, logged
        said["logged"] = json.dumps({**logged, quantity: 0.123456789})
        paths.append(tmp_path / path.name)
        save_file(tensors, paths[-1], said)
    found = verify_step(paths)
    assert len(found.parts) == many
    assert found.search is not None
    assert found.search.tried < found.search.known
    tried = f"{found.search.tried:,} of at least {found.search.known:,} were tried, the likeliest: the others would take too"
    assert tried in text_of_step(found)
    assert data_of_step(found)["causes_tried"] == {"tried": found.search.tried, "known": found.search.known}


def test_room_is_counted_and_what_is_found_has_always_room() -> None:
    class Cause:
        def __init__(self, found: bool) -> None:
            self.found = found

    room = Room(3)
    assert len([*room.of([Cause(False)] * 2)]) == 2
    assert [each.found for each in room.of([Cause(False), Cause(False), Cause(True)])] == [False, True]
    assert room.tried == 4
    assert not room.late


@pytest.mark.parametrize(
    ("name", "quantity"),
    [
        ("trl_grpo/functions", "clip_ratio/high_mean"),
        ("trl_grpo/dapo", "clip_ratio/region_mean"),
        ("trl_sft/completion", "loss"),
    ],
)
@pytest.mark.parametrize("value", [1e308, 1e30, np.inf])
def test_causes_of_numbers_beyond_every_number_are_looked_for_in_silence(
    tmp_path: Path, name: str, quantity: str, value: float
) -> None:
    found = logged(tmp_path, name, quantity, value)
    assert found.first is not None
    assert found.first.line.compared.logged == value


def test_a_number_that_chance_would_explain_is_searched_in_time_and_no_term_of_its_size_is_named(
    tmp_path: Path,
) -> None:
    began = thread_time()
    found = logged(tmp_path, "trl_reward/margin", "loss", 1e308)
    assert thread_time() - began < 60.0  # half a minute of it; without bounds pairs alone took two
    assert not [each.said for each in found.causes if "1e+308" in each.said]
