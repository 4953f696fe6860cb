"""Fine-tuning against the libraries' own code: losses, parts, metrics and gradients of every run, through the front door."""

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from blueprint.inputs import load
from blueprint.workbooks.sft.schema import SFT, sft_presets
from tests.workbooks.dpo.recorded import log_softmax
from tests.workbooks.front_door import FrontDoor, shipped
from tests.workbooks.sft.recorded import MEANS, Run, runs

Array = npt.NDArray[np.float64]
FRONT = FrontDoor(
    shipped("sft", "sft-batch"), {key: f"sft.{key}" for key in ("region", "microbatches", "packing", "end_token")}
)
"""The texts on which the libraries ran, as they ship, through the front door."""
NAMES = [f"{run.library}-{run.variant}" for run in runs()]


@cache
def batch() -> dict[str, Array]:
    """Returns the four texts by the names of rows, from the built-in numbers."""
    numbers = load("sft-batch")
    known = {word: id for id, word in enumerate(numbers["text.vocabulary"])}
    ids = np.array([[known[word] for word in row] for row in numbers["text.texts"]])
    logits = np.array(numbers["policy.logits"], float)
    logp, written = log_softmax(logits), ids[:, 1:, None]
    p = np.exp(logp)
    return {
        "rollout.written": ids[:, 1:], "text.first": ids[:, 0], "end.id": np.array(known["<eos>"]),
        "response.tokens": np.array(numbers["text.response"], float), "text.mask": np.array(numbers["text.there"], float),
        "text.tokens": np.column_stack([np.ones(len(ids)), numbers["text.there"]]),
        "text.number": np.arange(1.0, 1 + len(ids)), "count.texts": np.array(len(ids)),
        "policy.logprobs": np.take_along_axis(logp, written, -1)[..., 0], "policy.top": logits.max(-1),
        "policy.label_logit": np.take_along_axis(logits, written, -1)[..., 0], "policy.entropy": -(p * logp).sum(-1),
        "p": p,
    }  # fmt: skip


def of(name: str, run: Run) -> Array:
    """Returns a row of one run."""
    return FRONT.cells(FRONT.typed_in(run.settings), name)


@pytest.mark.parametrize("run", runs(), ids=NAMES)
def test_a_workbook_gives_what_a_library_computed(run: Run) -> None:
    assert abs(float(of("total_loss", run)) - run.out["loss"]) <= 1e-12 * max(1.0, run.out["loss"])
    if "grad_taken" in run.out:
        meant = np.array(run.out["grad_taken"])
        found = of("policy.logprobs.grad", run) * (1 - np.exp(batch()["policy.logprobs"]))
        assert np.abs(found[:, : meant.shape[1]] - meant).max() <= 1e-11


@pytest.mark.parametrize("name", {run.library: run for run in runs()})
def test_what_is_typed_in_is_what_is_built(name: str) -> None:
    assert FRONT.apart([run for run in runs() if run.library == name][-1].settings) == []


PARTED = [run for run in runs() if run.library.startswith("trl") and "parts" in run.out]


@pytest.mark.parametrize("run", PARTED, ids=[f"{run.library}-{run.variant}" for run in PARTED])
def test_a_microbatch_adds_what_it_added_there(run: Run) -> None:
    """Parts are recorded as what each step of accumulation adds; of a mean of means before it is divided by their number."""
    parts = np.array(run.out["parts"])
    meant = parts / (1 if abs(parts.sum() - run.out["loss"]) < 1e-9 else len(parts))
    assert np.abs(of("microbatch.loss", run)[: len(parts)] - meant).max() <= 1e-12
    assert np.abs(of("microbatch.loss", run)[len(parts) :]).max(initial=0) == 0


LOGGED = {"token_accuracy": "mean_token_accuracy", "entropy": "entropy", "watch.tokens_read": "num_tokens"}


def test_what_is_watched_is_what_trl_logs() -> None:
    """Token accuracy, entropy and the tokens that were read."""
    logged = [run for run in runs() if "entropy" in run.out.get("metrics", {})]
    assert len(logged) == 6
    for run in logged:
        for ours, theirs in LOGGED.items():
            assert of(ours, run) == pytest.approx(run.out["metrics"][theirs], rel=1e-12), (
                ours,
                run.library,
                run.variant,
            )


def test_the_gradient_at_a_logit_is_the_share_times_p_minus_one_hot() -> None:
    (run,) = (run for run in runs() if "grad_logits" in run.out)
    meant = np.array(run.out["grad_logits"])
    one_hot = np.eye(8)[batch()["rollout.written"].astype(int)]
    assert np.abs(of("label.weight", run)[..., None] * (batch()["p"] - one_hot) - meant).max() <= 1e-11
    assert np.abs(of("policy.logits.grad", run) - meant).max() <= 1e-11


@pytest.mark.parametrize("run", runs(), ids=NAMES)
def test_every_run_has_its_preset(run: Run) -> None:
    """The library's preset at this version, or one of its variants, sets what the run had; how many microbatches there are is the
    user's, and so is the region of packed texts and of means of means."""
    stem, is_other = PRESETS[run.library], run.variant.endswith(MEANS) or "packing" in run.variant
    meant = {key: each for key, each in run.settings.items() if key not in ("microbatches", *["region"] * is_other)}
    if stem == "trl_0.24" and meant["loss.normaliser"] == "tokens":
        meant["loss.normaliser"] = "labels"  # of responses alone there are as many before the shift
    found = [
        {key: preset.values.get(key, SFT[key].value) for key in meant}
        for name, preset in sft_presets().presets.items()
        if name.startswith(stem)
    ]
    assert meant in found


PRESETS = {
    "trl_1.16.0": "trl_1.16", "trl_0.24.0": "trl_0.24", "direct_preference_optimization_f8b8c0f": "dpo_original",
    "openrlhf_0.11.2": "openrlhf", "torchtune_0.6.1": "torchtune", "torchtune_bd2a0fc": "torchtune_bd2a0fc",
    "nemo_rl_7ea279a": "nemo_rl", "deepspeed_chat_83757d9": "deepspeed_chat", "halos_4831988": "halos", "verl_1dda039": "verl",
    "verl_volcengine_b178a3c": "verl_b178a3c",
}  # fmt: skip
