"""The generating engine's log-probs beside the trainer's: what is wrong with them alone is found and described, and clean ones, in
whatever precision, are not accused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

import torch
from safetensors import safe_open
from safetensors.numpy import save_file

from blueprint.dumps import Array, Minibatch, Place
from blueprint.verifying import data_of_step, text_of_step, verify_step
from blueprint.verifying.engine import ENGINES, beside_the_trainer
from tests.verifying.dumps import as_dtype
from tests.verifying.forwards import Forward, step, with_tensors

REAL = Path(__file__).parents[1] / "data" / "real"
F32, BF16 = torch.float32, torch.bfloat16
LATER = Place(optimizer_step=3)


def dumped(trainer: Forward, engine: Forward) -> Minibatch:
    """Returns a file whose old log-probs are of one forward and the engine's of another; the policy has moved on since."""
    found = step(trainer, engine, place=LATER)
    tensors = {**found.tensors, ENGINES: found.tensors["logprobs_new"]}
    return replace(found, tensors=tensors, dtypes={**found.dtypes, ENGINES: "float32"})


def engine_of(change: Callable[[Array, Array], Array]) -> Callable[[Minibatch], Minibatch]:
    """Returns a file whose engine's log-probs are changed; change: of them, and of the mask."""
    return lambda batch: with_tensors(batch, **{ENGINES: change(np.array(batch.tensors[ENGINES]), batch.mask)})


def noisy(own: Array, mask: Array) -> Array:
    return np.asarray(own + np.random.default_rng(3).normal(0, 0.6, own.shape))


def stale(own: Array, mask: Array) -> Array:
    """One response is scored by weights of another step."""
    own[7] += np.random.default_rng(3).normal(-0.2, 0.8, own.shape[1])
    return own


def tail(own: Array, mask: Array) -> Array:
    """Three responses are turned into text and into tokens again: behind their tenth token there are others."""
    drawn = np.random.default_rng(3)
    for row in (1, 4, 9):
        own[row, 10:] = -drawn.exponential(3.0, own.shape[1] - 10)
    return own


def backwards(own: Array, mask: Array) -> Array:
    for row, tokens in enumerate(mask):
        own[row, tokens] = own[row, tokens][::-1]
    return own


FAULTS: dict[str, tuple[Callable[[Array, Array], Array], str]] = {
    "noise": (noisy, "it is scattered over rows and tokens, as by a coarser precision of the engine, or by older weights"),
    "column": (lambda own, mask: np.roll(own, 1, axis=1), "it is the trainer's number of the token before it: one of the two"),
    "mass": (lambda own, mask: own - np.log(0.9), "it is 0.105 above the trainer's on every token: as where the other side than"),
    "little mass": (lambda own, mask: own - np.log(0.98), "it is 0.020"),
    "stale row": (stale, "only in 1 of 24 rows (7)"),
    "rows": (lambda own, mask: own[::-1].copy(), "the rows are permuted: row 0 is the trainer's row 23, row 1 is the trainer's"),
    "backwards": (backwards, "each response is written from its end"),
    "tail": (tail, "only behind some token, in 3 of 24 rows (row 1 from column 10, "),
}  # fmt: skip
"""By fault how it changes the engine's log-probs, and what is said of it."""


@pytest.mark.parametrize("stored", ["float32", "bfloat16"])
@pytest.mark.parametrize("dtype", [F32, BF16])
def test_a_clean_engine_is_not_accused(dtype: torch.dtype, stored: str) -> None:
    batch = dumped(Forward(F32), Forward(dtype, split=True))
    floats = {name: as_dtype(each, stored) for name, each in batch.tensors.items() if each.dtype.kind == "f"}
    batch = replace(with_tensors(batch, **floats), dtypes=dict.fromkeys(floats, stored))
    for said in (None, "bfloat16", "float32"):
        found = beside_the_trainer(replace(batch, forward_dtype=said))
        coarse = said == "float32" and dtype == BF16  # no file says what an engine computes in
        equal = dtype == F32 and stored == "bfloat16"  # what is stored is the same to the last bit
        assert [line.says for line in found.lines] == ([] if equal else ["too coarse" if coarse else "agrees"])
        assert "logprobs_old are logprobs_rollout" in "".join(found.notes) or not equal
        assert bool(found.said) == coarse


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_with_the_engine_alone_is_found_and_described(fault: str, dtype: torch.dtype) -> None:
    change, said = FAULTS[fault]
    found = beside_the_trainer(engine_of(change)(dumped(Forward(F32), Forward(dtype, split=True))))
    assert found.differs is not None
    assert found.differs.compared.name == ENGINES
    assert found.said[0].startswith("logprobs_rollout should be logprobs_old, of the same policy, but ")
    assert found.said[1].startswith("  logprobs_rollout: the largest of a token is ")
    assert found.said[2].startswith(f"  logprobs_rollout: {said}"), found.said


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_an_engine_of_another_temperature_is_told(dtype: torch.dtype) -> None:
    found = beside_the_trainer(dumped(Forward(F32), Forward(dtype, split=True, temperature=0.7)))
    assert found.differs is not None
    assert found.said[2].startswith(
        "  logprobs_rollout: it grows with the log-prob, as of a temperature that only one side has"
    )


