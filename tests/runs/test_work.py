"""What is recorded of a step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import save
from blueprint.verifying.runs.executors import record_of
from blueprint.verifying.runs.report import StepSummary, step_summary, worst_of
from blueprint.verifying.runs.steps import find
from blueprint.verifying.settings import VerifyOptions
from tests.runs.made import a_step, batch
from tests.steps.trl import Args, write
from tests.verifying.classic.rollouts import golden, written

RESULTS = ("rewards", "advantages", "returns")


def recorded(folder: Path, **settings: Any) -> dict[str, Any]:
    """Verifies the only step of a folder; its record must survive JSON."""
    (step,) = find(folder).steps
    found = record_of(folder, step, VerifyOptions(**settings))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def in_short(record: dict[str, Any]) -> StepSummary:
    return step_summary(record)


def only_logged(folder: Path, **logged: float) -> None:
    """Writes a step of which nothing but these numbers was logged, all else in bfloat16's numbers."""
    tensors = {name: each for name, each in batch().tensors.items() if name not in RESULTS}
    save(folder / "step_0.npz", tensors, {"library": "verl", "step": 0, "logged": logged})


def test_a_step_that_agrees(tmp_path: Path) -> None:
    a_step(tmp_path, 4)
    found = recorded(tmp_path)
    assert (found["step"], found["name"], found["outcome"], found["reason"]) == (4, "step 4", "agrees", "")
    assert found["watched"]["approx_kl"]["logged"] == pytest.approx(
        found["watched"]["approx_kl"]["recomputed"], rel=1e-9
    )
    assert found["data"][0]["agrees"]
    assert {worst.says for worst in worst_of(found).values()} == {"agrees"}


def test_a_step_that_deviates_keeps_its_report(tmp_path: Path) -> None:
    a_step(tmp_path, 4, wrong=True)
    found = recorded(tmp_path)
    assert found["outcome"] == "differs"
    assert in_short(found).first == "returns"
    assert in_short(found).times["returns"] > 1e6
    assert "First deviation: returns, row 0" in json.dumps(found)


def test_a_step_of_which_nothing_can_be_told_is_too_coarse_and_no_deviation(tmp_path: Path) -> None:
    """The approximate KL is near 0.04, and with such a tolerance anything would agree."""
    only_logged(tmp_path, approx_kl=0.05)
    assert recorded(tmp_path)["outcome"] == "differs"
    assert recorded(tmp_path, tolerance=1e8)["outcome"] == "too coarse"


def test_a_step_of_which_nothing_was_logged(tmp_path: Path) -> None:
    only_logged(tmp_path)
    found = recorded(tmp_path)
    assert (found["outcome"], in_short(found).first, worst_of(found)) == ("nothing logged", "", {})
    assert found["watched"]["policy_loss"]["logged"] is None
    assert found["watched"]["policy_loss"]["recomputed"] == pytest.approx(0.3349217)


def test_a_deviation_counts_beside_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    a_step(tmp_path, 4)
    (tmp_path / "step_4.npz").write_bytes(b"cut off")
    found = recorded(tmp_path)
    assert (found["outcome"], found["reason"].startswith(f"{tmp_path}/step_4.npz: found neither")) == (
        "not verified",
        True,
    )
    assert found["watched"]["approx_kl"]["recomputed"] == pytest.approx(0.0432118)
    a_step(tmp_path, 4, wrong=True)
    found = recorded(tmp_path)
    assert (found["outcome"], "step_4.npz: found neither" in found["reason"]) == ("differs", True)


def test_what_cannot_be_verified_has_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = dict.fromkeys(("logprobs_old", "logprobs_new"), np.zeros((1, 2)))
    save(tmp_path / "step_0.npz", {**tensors, "response_mask": np.ones((1, 2))})
    assert "step_0.npz does not say which library wrote it" in recorded(tmp_path)["reason"]

    def too_large(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("blueprint.verifying.runs.executors.verify_dumps", too_large)
    assert recorded(tmp_path)["reason"].startswith("it needs more memory than there is: verify with fewer --workers")

    def unforeseen(*_: Any) -> None:
        raise KeyError("what\nis this")

    monkeypatch.setattr("blueprint.verifying.runs.executors.verify_dumps", unforeseen)
    assert recorded(tmp_path)["reason"] == "something unforeseen came up (KeyError: 'what\\nis this')"


@pytest.mark.parametrize(("updates", "ratio"), [(0, 1.0), (1, None)])
def test_the_ratio_at_the_first_update_is_that_of_a_file_before_it(
    tmp_path: Path, updates: int, ratio: float | None
) -> None:
    old = {"logprobs_new": batch().tensors["logprobs_old"], "values_new": batch().tensors["values_old"]}
    save(tmp_path / "step_0.npz", {**batch().tensors, **old}, {"library": "verl", "step": 0, "optimizer_step": updates})
    found = recorded(tmp_path)
    assert found["outcome"] == "agrees"
    assert found["watched"].get("ratio_at_first_update", {}).get("recomputed") == ratio
    assert found["watched"]["ratio"] == {"logged": None, "recomputed": 1.0}


def test_a_rollout_of_classic_ppo_is_a_step_too(tmp_path: Path) -> None:
    tensors, metadata = golden("cleanrl")
    written(tmp_path, tensors, {**metadata, "step": 3})
    found = recorded(tmp_path)
    assert (found["name"], found["reason"], found["data"][0]["environments"]) == ("step 3", "", 2)
    clean = found["outcome"], in_short(found).first
    found = recorded(tmp_path, overrides=("ppo.gamma=0.5",))
    assert (found["outcome"], in_short(found).first) == ("differs", "advantages")
    assert "A rollout of classic PPO" in found["text"]
    assert found["watched"]["policy_loss"]["logged"] == pytest.approx(metadata["logged"]["pg_loss"])
    assert clean == ("agrees", "")


def test_the_files_of_a_step_are_verified_as_one(tmp_path: Path) -> None:
    """A trainer that forgot γ wrote two minibatches of four microbatches; its advantages were whitened over all of them."""
    write(tmp_path, Args(bug="gamma forgotten"))
    found = recorded(tmp_path)
    assert (found["name"], len(found["files"]), found["outcome"]) == ("step 3", 8, "differs")
    assert found["cause"] == "gamma = 1 instead of 0.95"
    assert (tmp_path / found["where"]).exists()
    assert len(found["data"][0]["files"]) == 8
    for path in sorted(tmp_path.glob("*.safetensors"))[1:]:
        path.unlink()
    assert recorded(tmp_path, overrides=("ppo.gamma=1",))["outcome"] == "agrees"
