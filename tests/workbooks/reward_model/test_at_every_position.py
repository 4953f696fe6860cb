"""Losses of the scores at every position are verified where a dump has them: recorded runs of DeepSpeed-Chat and trlX judge."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

import blueprint as bp
from blueprint.dumps import save
from tests.commands import run_command
from tests.preference_runs import pairs, runs

RUNS = [run for run in runs("reward_model") if run.options["form"] == "per_position"]


def dump(path: Path, preset: str, logged: dict[str, float], **other: Any) -> Path:
    """Writes the four recorded pairs, chosen responses first; other: tensors that are others, None where one is not there."""
    of, order = pairs(), [0, 2, 4, 6, 1, 3, 5, 7]
    head, ids, text = of.head[order], of.ids[order].astype(int), of.text[order].astype(int)
    scores = head[np.arange(8), text.sum(1) - 1]
    tensors = {
        "position_scores": head, "input_ids": ids, "attention_mask": text,
        "rewards_chosen": scores[:4], "rewards_rejected": scores[4:], **other,
    }  # fmt: skip
    save(path, {name: each for name, each in tensors.items() if each is not None},
         {"algorithm": "reward_model", "preset": preset, "logged": logged})  # fmt: skip
    return path


def loss_from(apart: np.ndarray, counts: np.ndarray) -> float:
    """Returns −log σ of differences, a mean over what counts of each pair, then over the pairs."""
    lost = np.log1p(np.exp(-apart)) * counts
    return float((lost.sum(1) / counts.sum(1)).mean())


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_recorded_loss_agrees(run: Any, tmp_path: Path) -> None:
    preset = "trlx_rm" if "trlx" in run.library else "deepspeed_chat_rm"
    told = run_command("verify", str(dump(tmp_path / "step.npz", preset, {"loss": run.out["loss"]}))).output
    assert re.search(r"\ntotal_loss +loss .* agrees\nAll 3 logged quantities agree", told)


def test_the_loss_of_the_last_tokens_is_none_of_every_position_and_the_other_way_round(tmp_path: Path) -> None:
    of, rows = pairs(), np.arange(4)
    head, length = of.head, of.text.sum(1).astype(int) - 1
    last = head[2 * rows, length[2 * rows]] - head[2 * rows + 1, length[2 * rows + 1]]
    of_last = loss_from(last[:, None], np.ones((4, 1)))
    found = bp.verify(dump(tmp_path / "last.npz", "deepspeed_chat_rm", {"loss": of_last}))
    assert found.causes[0].rest
    assert found.causes[0].said.startswith("loss.form = ")
    every = loss_from(head[::2] - head[1::2], np.ones((4, head.shape[1])))
    found = bp.verify(dump(tmp_path / "every.npz", "trl_1.16_rm", {"loss": every}))
    assert found.causes[0].rest
    assert found.causes[0].said == "the scores of a pair are compared at every position in the whole batch, pads too"


def test_two_equal_texts_are_compared_in_the_last_column(tmp_path: Path) -> None:
    """As DeepSpeed-Chat does: there is no first difference."""
    of = pairs()
    head, ids, text = (each[[0, 2, 4, 6, 0, 3, 5, 7]] for each in (of.head, of.ids, of.text))
    head[4] += 0.5  # the same words, and other scores, so that something is lost
    apart, counts = head[:4] - head[4:], np.zeros((4, head.shape[1]))
    counts[0, -1] = 1
    for row in range(1, 4):
        differ, end = (ids[row] != ids[row + 4]).argmax(), int(max(text[row].sum(), text[row + 4].sum()))
        counts[row, differ:end] = 1
    scores = head[np.arange(8), text.sum(1).astype(int) - 1]
    tensors = {"rewards_chosen": scores[:4], "rewards_rejected": scores[4:], "position_scores": head,
               "input_ids": ids.astype(int), "attention_mask": text.astype(int)}  # fmt: skip
    path = dump(tmp_path / "equal.npz", "deepspeed_chat_rm", {"loss": loss_from(apart, counts)}, **tensors)
    assert bp.verify(path).agrees


@pytest.mark.parametrize(("other", "lacks"), [
    ({"input_ids": None}, "the tokens of both texts, and the scores at all of their positions"),
    ({"attention_mask": np.tile([0, 1, 1, 1, 1, 1, 1, 1, 1], (8, 1))}, "texts that begin in the first column and have no holes"),
], ids=["no tokens", "pads in front"])  # fmt: skip
def test_what_cannot_be_compared_is_said(other: dict[str, Any], lacks: str, tmp_path: Path) -> None:
    width = pairs().head.shape[1]
    other = {name: None if each is None else each[:, :width] for name, each in other.items()}
    path = dump(tmp_path / "step.npz", "deepspeed_chat_rm", {"loss": 0.5}, **other)
    assert f"loss: not compared, it takes {lacks}" in run_command("verify", str(path)).output
