"""Steps of fine-tuning from log-probs: what eight libraries' own code computed of one batch agrees, and mistakes are named."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import blueprint as bp
from blueprint.dumps import MinibatchError, inspect, read_dump, save
from blueprint.inputs import load
from blueprint.verifying import VerifyOptions, verify_dumps, verify_one
from tests.commands import run_command
from tests.preference_runs import Run, with_loss

Array = npt.NDArray[np.float64]
RUNS = [run for run in with_loss("sft") if run.conventions.get("packing") != "wrapped"]


@cache
def batch() -> tuple[Array, Array, Array]:
    """Returns the log-probs of the labels of sft-batch, [4, 9], which of them are response, and which are text."""
    numbers = load("sft-batch")
    words = {word: at for at, word in enumerate(numbers["text.vocabulary"])}
    labels = np.array([[words[word] for word in text] for text in numbers["text.texts"]])[:, 1:]
    logits = np.asarray(numbers["policy.logits"], float)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    logprobs = np.take_along_axis(log_p, labels[..., None], -1)[..., 0]
    return logprobs, np.asarray(numbers["text.response"], float), np.asarray(numbers["text.there"], float)


def written(path: Path, loss: float, mask: Array | None = None, dtype: str = "float32", **metadata: Any) -> Path:
    """Writes the batch with a loss, by the conventions of TRL if nothing else is said."""
    logprobs, response, _ = batch()
    tensors = {"per_token_logps": logprobs.astype(dtype), "completion_mask": response if mask is None else mask}
    save(path, tensors, {"library": "trl", "algorithm": "sft", "logged": {"loss": float(loss)}, **metadata})
    return path


def causes(path: Path) -> list[str]:
    return [each.said for each in verify_one(read_dump(path)).verdict.causes]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_what_a_library_computed_agrees_under_its_conventions(run: Run, tmp_path: Path) -> None:
    _, response, there = batch()
    said = dict(run.conventions)
    mask = there if said["region"] == "text" else response
    if said["region"] == "everything":
        pytest.skip("pads of this run have labels of their own, which the batch's texts do not say")
    path = written(tmp_path / "step.npz", run.out["loss"], mask, dtype="float64")
    changes = tuple(f"{key if '.' in key else f'sft.{key}'}={value}" for key, value in said.items())
    verdict = verify_one(read_dump(path), VerifyOptions("trl_1.16", changes)).verdict
    (line,) = verdict.lines
    assert line.compared.name == "total_loss"
    assert line.compared.recomputed == pytest.approx(run.out["loss"], rel=1e-12)
    assert verdict.agrees


def test_mistakes_are_named(tmp_path: Path) -> None:
    logp, m, _ = batch()
    lengths, path = m.sum(1), tmp_path / "step.npz"
    last = m * (np.flip(np.cumsum(np.flip(m, 1), 1), 1) > 1)
    planted = {
        "loss.normaliser = row_means": -((logp * m).sum(1) / lengths).mean(),
        "loss.normaliser = row_sums": -(logp * m).sum() / len(m),
        "every position counted, pads and prompt, too": -logp.mean(),
        "loss.dft = on": -(logp * np.exp(logp) * m).sum() / m.sum(),
        "everything divided by 4": -(logp * m).sum() / m.sum() / 4,
        "the last token of each text left out": -(logp * last).sum() / last.sum(),
        "the opposite sign of the loss": (logp * m).sum() / m.sum(),
        "another equation of loss.of_token": -2 * (logp**2 * m).sum() / m.sum() / 2,
    }
    for said, loss in planted.items():
        found = causes(written(path, loss))
        assert any(each.startswith(said) for each in found), (said, found)
    assert causes(written(path, -(logp * m).sum() / m.sum() * 1.013)) == []


def test_a_microbatch_is_a_share_of_its_step(tmp_path: Path) -> None:
    """transformers 5.10 divides by num_items_in_batch, the labels of all microbatches, and multiplies by the ranks."""
    logp, m, _ = batch()
    total, path = -(logp * m).sum(), tmp_path / "step.npz"
    assert verify_one(read_dump(written(path, total / 50, num_items_in_batch=50))).verdict.agrees
    assert verify_one(read_dump(written(path, 2 * total / 50, num_items_in_batch=50, dp_size=2))).verdict.agrees
    found = causes(written(path, total / m.sum(), num_items_in_batch=50))
    assert found[0] == "a mean over this file alone, not its share of the larger batch's"


def test_files_of_a_step_share_the_count_of_all_their_tokens(tmp_path: Path) -> None:
    logp, m, _ = batch()
    paths = []
    for at, rows in enumerate((slice(0, 2), slice(2, 4))):
        loss = -(logp[rows] * m[rows]).sum() / m.sum()
        path = tmp_path / f"{at}.npz"
        tensors = {"logprobs": logp[rows].astype(np.float32), "labels": np.where(m[rows] > 0, 5, -100)}
        place = {"microbatch": at, "microbatches": 2, "minibatch": 0}
        save(path, tensors, {"library": "trl", "algorithm": "sft", "logged": {"loss": float(loss)}, **place})
        paths.append(path)
    found = verify_dumps([read_dump(path) for path in paths])
    assert found.first is not None
    assert found.causes[0].said == "a share of the mean over the tokens of all files of the step"


def test_labels_with_a_column_more_are_those_before_the_shift(tmp_path: Path) -> None:
    logp, m, _ = batch()
    labels = np.pad(np.where(m > 0, 7, -100), ((0, 0), (1, 0)), constant_values=3)
    save(tmp_path / "a.npz", {"logprobs": logp, "labels": labels}, {"logged": {"loss": 1.0}, "preset": "openrlhf"})
    dump = read_dump(tmp_path / "a.npz")
    assert (dump.kind, np.array_equal(dump.mask, m > 0)) == ("sft", True)


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"mask": np.ones((4, 8))}, "mask: found the shape [4, 8], expected [4, 9] as logprobs"),
        (
            {"labels": np.ones((4, 11))},
            "labels: found the shape [4, 11], expected [4, 9] as logprobs, or a column more.",
        ),
        ({"mask": np.zeros((4, 9))}, "no token counts"),
        ({"mask": np.ones((4, 9)), "logprobs": np.ones((4, 9))}, "a probability above 1"),
        ({}, "nothing says which tokens count"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(tensors: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save(path, {"logprobs": batch()[0], **tensors}, {"algorithm": "sft", "logged": {"loss": 1.0}})
    with pytest.raises(MinibatchError) as error:
        read_dump(path)
    assert str(path) in str(error.value)
    assert said in str(error.value)


def test_inspect_says_what_can_be_recomputed(tmp_path: Path) -> None:
    found = inspect(written(tmp_path / "a.npz", 1.0, hyperparameters={"max_length": 512, "loss_type": "nll"}))
    assert found.recomputable == {"loss, perplexity": (), "mean entropy": ("entropy",)}
    assert found.dropped == ("max_length = 512",)
    assert dict(found.mentioned.settings) == {"loss.dft": "off"}
    assert found.batch is not None
    assert found.batch.head == "A step of fine-tuning: 4 texts, 14 tokens to be learned."


def test_import_makes_a_workbook_with_the_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    logp, m, _ = batch()
    written(Path("step.npz"), -(logp * m).sum() / m.sum(), dtype="float64")
    found = run_command("import", "step.npz", "-o", "step.xlsx")
    assert found.exit_code == 0, found.output
    assert "The dump has no logits" in found.output
    assert float(bp.open("step.xlsx")["total_loss"].iloc[0, 0]) == pytest.approx(-(logp * m).sum() / m.sum(), rel=1e-12)


def test_a_step_of_ppo_without_scores_is_none_of_fine_tuning(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save(path, {"logprobs_old": batch()[0], "logprobs": batch()[0], "mask": batch()[1]}, {"logged": {"loss": 1.0}})
    assert inspect(path).batch is None or inspect(path).batch.kind != "sft"  # type: ignore[union-attr]
    assert json.dumps(inspect(path).refusal)


@pytest.mark.parametrize("texts", [1, 3])
def test_texts_of_one_token_become_a_workbook_whose_formulas_all_agree(texts: int, tmp_path: Path) -> None:
    dump, book = tmp_path / "one.npz", tmp_path / "one.xlsx"
    said = json.dumps({"algorithm": "sft", "preset": "default", "logged": {}})
    column = np.full((texts, 1), -1.25)
    np.savez(dump, metadata=np.array(said), logprobs_new=column, response_mask=np.ones((texts, 1)))
    made = run_command("import", dump, "-o", book)
    assert made.exit_code == 0, made.output
    (formulas,) = re.findall(r"xlsx: \d+ sheets, ([\d,]+) formulas", made.output)
    assert f"recalculated {formulas} of {formulas} formulas" in made.output
    checked = run_command("check", book)
    assert checked.exit_code == 0, checked.output
    assert "agrees" in checked.output
