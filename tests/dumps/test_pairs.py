"""Dumps of pairs as people write them: which kind each is, in whose names, and what is refused, in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch")

from blueprint.dumps import Array, MinibatchError, read_dump
from blueprint.verifying import VerifyOptions, verify_step
from tests.dumps.batches import raw_npz

CHOSEN, REJECTED = np.array([-3.0, -5.0, -2.5]), np.array([-4.0, -4.5, -9.0])
REFERENCE = np.array([-3.5, -4.0, -2.5]), np.array([-3.0, -6.0, -8.0])
MARGINS = (CHOSEN - REFERENCE[0]) - (REJECTED - REFERENCE[1])
LOSS = float(np.log1p(np.exp(-0.1 * MARGINS)).mean())
NAMES = {
    "dpo_original": ("policy_chosen_logps", "policy_rejected_logps", "reference_chosen_logps", "reference_rejected_logps"),
    "openrlhf": ("chosen_logps", "rejected_logps", "reference_chosen_logps", "reference_rejected_logps"),
    "trl": ("chosen_logps", "rejected_logps", "ref_chosen_logps", "ref_rejected_logps"),
}  # fmt: skip


def pairs(library: str, **more: Array) -> dict[str, Array]:
    """Returns log-probs of whole responses in the names of a library."""
    return dict(zip(NAMES[library], (CHOSEN, REJECTED, *REFERENCE), strict=True)) | more


def written(tmp_path: Path, tensors: dict[str, Array], **metadata: object) -> Path:
    return raw_npz(tmp_path, tensors, json.dumps(metadata))


@pytest.mark.parametrize("library", NAMES)
def test_log_probs_of_whole_responses_suffice_in_the_names_of_any_library(library: str, tmp_path: Path) -> None:
    more = {"nll_loss_coef": 0.0} if library == "openrlhf" else {}
    said = {"library": library, "version": "1.16.0", "hyperparameters": {"beta": 0.1, **more}, "logged": {"loss": LOSS}}
    found = verify_step([written(tmp_path, pairs(library), **said)])
    assert {line.name: line.line.says for line in found.lines} == {"total_loss": "agrees"}
    (part,) = found.parts
    assert part.chosen.preset.name == {"trl": "trl_1.16"}.get(library, library)
    wrong = written(tmp_path, pairs(library), **{**said, "logged": {"loss": LOSS * 1.01}})
    assert not verify_step([wrong], VerifyOptions(causes=False)).agrees


def test_lists_of_different_lengths_bring_their_mask_along(tmp_path: Path) -> None:
    rows = [
        {"chosen_logps": [-1.0, -2.0], "rejected_logps": [-1.5], "ref_chosen_logps": [-1.5, -2.5], "ref_rejected_logps": [-1.0]},
        {"chosen_logps": [-0.5], "rejected_logps": [-1.0, -1.0, -3.0], "ref_chosen_logps": [-1.0],
         "ref_rejected_logps": [-1.0, -2.0, -2.5]},
    ]  # fmt: skip
    loss = float(np.log1p(np.exp(-0.1 * np.array([1.0 + 0.5, 0.5 - 0.5]))).mean())
    head = {"metadata": {"library": "trl", "version": "1.16.0", "logged": {"loss": loss}}}
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, [head, *rows])), encoding="utf-8")
    dump = read_dump(path)
    assert dump.tensors["chosen.mask"].tolist() == [[True, True, False], [True, False, False]]
    assert verify_step([path]).agrees


def test_scores_of_both_sides_are_a_step_of_a_reward_model(tmp_path: Path) -> None:
    scores = {"chosen_reward": np.array([1.0, -0.5]), "reject_reward": np.array([0.25, -0.5])}
    loss = float((np.log1p(np.exp(-0.75)) + np.log(2)) / 2)
    path = written(tmp_path, scores, library="openrlhf", logged={"loss": loss, "acc": 0.5, "chosen_reward": 0.25})
    found = verify_step([path])
    assert {line.name: line.line.says for line in found.lines} == dict.fromkeys(
        ("mean.chosen", "accuracy", "total_loss"), "agrees"
    )
    assert read_dump(path).kind == "reward_model"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rejected_logps": np.zeros(2)}, "rejected_logps has 2 pairs and chosen_logps 3; they need the same"),
        ({"rejected_logps": np.array([0.5, -1, -1])}, "rejected_logps, pair 0: found 0.5, expected a log-prob, at most 0"),
        ({"chosen_logps": np.full((3, 2), -1.0), "rejected_logps": np.full((3, 2), -1.0)}, "and no mask: write completion_mask"),
        ({"chosen_rewards": np.zeros(3)}, "chosen_rewards is there, and nothing of the kind of the other side"),
        ({"per_token_logps": np.zeros((3, 2))}, "per_token_logps has 3 rows, expected an even number"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(change: dict[str, Array], said: str, tmp_path: Path) -> None:
    with pytest.raises(MinibatchError, match=said):
        read_dump(written(tmp_path, pairs("trl", **change), library="trl", version="1.16.0"))


def test_what_a_file_lacks_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, pairs("trl"), library="trl", version="1.16.0", logged={"loss": LOSS})
    for change, lacks in (
        ("loss.form=kto", "log-probs of responses to other prompts"),
        ("logp.of=mean", "log-probs of each token"),
        ("loss.weight=wpo", "log_sum_sq_probs"),
        ("loss.form=rpo_squared", "true rewards"),
    ):
        (part,) = verify_step([path], VerifyOptions(overrides=(change,))).parts
        assert part.verdict.uncompared == {"loss": lacks}, change