def test_where_it_is_not_judged_a_note_says_why() -> None:
    batch = dumped(Forward(F32), Forward(F32, split=True))
    start = "logprobs_rollout, the generating engine's log-probs, are not judged: "
    same = with_tensors(batch, logprobs_old=batch.tensors[ENGINES])
    without = replace(batch, tensors={name: each for name, each in batch.tensors.items() if name != "logprobs_old"})
    one = replace(batch, called={"logprobs_old": "logps", "logprobs_new": "logps"})
    for file, why in (
        (replace(batch, rollout_from="older"), "the engine had older weights, as the file says"),
        (replace(batch, old_from="engine"), "logprobs_old are those of the generating engine, as the file says"),
        (same, "logprobs_old are logprobs_rollout, those of the generating engine"),
        (without, "the file has no log-probs of the trainer from before its update"),
        (one, "the trainer's are those of a policy that was updated since"),
    ):
        found = beside_the_trainer(file)
        assert (found.lines, found.said, found.notes) == ((), (), (start + why,))
    nothing = replace(batch, tensors={name: each for name, each in batch.tensors.items() if name != ENGINES})
    assert beside_the_trainer(nothing).notes == ()


def again(path: Path, folder: Path, change: Callable[[dict[str, Array]], dict[str, Array]], **said: object) -> Path:
    """Writes a recorded file again with other tensors, and more hyperparameters."""
    with safe_open(path, "np") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        metadata = dict(file.metadata() or {})
    settings = json.loads(metadata.get("hyperparameters", "{}")) | said
    made = {name: np.ascontiguousarray(each) for name, each in (tensors | change(tensors)).items()}
    save_file(made, folder / path.name, {**metadata, "hyperparameters": json.dumps(settings)})
    return folder / path.name


PPO = REAL / "verl_0_9" / "seq-mean-token-mean-verl-ppo" / "verl-ppo_000000_0_0_0_0.safetensors"
GRPO = REAL / "verl_grpo" / "gpg" / "verl-batch_000000.safetensors"


def jittered(own: Array) -> Array:
    return np.asarray(own + np.random.default_rng(1).normal(0, 1e-3, own.shape), np.float32)


@pytest.mark.parametrize("path", [PPO, GRPO], ids=["ppo", "grpo"])
def test_a_file_that_differs_there_alone_does_not_agree(path: Path, tmp_path: Path) -> None:
    clean = verify_step([again(path, tmp_path, lambda own: {"rollout_log_probs": jittered(own["old_log_probs"])})])
    assert clean.agrees
    assert (clean.lines[-1 if path == GRPO else 0].line.says, ENGINES in {line.name for line in clean.lines}) == (
        "agrees",
        True,
    )
    found = verify_step(
        [again(path, tmp_path, lambda own: {"rollout_log_probs": jittered(own["old_log_probs"]) - 0.2})]
    )
    assert not found.agrees
    assert found.first is not None
    assert found.first.name == ENGINES
    text = text_of_step(found)
    assert "agree." not in text
    assert "\nThe generating engine:\n  rollout_log_probs should be old_log_probs, of the same policy, but" in text
    assert "0.2 below the trainer's on every token" in data_of_step(found)["files"][0]["generating_engine"][2]


TOKEN = {"rollout_is": "token", "rollout_is_threshold": 2.0}


def weighed(made: Callable[[Array], Array]) -> Callable[[dict[str, Array]], dict[str, Array]]:
    """Returns tensors with log-probs of the engine, and weights that are made of the trainer's less the engine's."""

    def change(own: dict[str, Array]) -> dict[str, Array]:
        engine = np.asarray(
            own["old_log_probs"] + np.random.default_rng(1).normal(0, 0.02, own["old_log_probs"].shape), np.float32
        )
        weights = (
            np.asarray(made((own["old_log_probs"] - engine) * own["response_mask"]), np.float32) * own["response_mask"]
        )
        return {"rollout_log_probs": engine, "rollout_is_weights": weights, "log_prob": own["old_log_probs"]}

    return change


@pytest.mark.parametrize(
    ("made", "cause"),
    [
        (lambda apart: np.minimum(np.exp(apart), 2), None),
        (lambda apart: np.minimum(np.exp(-apart), 2), "the weight the other way round, the engine over the trainer"),
        (lambda apart: np.exp(apart.sum(axis=1, keepdims=True)) * np.ones_like(apart), "rollout.level = product"),
        (lambda apart: np.ones_like(apart), ""),
    ],
    ids=["right", "upside down", "of a response", "none"],
)
def test_weights_of_the_rollout_correction_are_computed_again(
    made: Callable[[Array], Array], cause: str | None, tmp_path: Path
) -> None:
    found = verify_step([again(GRPO, tmp_path, weighed(made), **TOKEN)])
    says = {line.name: line.line.says for line in found.lines}
    assert says["rollout_weights"] == ("agrees" if cause is None else "DIFFERS")
    assert found.agrees == (cause is None)
    assert not cause or cause in [each.said for each in found.causes], [each.said for each in found.causes]


def test_weights_that_no_setting_speaks_of_are_not_compared_and_that_is_said(tmp_path: Path) -> None:
    found = verify_step([again(GRPO, tmp_path, weighed(np.ones_like))])
    assert "rollout_is_weights: not compared, it takes rollout.level, of what the weight is taken" in text_of_step(
        found
    )
