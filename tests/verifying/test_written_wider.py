"""Clean steps whose numbers were written as float64, as jsonl does and `astype(float)`, are not accused; faults are seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from safetensors.torch import load_file

from blueprint.dumps import Array, as_computed, read_dump
from blueprint.verifying import StepVerdict, VerifyOptions, verify_step
from tests.dumps.batches import raw_npz

REAL = Path(__file__).parents[1] / "data" / "real"
STEPS = (
    "trl_grpo/dapo", "openrlhf_grpo/group_norm", "verl_grpo/grpo", "trl_dpo/sigmoid", "trl_kto/kto", "trl_reward/margin",
    "trl_sft/completion", "cleanrl/clipped", "sb3/free", "trl_1_12/float32", "verl_0_9/token-mean-verl-ppo",
    "openrlhf_0_11/loss", "trl_dpo/bfloat16", "trl_sft/bfloat16", "trl_kto/bfloat16",
)  # fmt: skip


def wider(folder: Path, name: str, change: Callable[[dict[str, Array]], object] = lambda tensors: None) -> Path:
    """Writes a recorded file with all its numbers as float64."""
    from safetensors import safe_open

    path = min((REAL / name).rglob("*.safetensors"))
    with safe_open(path, "pt") as file:
        said: dict[str, Any] = dict(file.metadata())
    tensors = {
        key: (each.double() if each.is_floating_point() else each).numpy() for key, each in load_file(path).items()
    }
    change(tensors)
    said = {key: json.loads(each) if each[:1] in "{[" else each for key, each in said.items()}
    return raw_npz(folder, tensors, json.dumps(said))


def verified(path: Path) -> StepVerdict:
    return verify_step([path], VerifyOptions(causes=False))


@pytest.mark.parametrize("name", STEPS)
def test_no_clean_step_that_was_written_wider_is_accused(tmp_path: Path, name: str) -> None:
    found = verified(wider(tmp_path, name))
    assert found.compared
    assert found.agrees, [(each.line.called, each.line.says) for each in found.lines]


def test_a_small_fault_in_one_is_seen(tmp_path: Path) -> None:
    def fault(tensors: dict[str, Array]) -> None:
        tensors["chosen_rewards"] = (tensors["chosen_rewards"] * 1.001).astype(np.float32).astype(float)

    found = verified(wider(tmp_path, "trl_dpo/sigmoid", fault))
    assert found.first is not None
    assert found.first.line.called == "chosen_rewards"


def test_numbers_of_float64_stay_what_they_are(tmp_path: Path) -> None:
    def finer(tensors: dict[str, Array]) -> None:
        tensors |= {key: each * (1 - 1e-12) for key, each in tensors.items() if each.dtype.kind == "f"}

    dump = read_dump(wider(tmp_path, "trl_dpo/sigmoid", finer))
    assert as_computed(dump) is dump
    narrow = as_computed(read_dump(wider(tmp_path, "trl_dpo/sigmoid")))
    assert set(narrow.dtypes.values()) - {"int64"} == {"float32"}


def test_round_numbers_tell_nothing(tmp_path: Path) -> None:
    scores = {"chosen.score": np.arange(20) / 8, "rejected.score": np.arange(20) / 16}
    dump = read_dump(raw_npz(tmp_path, scores, json.dumps({"algorithm": "reward_model", "preset": "openrlhf_rm"})))
    assert as_computed(dump) is dump
