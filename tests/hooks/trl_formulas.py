"""TRL's formulas, 1.16.0, of one file in numpy, in stages of which any can be another: so a mistake is planted in one of them.

Log-probs and masks are [B, T], a number of each response [B, 1], rewards of a generation [prompts, responses].
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import safe_open
from safetensors.numpy import save_file

Array = npt.NDArray[np.float64]
Use = Mapping[str, Any]
Tensors = Mapping[str, Array]


class Written(NamedTuple):
    """What a hook wrote: tensors, hyperparameters, what was logged, and all metadata."""

    tensors: Tensors
    settings: Use
    logged: Mapping[str, float]
    said: Mapping[str, str]

    def save(self, path: Path) -> None:
        """Writes it as a hook does, in float32."""
        whole = (
            "row_index", "completion_ids", "completion_mask", "prompt_ids", "input_ids", "attention_mask", "padding_mask",
            "queries", "responses",
        )  # fmt: skip
        tensors = {name: each.astype(np.int64 if name in whole else np.float32) for name, each in self.tensors.items()}
        said = {
            **self.said,
            "logged": json.dumps(dict(self.logged)),
            "hyperparameters": json.dumps(dict(self.settings)),
        }
        save_file(tensors, path, said)


def read(run: Path) -> list[Written]:
    """Reads the files of a step, in the order in which they were written."""
    found = []
    for path in sorted(run.iterdir()):
        with safe_open(path, "np") as file:
            tensors = {key: file.get_tensor(key).astype(float) for key in file.keys()}  # noqa: SIM118
            said = file.metadata()
        found.append(Written(tensors, json.loads(said["hyperparameters"]), json.loads(said.get("logged", "{}")), said))
    return found


def of_pass(files: Sequence[Written], name: str) -> Array:
    """Returns a tensor of all responses in the order in which they were generated, of files of one pass over them."""
    order = np.concatenate([each.tensors["row_index"] for each in files]).astype(int).argsort()
    return np.asarray(np.concatenate([each.tensors[name] for each in files])[order])


def is_rloo(use: Use) -> bool:
    return "normalize_advantages" in use


def weighted(scores: Array, use: Use) -> Array:
    """Adds up what the reward functions said, those that said nothing left out."""
    rewards = np.nansum(scores * use["reward_weights"], axis=1)
    return rewards.clip(*use["reward_clip_range"]) if use.get("reward_clip_range") else np.asarray(rewards)


def advantages(grouped: Array, use: Use) -> Array:
    centred = grouped - grouped.mean(1, keepdims=True)
    if is_rloo(use):
        found = centred * grouped.shape[1] / (grouped.shape[1] - 1)  # less the mean of the others
        return np.asarray((found - found.mean()) / (found.std(ddof=1) + 1e-4) if use["normalize_advantages"] else found)
    deviation = {
        "group": grouped.std(1, ddof=1, keepdims=True) + 1e-4,
        "batch": grouped.std(ddof=1) + 1e-4,
        "none": 1.0,
    }
    return np.asarray(centred / deviation[use["scale_rewards"]])


def ratio(apart: Array, mask: Array, use: Use) -> Array:
    if is_rloo(use):
        apart = (apart * mask).sum(1, keepdims=True)
    elif use["importance_sampling_level"] == "sequence":
        apart = (apart * mask).sum(1, keepdims=True) / np.maximum(mask.sum(1, keepdims=True), 1)
    return np.exp(apart)


def objective(ratio: Array, advantages: Array, new: Array, use: Use) -> Array:
    if use.get("loss_type") == "cispo":
        return -np.minimum(ratio, use["epsilon_high"]) * advantages * new
    capped = np.minimum(ratio, use["delta"]) if use.get("delta") else ratio
    clipped = ratio.clip(1 - use["epsilon_low"], 1 + use["epsilon_high"])
    return -np.minimum(capped * advantages, clipped * advantages)


def kl(above: Array, ratio: Array, use: Use) -> Array:
    """Estimates the KL by k3; above: log π_ref − log π of each token."""
    return (np.exp(above) - above - 1) * (ratio if use["use_bias_correction_kl"] else 1)


def averaged(loss: Array, mask: Array, file: Written) -> float:
    sums, kind = (loss * mask).sum(1), file.settings.get("loss_type")
    if is_rloo(file.settings):
        return float(loss.mean())
    if kind == "grpo":
        return float((sums / np.maximum(mask.sum(1), 1)).mean())
    if kind == "dr_grpo":
        return float(sums.mean() / file.settings["max_completion_length"])
    return float(sums.sum() / float(file.said.get("batch_num_tokens", mask.sum())))


def each_normalised(scores: Array, use: Use) -> Array:
    """Returns the advantages [B] of rewards [B, K] of which each is normalised within the group, then their sum over the batch."""
    grouped = scores.reshape(-1, use["num_generations"], scores.shape[1])
    count = (~np.isnan(grouped)).sum(1, keepdims=True)
    mean = np.nansum(grouped, 1, keepdims=True) / np.where(count > 0, count, np.nan)
    deviation = np.sqrt(np.nansum((grouped - mean) ** 2, 1, keepdims=True) / np.where(count > 1, count - 1, np.nan))
    rewards = np.nansum(((grouped - mean) / (deviation + 1e-4)).reshape(scores.shape) * use["reward_weights"], axis=1)
    return np.asarray((rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-4))


def unsure(tensors: Tensors, use: Use) -> Array:
    """Returns 1 on the tokens of most entropy, as many as `top_entropy_quantile` says; torch.quantile, in float32."""
    mask, share = tensors["completion_mask"], use.get("top_entropy_quantile", 1.0)
    entropy = np.sort(tensors["entropies"][mask > 0].astype(np.float32))
    if share >= 1 or not len(entropy):
        return mask
    rank = np.float32(1 - share) * np.float32(len(entropy) - 1)
    low, high = entropy[int(np.floor(rank))], entropy[int(np.ceil(rank))]
    least = low + (rank - np.floor(rank)) * (high - low)
    return mask * (tensors["entropies"].astype(np.float32) >= np.float32(least))


def bonus(file: Written) -> float:
    """Returns what is taken off the loss for entropy; of losses that are shares it is divided by the microbatches."""
    counts, coef = unsure(file.tensors, file.settings), file.settings.get("entropy_coef") or 0.0
    parts = int(file.said["microbatches"]) if "batch_num_tokens" in file.said else 1
    return float(coef * (file.tensors["entropies"] * counts).sum() / max(counts.sum(), 1) / parts)


def unchanged(tensors: Tensors) -> Tensors:
    return tensors


@dataclass(frozen=True)
class Formulas:
    """How a trainer computes. given: what it takes for the tensors of a microbatch, where that is not what the file says."""

    weighted: Callable[[Array, Use], Array] = weighted
    advantages: Callable[[Array, Use], Array] = advantages
    given: Callable[[Tensors], Tensors] = unchanged
    ratio: Callable[[Array, Array, Use], Array] = ratio
    objective: Callable[[Array, Array, Array, Use], Array] = objective
    kl: Callable[[Array, Array, Use], Array] = kl
    averaged: Callable[[Array, Array, Written], float] = averaged
    each_normalised: Callable[[Array, Use], Array] = each_normalised
    unsure: Callable[[Tensors, Use], Array] = unsure
    bonus: Callable[[Written], float] = bonus

    def all_advantages(self, files: Sequence[Written]) -> Array:
        """Returns the advantages of a generation, [B], from files of one pass over it."""
        use = files[0].settings
        if use.get("multi_objective_aggregation") == "normalize_then_sum":
            return self.each_normalised(of_pass(files, "rewards_per_func"), use)
        rewards = self.weighted(of_pass(files, "rewards_per_func"), use)
        if is_rloo(use) and use["beta"]:
            apart = of_pass(files, "old_per_token_logps") - of_pass(files, "ref_per_token_logps")
            rewards = rewards - use["beta"] * (apart * of_pass(files, "completion_mask")).sum(1)
        return self.advantages(rewards.reshape(-1, use["num_generations"]), use).ravel()

    def logged(self, file: Written) -> dict[str, float]:
        """Returns loss and KL of a microbatch, from its log-probs and advantages."""
        t, use = self.given(file.tensors), file.settings
        mask, new, of = t["completion_mask"], t["per_token_logps"], t["advantages"][:, None]
        r = self.ratio(new - t.get("old_per_token_logps", new), mask, use)
        loss, more = self.objective(r, of, new, use), {}
        loss = loss if is_rloo(use) else loss * self.unsure(t, use)
        if use["beta"] and not is_rloo(use):
            to_reference = self.kl(t["ref_per_token_logps"] - new, r, use)
            loss = loss + use["beta"] * to_reference
            more["kl"] = float((to_reference * mask).sum() / max(mask.sum(), 1))
        return {"loss": self.averaged(loss, mask, file) - self.bonus(file), **more}

    def written(self, files: Sequence[Written]) -> list[Written]:
        """Returns what the hook would have written of these files, had the trainer computed so; other metrics are left out."""
        of, found = self.all_advantages(files), []
        for file in files:
            tensors = {**file.tensors, "advantages": of[file.tensors["row_index"].astype(int)]}
            changed = file._replace(tensors=tensors)
            found.append(changed._replace(logged=self.logged(changed)))
        return found


TRL = Formulas()


def otherwise(**stages: Callable[..., Any]) -> Formulas:
    """Returns TRL's formulas with other stages."""
    return replace(TRL, **stages)


@dataclass(frozen=True)
class Mistake:
    """run: in tests/data/real, whose trainer it is. first: the quantity that goes wrong first. cause: words of a cause that must
    be named; "" where no convention of a library is so, and the place is all that can be said."""

    run: str
    first: str
    cause: str
    trainer: Any
