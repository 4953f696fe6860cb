"""Which files of a folder are dumps, and of which step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.dumps import save
from blueprint.verifying.runs.ledger import Ledger
from blueprint.verifying.runs.steps import find, number_in


def put(path: Path, **said: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, {"logprobs_old": np.zeros((1, 2))}, said)
    return path


def named(folder: Path, only: str | None = None) -> list[tuple[int | None, list[str]]]:
    return [(step.number, [file.name for file in step.files]) for step in find(folder, only).steps]


def test_files_are_grouped_by_the_step_in_their_metadata(tmp_path: Path) -> None:
    put(tmp_path / "b" / "rank_1.npz", step=10)
    put(tmp_path / "a" / "rank_0.safetensors", step=10)
    put(tmp_path / "step_77.jsonl", step=9)
    put(tmp_path / "late.parquet", step="100")
    assert named(tmp_path) == [
        (9, ["step_77.jsonl"]),
        (10, ["a/rank_0.safetensors", "b/rank_1.npz"]),
        (100, ["late.parquet"]),
    ]
    assert find(tmp_path).notes == ()


def test_a_step_that_only_a_name_tells_is_said_so(tmp_path: Path) -> None:
    put(tmp_path / "step_2" / "rank_0.npz")
    put(tmp_path / "step_10" / "rank_0.npz")
    assert named(tmp_path) == [(2, ["step_2/rank_0.npz"]), (10, ["step_10/rank_0.npz"])]
    assert find(tmp_path).notes == (
        "2 files have no step in the metadata: taken from the name (step_2/rank_0.npz, step_10/rank_0.npz)",
    )


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("train_data_step120.jsonl", 120), ("verl_step7_of_8.npz", 7), ("global_step_40/rank_3.npz", 40), ("000120.npz", 120),
        ("dump.npz", None), ("rank_0_epoch_1.npz", None), ("step_999999999999999999999.npz", None),
    ],
)  # fmt: skip
def test_the_number_in_a_name(name: str, number: int | None) -> None:
    assert number_in(name) == number


def test_a_damaged_file_belongs_to_the_step_that_files_named_alike_have_there(tmp_path: Path) -> None:
    for step in (8, 9):
        put(tmp_path / f"trl_{step:06d}_0_0.npz", step=step)
        put(tmp_path / f"trl_{step:06d}_0_1.npz", step=step)
    (tmp_path / "trl_000009_0_1.npz").write_bytes(b"cut off")
    (tmp_path / "other_000009_0_1.npz").write_bytes(b"cut off")
    assert named(tmp_path) == [
        (8, ["trl_000008_0_0.npz", "trl_000008_0_1.npz"]),
        (9, ["trl_000009_0_0.npz", "trl_000009_0_1.npz"]),
        (None, ["other_000009_0_1.npz"]),
    ]


def test_files_without_any_number_stand_for_themselves_behind_the_others(tmp_path: Path) -> None:
    for name in ("b.npz", "a.npz"):
        put(tmp_path / name)
    put(tmp_path / "c.npz", step=3)
    assert named(tmp_path) == [(3, ["c.npz"]), (None, ["a.npz"]), (None, ["b.npz"])]
    assert [step.name for step in find(tmp_path).steps] == ["step 3", "a.npz", "b.npz"]


def test_other_files_are_named_and_hidden_ones_and_ledgers_are_not(tmp_path: Path) -> None:
    put(tmp_path / "dump.npz", step=0)
    put(tmp_path / ".cache" / "dump.npz", step=1)
    for name in ("notes.txt", "config.json", "weights.bin"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    Ledger(tmp_path / "some.jsonl").close()
    found = find(tmp_path)
    assert [step.number for step in found.steps] == [0]
    assert found.skipped == ("config.json", "notes.txt", "weights.bin")
    assert named(tmp_path, "*.bin") == [(None, ["weights.bin"])]


def test_a_damaged_dump_is_not_overlooked(tmp_path: Path) -> None:
    (tmp_path / "step_4.safetensors").write_bytes(b"")
    assert named(tmp_path) == [(4, ["step_4.safetensors"])]


def test_a_link_that_leads_nowhere_is_a_step_and_a_folder_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "step_4.npz").symlink_to(tmp_path / "gone.npz")
    (tmp_path / "again").symlink_to(tmp_path)
    assert named(tmp_path) == [(4, ["step_4.npz"])]
    with pytest.raises(FileNotFoundError):
        find(tmp_path / "no")
