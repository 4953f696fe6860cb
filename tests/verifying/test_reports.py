"""Reports: one number of a response has no columns, a cause stands once, and a run is plotted by reward, KL, clip and length."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.dumps import Array, save
from blueprint.verifying import StepVerdict, VerifyOptions, text_of_step, verify_step
from blueprint.verifying.runs.report import Summary, draw, metrics_of, summary_of
from tests.workbooks.grpo.recorded import batch

REAL = Path(__file__).parents[1] / "data" / "real"


def of_trl(
    path: Path, advantages: Array, logged: Mapping[str, float] | None = None, causes: bool = True, **said: Any
) -> StepVerdict:
    """Verifies the recorded batch as TRL's GRPO has it: one advantage for each response."""
    of = batch()
    tensors = {
        "completion_ids": of.tokens,
        "completion_mask": of.mask,
        "old_per_token_logps": of.logprobs("old"),
        "per_token_logps": of.logprobs("new"),
        "rewards": of.rewards,
        "advantages": advantages,
        "group": np.arange(12) // 4,
    }
    known = {"library": "trl", "version": "1.16.0", "algorithm": "grpo", "logged": dict(logged or {})}
    save(path, tensors, known | {"hyperparameters": {"num_generations": 4} | said})
    return verify_step([path], VerifyOptions(causes=causes))


def normalised(ddof: int = 1) -> Array:
    """Returns the advantages of TRL, by the sample's standard deviation or another."""
    groups = batch().rewards.reshape(3, 4)
    apart = groups - groups.mean(axis=1, keepdims=True)
    return np.asarray(apart / (groups.std(axis=1, ddof=ddof, keepdims=True) + 1e-4)).reshape(-1)


def test_one_number_of_a_response_has_no_columns(tmp_path: Path) -> None:
    text = text_of_step(of_trl(tmp_path / "run.npz", normalised(ddof=0)))
    first = text.split("First deviation: ")[1]
    assert first.startswith("advantages, row 0: logged 1.7316509, recomputed 1.49970006.\n")
    assert "  It deviates in 8 of 12 responses; the largest difference is 0.232.\n" in first
    assert "column" not in first
    assert "  It matches with group.ddof = 0; then everything else agrees, too." in first


def test_a_single_response_is_found_among_those_that_agree(tmp_path: Path) -> None:
    advantages = normalised()
    advantages[7] += 0.01
    found = of_trl(tmp_path / "run.npz", advantages, causes=False)
    assert found.first is not None
    compared = found.first.line.compared
    assert (compared.cells, compared.deviating, compared.spot.row if compared.spot else None) == (12, 1, 7)


def test_a_cause_stands_once(tmp_path: Path) -> None:
    """All masks are as wide as the longest response: both lengths by which Dr. GRPO may divide are the same one."""
    of, advantages = batch(), normalised()
    ratio = np.exp(of.logprobs("new") - of.logprobs("old"))
    clipped = np.clip(ratio, 0.8, 1.2)
    each = -np.minimum(ratio * advantages[:, None], clipped * advantages[:, None]) * of.mask
    logged = {"loss": float(each.sum() / 12 / 6)}
    found = of_trl(tmp_path / "run.npz", advantages, logged, loss_type="dr_grpo", max_completion_length=5, beta=0)
    said = [cause.said for cause in found.causes]
    assert "loss.constant = 6" in said
    assert len(said) == len(set(said)), said


def a_run(*folders: str) -> Summary:
    """Takes each folder of recorded files for a step of a run."""
    records = list[Any]()
    for step, folder in enumerate(folders):
        verdict = verify_step(sorted((REAL / folder).glob("*.safetensors"))[:1])
        head = {"step": step, "name": f"step {step}", "outcome": "agrees", "reason": "", "first": "", "cause": ""}
        records.append(head | {"where": "", "text": "", "quantities": [], "watched": metrics_of(verdict.parts)})
    return summary_of(records)


@pytest.mark.parametrize(
    ("folders", "panels"),
    [
        (("trl_grpo/grpo", "trl_grpo/dapo"), ("mean score of the responses", "KL to the reference", "share of clipped tokens",
                                              "mean length of the responses, in tokens")),
        (("trl_dpo/sigmoid", "trl_dpo/ipo"), ("reward of chosen responses", "margin of chosen over rejected responses",
                                              "share of pairs in the right order", "mean length of the responses, in tokens")),
    ],
)  # fmt: skip
def test_runs_of_grpo_and_dpo_are_plotted(tmp_path: Path, folders: tuple[str, ...], panels: tuple[str, ...]) -> None:
    pytest.importorskip("matplotlib", reason="a plot needs matplotlib: install the extra [plot]")
    draw(a_run(*folders), tmp_path / "run.svg")
    text = (tmp_path / "run.svg").read_text(encoding="utf-8")
    for panel in panels:
        assert f"<!-- {panel}" in text, panel
    ticks = re.findall(r'id="xtick_\d+">.*?(?=id="xtick_|id="ytick_|id="matplotlib)', text, re.DOTALL)
    steps = [label for tick in ticks for label in re.findall(r"<!-- ([\d.]+) -->", tick)]
    assert steps == ["0", "1"]  # no step is a half


def test_what_is_plotted_is_that_of_the_files() -> None:
    grpo, dpo = (a_run(folder).steps[0].metrics for folder in ("trl_grpo/grpo", "trl_dpo/sigmoid"))
    assert grpo["reward"][1] == pytest.approx(0.45)
    assert grpo["length"] == (None, 8.5)
    assert dpo["margin"][0] == pytest.approx(dpo["margin"][1], rel=1e-5)
    assert dpo["length"] == (None, 3.5)
