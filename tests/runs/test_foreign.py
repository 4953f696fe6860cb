"""What lies in the folder of a run and is no dump: checkpoints, logs and settings are left aside, and a damaged dump is not."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from safetensors.numpy import save_file

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

import torch

from blueprint.dumps import head_of, is_foreign, save
from tests.commands import run_command
from tests.runs.made import a_run

WEIGHTS = {
    "model.embed_tokens.weight": np.zeros((32, 4), np.float32),
    "model.layers.0.self_attn.q_proj.weight": np.zeros((4, 4), np.float32),
    "model.norm.weight": np.ones(4, np.float32),
    "lm_head.weight": np.zeros((32, 4), np.float32),
    "v_head.summary.bias": np.zeros(1, np.float32),
}
ADAPTER = {"base_model.model.lora_A.weight": np.zeros((2, 4), np.float32)}


class Scheduler:
    """Something that only its own program can load."""

    def __init__(self) -> None:
        self.base_lrs, self.last_epoch = [0.1], 3


def trained() -> dict[str, Any]:
    """Returns the state of an optimiser after a step."""
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    found: dict[str, Any] = optimizer.state_dict()
    return found


def random_states() -> dict[str, Any]:
    return {"python": (3, (1, 2)), "numpy": np.random.get_state(), "cpu": torch.get_rng_state()}


FOREIGN: dict[str, Callable[[Path], object]] = {
    "model.safetensors": lambda path: save_file(WEIGHTS, path, {"format": "pt"}),
    "checkpoint-20/adapter_model.safetensors": lambda path: save_file(ADAPTER, path),
    "checkpoint-20/optimizer.pt": lambda path: torch.save(trained(), path),
    "checkpoint-20/old.pt": lambda path: torch.save(trained(), path, _use_new_zipfile_serialization=False),
    "checkpoint-20/scheduler.pt": lambda path: torch.save({"scheduler": Scheduler()}, path),
    "checkpoint-20/rng_state.pth": lambda path: torch.save(random_states(), path),
    "checkpoint-20/weights.pth": lambda path: torch.save({name: torch.from_numpy(each) for name, each in WEIGHTS.items()}, path),
    "checkpoint-20/whole.pt": lambda path: path.write_bytes(pickle.dumps(Scheduler())),
    "weights.npz": lambda path: np.savez(path, **WEIGHTS),  # type: ignore[arg-type]
    "log.jsonl": lambda path: path.write_text('{"step": 20, "loss": 0.2, "reward": 1.5, "kl": 0.01}\n'),
}  # fmt: skip
OTHERS: dict[str, Callable[[Path], object]] = {
    "pytorch_model.bin": lambda path: torch.save({"a": torch.ones(2)}, path),
    "trainer_state.json": lambda path: path.write_text(json.dumps({"global_step": 20})),
    "training_args.bin": lambda path: path.write_bytes(pickle.dumps(Scheduler())),
}


def run(*arguments: str | Path) -> Result:
    return run_command("verify", *arguments, "--workers", "1")


def made(path: Path, write: Callable[[Path], object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path)
    return path


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_no_dump_is_told_by_what_it_holds(name: str, tmp_path: Path) -> None:
    assert is_foreign(head_of(made(tmp_path / name, FOREIGN[name])))


def test_a_run_with_its_checkpoints_is_verified_and_they_are_named(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", 2)
    for name, write in {**FOREIGN, **OTHERS}.items():
        made(folder / name, write)
    found = run(folder)
    assert found.exit_code == 0, found.output
    assert "Of 2 steps 2 agree." in found.stdout
    (note,) = [line for line in found.stdout.splitlines() if "nothing of a training step inside" in line]
    assert note.startswith(
        f"Note: {len(FOREIGN)} files have nothing of a training step inside, as a checkpoint has: left aside ("
    )
    assert "Note: 3 files have no ending of a dump: left aside" in found.stdout


def test_a_folder_of_checkpoints_alone_holds_no_dump(tmp_path: Path) -> None:
    made(tmp_path / "model.safetensors", FOREIGN["model.safetensors"])
    found = run(tmp_path)
    assert found.exit_code == 3
    assert "holds no dump of a training step" in found.stderr


@pytest.mark.parametrize(
    "tensors",
    [
        {"logprob_olds": np.zeros((2, 3))}, {"old_log_probs": np.zeros((2, 3)), "model.norm.weight": np.ones(2)},
        {"chosen_logps": np.zeros(2), "rejected_logps": np.zeros(2)}, {"rewards": np.zeros((4, 1))},
    ],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["npz", "safetensors", "jsonl"])
def test_what_has_or_nearly_has_a_name_of_a_dump_is_one(tensors: dict[str, Any], ending: str, tmp_path: Path) -> None:
    save(tmp_path / f"a.{ending}", tensors, {})
    assert not is_foreign(head_of(tmp_path / f"a.{ending}"))


def test_what_says_that_it_is_a_dump_is_one_and_a_damaged_file_is_not_left_aside(tmp_path: Path) -> None:
    save(tmp_path / "a.npz", {"model.norm.weight": np.ones((1, 4))}, {"library": "verl"})
    assert not is_foreign(head_of(tmp_path / "a.npz"))
    folder = a_run(tmp_path / "run", 1)
    (folder / "dump_1.safetensors").write_bytes(b"cut off")
    torch.save({"old_log_probs": torch.zeros(2, 3), "scheduler": Scheduler()}, folder / "dump_2.pt")
    found = run(folder)
    assert found.exit_code == 3
    assert "2 could not be verified" in found.stdout


def test_nothing_in_a_pickle_is_run(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "ran",))

    made(tmp_path / "a.pt", lambda path: path.write_bytes(pickle.dumps({"state": Evil()})))
    assert is_foreign(head_of(tmp_path / "a.pt"))
    torch.save({"state": Evil()}, tmp_path / "b.pt")
    assert is_foreign(head_of(tmp_path / "b.pt"))
    assert not (tmp_path / "ran").exists()
