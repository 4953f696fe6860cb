"""Rollouts as libraries hold them, and numbers that they computed of them: those of tests/data/golden_runs.json, and drawn ones.

What is drawn is computed here as the libraries' sources do it, step by step in numpy, without the program.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from blueprint.dumps import open_raw
from blueprint.workbooks.classic_ppo.dumps import Rollout, rollout_of

Array = npt.NDArray[Any]
GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "golden_runs.json").read_text(encoding="utf-8")
)
ROLLOUT, RUNS = GOLDEN["rl_rollout"], GOLDEN["rl_runs"]


def log_softmax(logits: Array) -> Array:
    """Returns log-probabilities over the last axis."""
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))


def by_time(array: Any) -> Array:
    """Flattens [T, N] as CleanRL does."""
    return np.asarray(array).reshape(-1)


def by_environment(array: Any) -> Array:
    """Flattens [T, N] as Stable-Baselines3 does (swap_and_flatten)."""
    return np.asarray(array).T.reshape(-1)


def golden(library: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """Returns the file of a library's recorded run, [T, N], as its hook writes it: tensors and metadata, in float64."""
    actions = np.array(ROLLOUT["actions"])
    old, new = (log_softmax(np.array(ROLLOUT[f"logits_{which}"])) for which in ("old", "new"))
    taken_old, taken_new = (np.take_along_axis(each, actions[..., None], -1)[..., 0] for each in (old, new))
    entropy = -(np.exp(new) * new).sum(axis=-1)
    tensors = {
        "rewards": np.array(ROLLOUT["rewards"]), "values": np.array(ROLLOUT["values_old"]), "actions": actions.astype(float),
    }  # fmt: skip
    starts, last = np.array(ROLLOUT["dones_cleanrl"], float), np.array(ROLLOUT["next_done"], float)
    after = np.array(ROLLOUT["next_value"], float).reshape(-1)
    values = np.array(ROLLOUT["values_new"])
    if library == "cleanrl":
        found, turn = RUNS["cleanrl_ppo"]["result"], by_time
        tensors |= {
            "dones": starts,
            "next_done": last,
            "next_value": after,
            "logprobs": taken_old,
            "newlogprob": turn(taken_new),
        }
        tensors |= {"newvalue": turn(values), "entropy": turn(entropy), "mb_inds": np.arange(values.size)}
        logged = {
            name: found[name]
            for name in ("pg_loss", "v_loss", "loss", "old_approx_kl", "approx_kl", "clipfrac", "explained_variance")
        }
        logged["entropy_loss"] = found["entropy"]
        advantages, returns, used = found["advantages_raw"], found["returns"], found["mb_advantages"]
        settings = RUNS["cleanrl_ppo"]["config"]
    else:
        found, turn = RUNS["stable_baselines3_2.9.2_PPO"]["result"], by_environment
        tensors |= {"episode_starts": starts, "last_dones": last, "last_values": after, "log_probs": taken_old}
        tensors |= {
            "new_log_prob": turn(taken_new),
            "new_values": turn(values),
            "entropy": turn(entropy),
            "batch_inds": np.arange(values.size),
        }
        logged = {
            name: found[name]
            for name in (
                "policy_loss",
                "value_loss",
                "entropy_loss",
                "loss",
                "clip_fraction",
                "approx_kl",
                "explained_variance",
            )
        }
        advantages, returns = found["advantages_raw"], found["returns"]
        used = turn(np.reshape(found["advantages"], values.shape))
        settings = {"gamma": 0.99, "gae_lambda": 0.95, "clip_range": 0.2, "clip_range_vf": None, "normalize_advantage": True,
                    "ent_coef": 0.0, "vf_coef": 0.5}  # fmt: skip
    tensors |= {"advantages": np.reshape(advantages, values.shape), "returns": np.reshape(returns, values.shape)}
    tensors["mb_advantages"] = np.reshape(used, -1)
    known = {name: value for name, value in settings.items() if name != "num_steps"}
    return tensors, {"library": library, "hyperparameters": known, "logged": logged}


def written(
    folder: Path, tensors: dict[str, Array], metadata: dict[str, Any], name: str = "rollout.safetensors"
) -> Path:
    """Writes a file and returns its path."""
    said = {key: each if isinstance(each, str) else json.dumps(each) for key, each in metadata.items()}
    save_file({key: np.ascontiguousarray(each) for key, each in tensors.items()}, folder / name, said)
    return folder / name


def read_rollout(path: Path) -> Rollout:
    """Reads a rollout, whatever a file says that it is."""
    return rollout_of(open_raw(path), path)
