"""Dumps made of the recorded runs: what a hook in that library's code would have written of its step."""

from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps import Raw
from blueprint.workbooks.grpo.dumps import DUMPS, GroupedStep
from tests.workbooks.grpo.recorded import Run, batch


def raw_of(run: Run, **metadata: Any) -> Raw:
    """Returns the dump of a run: its batch, what came out, and its conventions by our keys."""
    given, raw = batch(), Raw()
    mask, computed_in = given.mask > 0, "float32" if "float32" in run.variant else None
    said = {name: given.logprobs(model) for name, model in zip(
        ("new", "old", "ref", "rollout"), ("new", run.old, run.reference, "rollout"), strict=True)}  # fmt: skip
    for name, array in said.items():
        raw.add(f"logprobs_{name}", np.where(mask, array, 0.0))
    raw.add("response_mask", mask)
    raw.add("response_ids", given.tokens)
    raw.add("entropy", np.where(mask, given.entropy, 0.0))
    raw.add("scores", given.rewards)
    raw.add("truncated", given.truncated.astype(np.int64))
    raw.add("group", np.repeat(np.arange(3), 4))
    raw.add("greedy", np.repeat(given.greedy, 4))
    for name in ("advantages", "ratio"):
        if name in run.out and not (name == "ratio" and run.conventions["loss.objective"] in ("gmpo", "reinforce")):
            found = np.asarray(run.out[name], dtype=np.float64)
            wide = found.ndim == 2 and found.shape[1] > 1
            raw.add(name, np.where(mask, found, 0.0) if wide else found.reshape(12, -1)[:, 0], computed_in)
    settings = {key: "off" if value in (inf, -inf) else value for key, value in run.conventions.items()}
    raw.metadata = {
        "algorithm": "grpo", "preset": "default", "hyperparameters": settings, "optimizer_step": 1,
        "logprobs_rollout_from": "older",  # of the batch that was recorded, the engine is another policy by far
        "logged": {"total_loss": float(run.out["loss"])} if "loss" in run.out else {}, **metadata,
    }  # fmt: skip
    return raw


def dump_of(run: Run, **metadata: Any) -> GroupedStep:
    """Returns the dump of a run as it is read."""
    found = DUMPS.read(raw_of(run, **metadata), Path(f"{run.library}_{run.variant}.npz"))
    assert isinstance(found, GroupedStep)
    return found
