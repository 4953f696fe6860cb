"""Settings of TRL's GRPOTrainer by which clean runs were accused or refused: quantiles of the entropy, functions of reward that are
normalised one by one, microbatches of responses that were all cut off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch")

from blueprint.dumps import MinibatchError, read_dump
from blueprint.verifying import StepVerdict, text_of_step, verify_step
from tests.commands import run_command
from tests.hooks.trl_formulas import TRL, Written, read, unsure

RUNS = Path(__file__).parents[2] / "data" / "real" / "trl_grpo"


def run(*arguments: str | Path) -> tuple[int, str]:
    result = run_command(*arguments)
    return result.exit_code, result.output


def files(name: str) -> list[Path]:
    return sorted((RUNS / name).iterdir())


def says(found: StepVerdict) -> Mapping[str, str]:
    return {line.name: line.line.says for line in found.lines}


@pytest.mark.parametrize("name", ["quantile", "bonus", "apart", "cut", "uneven"])
def test_a_clean_run_agrees_file_by_file_as_a_step_and_as_a_folder(name: str, tmp_path: Path) -> None:
    for path in files(name):
        code, out = run("verify", path)
        assert code == 0, out
        assert "DIFFERS" not in out
    code, out = run("verify", RUNS / name, "--workers", "1", "--ledger", tmp_path / "ledger.jsonl")
    assert code == 0, out
    assert "Of 1 step 1 agrees." in out
    found = verify_step(files(name))
    assert says(found)["total_loss"] == "agrees"
    assert says(found)["advantages"] == "agrees"


def test_a_note_says_how_many_tokens_the_quantile_leaves() -> None:
    for path, written in zip(files("quantile"), read(RUNS / "quantile"), strict=True):
        kept, all_of_them = (
            int(unsure(written.tensors, written.settings).sum()),
            int(written.tensors["completion_mask"].sum()),
        )
        assert 0 < kept < all_of_them
        (note,) = [each for part in verify_step([path]).parts for each in part.verdict.notes if "quantile" in each]
        assert note.startswith(
            f"top_entropy_quantile = 0.5: the policy loss counts {kept} of {all_of_them} tokens, those with an "
        )


def in_two_ranks(folder: Path, kept: tuple[int, ...] = (0, 1)) -> list[Path]:
    """Writes microbatches as two processes with a response each would have: the quantile is one over both."""
    paths = []
    for number, each in enumerate(read(RUNS / "quantile")):
        counts = unsure(each.tensors, each.settings)
        for rank in kept:
            tensors = {name: array[rank : rank + 1] for name, array in each.tensors.items()}
            own = Written(tensors, each.settings, {}, {**each.said, "rank": str(rank), "world_size": "2"})
            trainer = type(TRL)(unsure=lambda t, use, counts=counts[rank : rank + 1]: counts)  # type: ignore[misc]
            paths.append(folder / f"{number}_{rank}.safetensors")
            own._replace(logged=trainer.logged(own)).save(paths[-1])
    return paths


def test_the_quantile_is_taken_over_the_microbatch_of_all_ranks(tmp_path: Path) -> None:
    found = verify_step(in_two_ranks(tmp_path))
    assert found.agrees
    assert says(found)["total_loss"] == "agrees"


def test_where_a_rank_is_missing_the_loss_is_not_compared(tmp_path: Path) -> None:
    found = verify_step(in_two_ranks(tmp_path, (0,)))
    assert found.agrees
    assert "total_loss" not in says(found)
    assert found.parts[0].verdict.uncompared["total_loss"] == "the entropies of the other ranks"


def test_where_entropies_are_missing_the_loss_is_not_compared(tmp_path: Path) -> None:
    for number, each in enumerate(read(RUNS / "quantile")):
        tensors = {name: array for name, array in each.tensors.items() if name != "entropies"}
        each._replace(tensors=tensors).save(tmp_path / f"{number}.safetensors")
    found = verify_step(sorted(tmp_path.iterdir()))
    assert found.agrees
    assert found.parts[0].verdict.uncompared["total_loss"] == "entropy"


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("top_entropy_quantile", 1.5, "hyperparameter top_entropy_quantile: found 1.5, expected a number from 0 to 1."),
        ("top_entropy_quantile", "half", "hyperparameter top_entropy_quantile: found half, expected a number from 0 to 1."),
        (
            "multi_objective_aggregation", "added",
            "hyperparameter multi_objective_aggregation: found added, expected sum_then_normalize or normalize_then_sum.",
        ),
    ],
)  # fmt: skip
def test_what_trl_does_not_have_is_refused(setting: str, value: Any, message: str, tmp_path: Path) -> None:
    each = read(RUNS / "quantile")[0]
    each._replace(settings={**each.settings, setting: value}).save(tmp_path / "a.safetensors")
    with pytest.raises(MinibatchError, match=f": {message}"):
        read_dump(tmp_path / "a.safetensors")


def test_a_step_of_functions_normalised_by_themselves_becomes_a_workbook(tmp_path: Path) -> None:
    code, out = run("import", *files("apart"), "-o", tmp_path / "a.xlsx", "--no-proof")
    assert code == 0, out
    assert "all groups of the step, 2 with 8 responses" in out


def test_a_bonus_of_some_tokens_is_refused_as_a_workbook(tmp_path: Path) -> None:
    code, out = run("import", *files("bonus"), "-o", tmp_path / "a.xlsx", "--no-proof")
    assert code == 2
    assert "--set loss.ent_coef=0 shows the step without it" in out
    code, out = run("import", *files("bonus"), "--set", "loss.ent_coef=0", "-o", tmp_path / "a.xlsx", "--no-proof")
    assert "Shown: all groups of the step" in out


def test_of_a_microbatch_without_a_token_no_row_is_said_to_agree() -> None:
    empty = [path for path in files("cut") if not read_dump(path).mask.any()]
    assert len(empty) == 4
    for path in empty:
        found = verify_step([path])
        assert not found.unread
        assert {"advantages", "ratio", "kl_new", "logprobs_new"}.isdisjoint(says(found))


def test_a_mask_of_nothing_is_refused_where_no_setting_leaves_responses_out(tmp_path: Path) -> None:
    each = read(RUNS / "cut")[2]
    each._replace(settings={**each.settings, "mask_truncated_completions": False}).save(tmp_path / "a.safetensors")
    with pytest.raises(MinibatchError, match="the one response is empty: the mask is 0 throughout"):
        read_dump(tmp_path / "a.safetensors")


def test_an_advantage_of_all_but_nothing_may_count_as_clipped_or_not(tmp_path: Path) -> None:
    """A mean in float32 leaves 1e-8 of one sign where float64 leaves the other: its tokens are clipped on either side."""
    rewards, moved, turned = np.array([0.1, 0.3, 0.2, 0.2], np.float32), [], 0
    for each in (file for file in read(RUNS / "batch") if file.said["epoch"] == "1"):
        scores = rewards[each.tensors["row_index"].astype(int) % 4].astype(float)[:, None]
        moved.append(each._replace(tensors={**each.tensors, "rewards_per_func": scores}))
    for number, each in enumerate(TRL.written(moved)):
        t, A = each.tensors, each.tensors["advantages"]
        A = np.where(np.abs(A) < 1e-6, -A, A)
        ratio, mask = np.exp(t["per_token_logps"] - t["old_per_token_logps"]), t["completion_mask"]
        low, high = (ratio < 0.8) & (A[:, None] < 0), (ratio > 1.2) & (A[:, None] > 0)
        turned += int(((low | high) * mask)[np.abs(A) < 1e-6].sum())
        own = {
            "clip_ratio/low_mean": float((low * mask).sum() / mask.sum()),
            "clip_ratio/high_mean": float((high * mask).sum() / mask.sum()),
        }
        each._replace(tensors={**t, "advantages": A}, logged={**each.logged, **own}).save(
            tmp_path / f"{number}.safetensors"
        )
    found = verify_step(sorted(tmp_path.iterdir()))
    assert turned > 3
    assert {"clip.fraction_low", "clip.fraction_high"} <= says(found).keys()
    assert found.agrees, text_of_step(found)


def test_one_missing_file_leaves_the_others_clean() -> None:
    for name in ("quantile", "apart", "uneven", "cut"):
        found = verify_step(files(name)[1:])
        assert found.agrees, text_of_step(found)
        assert found.lacking


def test_json_of_such_a_step_can_be_read(tmp_path: Path) -> None:
    code, out = run("verify", *files("apart"), "--json")
    assert code == 0
    assert json.loads(out)["agrees"] in (True, False)
