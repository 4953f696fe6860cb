"""What the hooks wrote of GRPO and its family in real runs of TRL and verl, tests/data/real: see tests/hooks/real.

The formulas here are TRL's, 1.16.0, and of one batch in numpy: that the files have all that the numbers were made of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from safetensors import safe_open

from tests.hooks.real.libraries import RUNS as RUNS_OF

Array = npt.NDArray[np.float64]
REAL = Path(__file__).parents[1] / "data" / "real"
RUNS = [run for name, each in RUNS_OF.items() if each.groups for run in sorted((REAL / name).iterdir()) if run.is_dir()]
TRL = [run for run in RUNS if run.parent.name.startswith("trl")]


class Written(NamedTuple):
    """What a hook wrote."""

    tensors: Mapping[str, Array]
    settings: Mapping[str, Any]
    logged: Mapping[str, float]
    said: Mapping[str, str]


def named(run: Path) -> str:
    return f"{run.parent.name}-{run.name}"


def read(run: Path) -> list[Written]:
    found = []
    for path in sorted(run.iterdir()):
        with safe_open(path, "np") as file:
            tensors = {key: file.get_tensor(key).astype(float) for key in file.keys()}  # noqa: SIM118
            said = file.metadata()
        found.append(Written(tensors, json.loads(said["hyperparameters"]), json.loads(said.get("logged", "{}")), said))
    return found


def of_first_pass(files: list[Written], name: str) -> Array:
    """Returns a tensor of all responses, in the order in which they were generated."""
    first = [each.tensors for each in files if each.said["epoch"] == "0"]
    order = np.concatenate([each["row_index"] for each in first]).astype(int).argsort()
    return np.asarray(np.concatenate([each[name] for each in first])[order])


def advantages_of(files: list[Written]) -> Array:
    """Computes the advantages of a generation from what its reward functions said."""
    use = files[0].settings
    rewards = np.nansum(of_first_pass(files, "rewards_per_func") * use["reward_weights"], axis=1)
    if use.get("reward_clip_range"):
        rewards = rewards.clip(*use["reward_clip_range"])
    if "normalize_advantages" in use and use["beta"]:
        apart = of_first_pass(files, "old_per_token_logps") - of_first_pass(files, "ref_per_token_logps")
        rewards = rewards - use["beta"] * (apart * of_first_pass(files, "completion_mask")).sum(1)
    grouped = rewards.reshape(-1, use["num_generations"])
    centred = grouped - grouped.mean(1, keepdims=True)
    if "normalize_advantages" in use:
        found = (centred * use["num_generations"] / (use["num_generations"] - 1)).ravel()  # less the mean of the others
        return np.asarray((found - found.mean()) / (found.std(ddof=1) + 1e-4) if use["normalize_advantages"] else found)
    deviation = {
        "group": grouped.std(1, ddof=1, keepdims=True) + 1e-4,
        "batch": grouped.std(ddof=1) + 1e-4,
        "none": 1.0,
    }
    return np.asarray(centred / deviation[use["scale_rewards"]]).ravel()


def loss_of(file: Written) -> float:
    """Computes the loss of a microbatch from its log-probs and advantages."""
    t, use = file.tensors, file.settings
    mask, new, advantages = t["completion_mask"], t["per_token_logps"], t["advantages"][:, None]
    apart, count = new - t.get("old_per_token_logps", new), np.maximum(t["completion_mask"].sum(1, keepdims=True), 1)
    rloo = "normalize_advantages" in use
    if rloo or use["importance_sampling_level"] == "sequence":
        apart = (apart * mask).sum(1, keepdims=True) / (1 if rloo else count)
    ratio, kind = np.exp(apart), "rloo" if rloo else use["loss_type"]
    capped = np.minimum(ratio, use["delta"]) if use.get("delta") else ratio
    clipped = ratio.clip(1 - use["epsilon_low"], 1 + use["epsilon_high"])
    loss = -np.minimum(capped * advantages, clipped * advantages)
    if kind == "cispo":
        loss = -np.minimum(ratio, use["epsilon_high"]) * advantages * new
    if use["beta"] and not rloo:
        above = t["ref_per_token_logps"] - new
        loss = loss + use["beta"] * (np.exp(above) - above - 1) * (ratio if use["use_bias_correction_kl"] else 1)
    if kind == "rloo":
        return float(loss.mean())
    sums = (loss * mask).sum(1, keepdims=True)
    tokens = float(file.said.get("batch_num_tokens", mask.sum()))
    divided = {"grpo": (sums / count).mean(), "dr_grpo": sums.mean() / use["max_completion_length"]}
    return float(divided.get(kind, sums.sum() / tokens))


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_every_file_says_what_it_is_and_its_place_once(run: Path) -> None:
    places = [(each.said["algorithm"], each.said["step"], each.said.get("epoch"), each.said.get("minibatch"),
               each.said.get("microbatch")) for each in read(run)]  # fmt: skip
    assert len(set(places)) == len(places) == (2 if run.name == "first" else 1 if run.parent.name == "verl_grpo" else 8)


@pytest.mark.parametrize("run", TRL, ids=named)
def test_advantages_follow_from_the_rewards_in_the_files_of_a_step(run: Path) -> None:
    """TRL computes them in float32: 24 bits, of sums of 8 numbers of about 2."""
    files = read(run)
    assert np.abs(advantages_of(files)).max() > 0.5
    assert np.abs(advantages_of(files) - of_first_pass(files, "advantages")).max() < 4e-7


@pytest.mark.parametrize("run", TRL, ids=named)
def test_a_loss_follows_from_the_log_probs_in_its_file(run: Path) -> None:
    """In float32, as above; losses are below 8."""
    for each in read(run):
        assert abs(loss_of(each) - each.logged["loss"]) < 1e-6


def test_the_runs_have_what_their_names_say() -> None:
    """Old and new policies differ where there are several updates; responses were cut off, or judged by one function alone."""
    found = {run.name: read(run) for run in TRL}
    assert "old_per_token_logps" not in found["first"][0].tensors
    moved = [np.abs(each.tensors["per_token_logps"] - each.tensors["old_per_token_logps"]) for each in found["dapo"]]
    assert max(each.max() for each in moved[:2]) < 1e-6 < 0.1 < max(each.max() for each in moved[4:])
    assert np.isnan(of_first_pass(found["functions"], "rewards_per_func")).any()
    assert 0 < (of_first_pass(found["masked"], "completion_mask").sum(1) == 0).sum() < 8


def test_groups_of_verl_are_apart_in_its_batch() -> None:
    """As after `balance_batch`: the responses to a prompt are not side by side."""
    (written,) = read(REAL / "verl_grpo" / "grpo")
    uid = written.tensors["uid"]
    assert [int((uid == each).sum()) for each in np.unique(uid)] == [4, 4, 4]
    assert np.abs(np.diff(uid)).sum() > 2 * len(np.unique(uid))
