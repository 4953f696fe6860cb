"""Dumps as TRL's DPOTrainer of either version would write them, of its recorded runs, in its own words: verify agrees with each."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch")

from blueprint.dumps import MinibatchError, read_dump
from blueprint.verifying import verify_step
from tests.hooks.trl_formulas import Written

RECORDED = json.loads((Path(__file__).parents[2] / "data" / "preference_runs.json").read_text(encoding="utf-8"))
VERSIONS = {"trl_1.16.0": "1.16.0", "trl_0.24.0": "0.24.0"}
RUNS = [(library, run) for library in VERSIONS for run in RECORDED["runs"][library]["runs"] if run.startswith("dpo/")]
LEFT_OUT = ("entropy", "num_tokens", "mean_token_accuracy", "logits/chosen", "logits/rejected")
"""What takes logits, or is of all steps so far."""


def said_of(run: str) -> dict[str, Any]:
    """Returns the hyperparameters of a run by its name: "dpo/sigmoid__beta_0.5", "dpo/sigmoid+sft"."""
    losses, _, more = run.removeprefix("dpo/").partition("__")
    found: dict[str, Any] = {"beta": 0.1, "loss_type": losses.split("+"), "label_smoothing": 0.0}
    found |= {"loss_weights": [1.0, 0.2]} if "+" in losses else {}
    name, _, value = more.rpartition("_")
    if name == "f_divergence_type_forward" or name == "f_divergence_type_js":
        name, value = "f_divergence_type", more.removeprefix("f_divergence_type_")
    try:
        return found | ({name: json.loads(value.lower())} if name else {})
    except ValueError:
        return found | {name: value}


def dump_of(library: str, run: str) -> Written:
    """Returns the log-probs of the recorded batch, and what the run said and logged."""
    batch, result = RECORDED["batch"], RECORDED["runs"][library]["runs"][run]["result"]
    logits = np.array(batch["logits_policy"])[:, :-1]
    logp = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    tensors = {
        "input_ids": np.array(batch["input_ids"], float), "attention_mask": np.array(batch["attention_mask"], float),
        "completion_mask": (np.array(batch["labels"]) != -100).astype(float),
        "per_token_logps": np.array(RECORDED["base"]["logp_policy"]),
        "ref_per_token_logps": np.array(RECORDED["base"]["logp_reference"]),
        "log_sum_sq_probs": np.log(np.exp(2 * logp).sum(-1)),
    }  # fmt: skip
    logged = {name: each for name, each in result["metrics"].items() if name not in LEFT_OUT} | {"loss": result["loss"]}
    said = {"library": "trl", "version": VERSIONS[library], "algorithm": "dpo"}
    return Written(tensors, said_of(run), logged, said)


@pytest.mark.parametrize(("library", "run"), RUNS)
def test_every_number_that_a_run_logged_is_computed_again(library: str, run: str, tmp_path: Path) -> None:
    """The losses were recorded in float64, the file has log-probs in float32."""
    path = tmp_path / "step.safetensors"
    dump_of(library, run).save(path)
    found = verify_step([path])
    assert {line.name: line.line.says for line in found.lines if line.line.says not in ("agrees", "too coarse")} == {}
    assert {"total_loss", "rewards.chosen", "rewards.margins", "rewards.accuracies"} <= {
        line.name for line in found.lines
    }
    (loss,) = [line.line.compared for line in found.lines if line.name == "total_loss"]
    assert loss.largest <= 3e-6 * (1 + abs(loss.logged or 0.0))
    assert not [note for note in found.parts[0].verdict.notes if "not understood" in note]


PLAIN = [(library, run) for library, run in RUNS if "__" not in run and "+" not in run]
SUMS = [
    (library, one, other, weights)
    for (library, one), (of, other) in pairwise(PLAIN)
    for weights in ((0.8, 0.2), (-1.5, 0.0), (1.0, 1.0))
    if library == of and (library == "trl_1.16.0" or (other != "dpo/ipo" and (one != "dpo/ipo" or weights[1] == 0)))
]
"""Two losses each; with IPO in the old version the other loss takes means, too, which was not recorded."""


@pytest.mark.parametrize(("library", "one", "other", "weights"), SUMS)
def test_the_loss_of_a_sum_is_the_sum_of_what_runs_with_one_loss_each_came_to(
    library: str, one: str, other: str, weights: tuple[float, float], tmp_path: Path
) -> None:
    """TRL 1.16.0, `_compute_loss`: `loss += per_sequence_loss.mean() * loss_weight`."""
    files = [dump_of(library, run) for run in (one, other)]
    words = [file.settings["loss_type"][0] for file in files]
    said = {**files[0].settings, "loss_type": words, "loss_weights": [*weights]}
    total = sum(weight * file.logged["loss"] for weight, file in zip(weights, files, strict=True))
    path = tmp_path / "step.safetensors"
    files[0]._replace(settings=said, logged={**files[0].logged, "loss": total}).save(path)
    found = verify_step([path])
    assert {line.name: line.line.says for line in found.lines if line.line.says != "agrees"} == {}
    assert "total_loss" in {line.name for line in found.lines}


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"loss_weights": [0.8]}, "loss_weights: found [0.8], expected a number for each of sigmoid, bco_pair."),
        ({"loss_weights": [0.8, "much"]}, "expected a number for each of sigmoid, bco_pair."),
        ({"loss_weights": [0.8, 10**400]}, "expected a number for each of sigmoid, bco_pair."),
        ({"loss_weights": 0.8}, "expected a number for each of sigmoid, bco_pair."),
        ({"loss_type": [1, 2]}, "loss_type: found [1, 2], expected names of losses."),
        ({"loss_type": 3}, "loss_type: found 3, expected names of losses."),
        ({"loss_type": ["sigmoid", "warm"]}, "loss_type: found warm, expected one of sigmoid, hinge, ipo, exo_pair"),
        ({"loss_type": ["exo_pair"], "loss_weights": None, "label_smoothing": "some"}, "label_smoothing: found some"),
        ({"ld_alpha": [0.5]}, "ld_alpha: found [0.5], expected a number."),
    ],
)
def test_what_is_no_sum_of_losses_is_refused_in_a_sentence(said: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    file = dump_of("trl_1.16.0", "dpo/sigmoid")
    path = tmp_path / "step.safetensors"
    mixed = {**file.settings, "loss_type": ["sigmoid", "bco_pair"], "loss_weights": [0.8, 0.2], **said}
    file._replace(settings=mixed).save(path)
    with pytest.raises(MinibatchError, match=re.escape(sentence)):
        read_dump(path)
