"""Fine-tuning against the libraries' own code: losses, parts, metrics and gradients by the definitions, all runs side by side."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from blueprint.inputs import load
from blueprint.language import Axis, Block, Values, compute, typed
from blueprint.language.gradient import gradient
from blueprint.workbooks.common import Choices, Switch
from blueprint.workbooks.sft.definitions.axes import b, n, o, t
from blueprint.workbooks.sft.definitions.steps import LABELS
from blueprint.workbooks.sft.schema import SFT, sft_presets
from blueprint.workbooks.sft.steps import Derived, derived
from tests.workbooks.dpo.recorded import log_softmax
from tests.workbooks.sft.recorded import MEANS, Run, runs

Array = npt.NDArray[np.float64]
RUN = Axis("l", "run", start=1)
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


@cache
def outlined() -> tuple[Derived, dict[str, Block], dict[Block, object]]:
    """Outlines all runs on the batch at once, a member of an axis for each."""
    axes = {0: (), 1: (n,), 2: (n, t)}
    edges = {"text.tokens": (t.first - 1,)}
    rows = {
        name: typed(name, axes[each.ndim], edges=edges.get(name, ())) for name, each in batch().items() if name != "p"
    }
    numbers: dict[Block, object] = {block: batch()[name] for name, block in rows.items()}
    used: dict[str, Any] = {}
    switch: dict[str, Any] = {}
    for key, setting in SFT.items():
        asked = [run.settings.get(key, setting.value) for run in runs()]
        made = typed(key, (RUN,), key.replace(".", "_"), limit=setting.limit)
        numbers[made] = [setting.words.index(str(word)) for word in asked] if setting.words else asked
        used[key] = made[RUN]
        if setting.words:
            switch[key] = Switch(setting.words, made[RUN])
    return derived(rows, lambda _: rows, Choices(used, switch, (RUN,), labels=LABELS.labels)), rows, numbers


@cache
def computed() -> tuple[Values, Array]:
    """Computes them; returns every row, and the slope of each run's loss by the log-prob of each label."""
    steps, rows, numbers = outlined()
    made = gradient(
        steps.rows["total_loss"], [rows["policy.logprobs"]], constant=[steps.rows["dft.used"]], along=(RUN,)
    )
    blocks = [*numbers, *steps.rows.values(), *made.blocks]
    size, positions = batch()["response.tokens"].shape
    values = compute(blocks, {RUN: len(runs()), n: size, o: size, b: size, t: positions}, numbers)
    return values, np.asarray(values[made[rows["policy.logprobs"]]], float)


def of(name: str, place: int) -> Array:
    """Returns a row of one run."""
    block = outlined()[0].rows[name]
    found = np.asarray(computed()[0][block])
    return np.asarray(found[place] if RUN in block.axes else found)


@pytest.mark.parametrize("place", range(len(NAMES)), ids=NAMES)
def test_the_definitions_give_what_a_library_computed(place: int) -> None:
    run = runs()[place]
    assert abs(of("total_loss", place) - run.out["loss"]) <= 1e-12 * max(1.0, run.out["loss"])
    if "grad_taken" in run.out:
        meant = np.array(run.out["grad_taken"])
        found = computed()[1][place] * (1 - np.exp(batch()["policy.logprobs"]))
        assert np.abs(found[:, : meant.shape[1]] - meant).max() <= 1e-11


PARTED = [place for place, run in enumerate(runs()) if run.library.startswith("trl") and "parts" in run.out]


@pytest.mark.parametrize("place", PARTED, ids=[NAMES[place] for place in PARTED])
def test_a_microbatch_adds_what_it_added_there(place: int) -> None:
    """Parts are recorded as what each step of accumulation adds; of a mean of means before it is divided by their number."""
    run = runs()[place]
    parts = np.array(run.out["parts"])
    meant = parts / (1 if abs(parts.sum() - run.out["loss"]) < 1e-9 else len(parts))
    assert np.abs(of("microbatch.loss", place)[: len(parts)] - meant).max() <= 1e-12
    assert np.abs(of("microbatch.loss", place)[len(parts) :]).max(initial=0) == 0


LOGGED = {"token_accuracy": "mean_token_accuracy", "entropy": "entropy", "watch.tokens_read": "num_tokens"}


def test_what_is_watched_is_what_trl_logs() -> None:
    """Token accuracy, entropy and the tokens that were read."""
    logged = [place for place, run in enumerate(runs()) if "entropy" in run.out.get("metrics", {})]
    assert len(logged) == 6
    for place in logged:
        metrics = runs()[place].out["metrics"]
        for ours, theirs in LOGGED.items():
            assert of(ours, place) == pytest.approx(metrics[theirs], rel=1e-12), (ours, NAMES[place])


def test_the_gradient_at_a_logit_is_the_share_times_p_minus_one_hot() -> None:
    (place,) = (place for place, run in enumerate(runs()) if "grad_logits" in run.out)
    one_hot = np.eye(8)[batch()["rollout.written"].astype(int)]
    found = of("label.weight", place)[..., None] * (batch()["p"] - one_hot)
    assert np.abs(found - np.array(runs()[place].out["grad_logits"])).max() <= 1e-11


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
