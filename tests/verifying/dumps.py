"""Dumps as libraries would have written them: the recorded run of a library, with everything that it logged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from blueprint.dumps import Array, Minibatch
from blueprint.verifying.settings import Setting, laid_over
from blueprint.workbooks.common.conventions import rlhf
from tests.recorded_ppo import RUNS, Run, results, texts

LIBRARIES = tuple(dict.fromkeys(run.preset for run in RUNS))
FIRST = {library: next(run for run in RUNS if run.preset == library) for library in LIBRARIES}
"""The run of each library with its defaults."""

INPUTS = {
    "logprobs_old": "old_logprobs",
    "logprobs_ref": "reference_logprobs",
    "logprobs_new": "logprobs",
    "entropy": "entropy",
    "values_old": "old_values",
    "values_new": "values",
    "scores": "score",
    "ended": "ended",
    "response_mask": "mask",
}
ROWS = {
    "rewards": ("rewards_used", "token_level_rewards"),
    "advantages": ("advantages",),
    "returns": ("returns",),
}
NUMBERS = {
    "policy_loss": ("pg_loss", "actor_loss"),
    "value_loss": ("vf_loss",),
    "total_loss": ("loss",),
    "entropy": ("entropy", "entropy_loss", "entropy_unmasked_mean"),
    "clip_fraction": ("pg_clipfrac",),
    "approx_kl": ("approxkl", "approx_kl", "ppo_kl", "approxkl_unmasked", "approx_kl_unmasked"),
    "kl": ("objective_kl", "controller_current_kl_if_in_reward"),
    "ratio": ("ratio_mean", "ppo_ratio", "ratio_mean_unmasked"),
    "explained_variance": ("var_explained", "vf_explained_var"),
}


def settings(run: Run) -> dict[str, Setting]:
    """Returns the conventions of a run."""
    return laid_over(rlhf().preset(run.preset).values, run.changes)


def dump(run: Run, dtype: str = "float64") -> Minibatch:
    """Returns what a run would have written, in a dtype: its inputs, and the rows and numbers that the library logged."""
    given, logged = texts([run]), results(run)
    tensors: dict[str, Any] = {name: getattr(given, each)[0].numpy() for name, each in INPUTS.items()}
    slots = tensors["response_mask"].shape[1]
    tensors |= {name: _wide(logged[each[0]], slots) for name, names in ROWS.items() if (each := _there(names, logged))}
    bools = {name: tensors.pop(name) > 0 for name in ("response_mask", "ended")}
    rounded = {name: as_dtype(each, dtype) for name, each in tensors.items()}
    return Minibatch(
        path="dump.npz",
        tensors=rounded | bools,
        slots=np.full(len(bools["ended"]), slots),
        first=np.full(len(bools["ended"]), 3),
        dtypes=dict.fromkeys(rounded, dtype),
        called={name: name for name in (*rounded, *bools)},
        preset=run.preset,
        logged={name: logged[each[0]] for name, names in NUMBERS.items() if (each := _there(names, logged))},
    )


def _there(names: tuple[str, ...], logged: dict[str, Any]) -> list[str]:
    return [name for name in names if name in logged]


def _wide(rows: Any, slots: int) -> Array:
    """Returns rows with as many columns as there are slots."""
    return np.asarray(rows, dtype=float)[:, :slots]


def as_dtype(values: Array, dtype: str) -> Array:
    """Returns numbers rounded to a dtype of torch, as a reader gives them: bfloat16 and float16 as float32."""
    rounded = torch.from_numpy(np.ascontiguousarray(values)).to(getattr(torch, dtype))
    return np.asarray((rounded if dtype == "float64" else rounded.float()).numpy())


def changed(batch: Minibatch, **tensors: Array) -> Minibatch:
    """Returns a dump with other tensors."""
    return replace(batch, tensors={**batch.tensors, **tensors})


RESPONSES, SLOTS = 7, 9
FILED = ("logprobs_old", "logprobs_ref", "logprobs_new", "entropy", "values_old", "values_new")


def made(seed: int, holes: bool = False) -> Minibatch:
    """Returns a minibatch of random numbers, with responses of every length, an empty one among them."""
    drawn = np.random.default_rng(seed)
    mask = np.arange(SLOTS) < np.array([9, 4, 0, 1, 8, 9, 3])[:, None]
    mask &= drawn.random(mask.shape) < (0.8 if holes else 1)
    tensors: dict[str, Array] = {name: drawn.normal(size=mask.shape) for name in FILED}
    tensors |= {"scores": drawn.normal(size=RESPONSES), "ended": drawn.random(RESPONSES) < 0.5, "response_mask": mask}
    slots, first = np.array([9, 9, 9, 6, 9, 9, 5]), np.zeros(RESPONSES, dtype=int)
    return Minibatch("made", tensors, dict.fromkeys(FILED, "float64"), {}, slots, first)
