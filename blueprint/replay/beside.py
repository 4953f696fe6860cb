"""What the library logged, for a workbook: rows beside ours of the same name, and numbers of the whole batch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from blueprint.minibatch import Minibatch
from blueprint.minibatch.batch import Array
from blueprint.replay.inputs import per_word
from blueprint.replay.recompute import Replay
from blueprint.replay.window import Picked

ROWS = {"rewards": "rewards", "returns": "returns", "scores": "score.placed"}
"""By name of a tensor, our row that a library's is held against; that of the advantages depends on what was logged."""

FROM_REWARDS = {"advantages", "advantages_used", "returns"}


def logged_rows(
    replay: Replay, picked: Picked, rows: Mapping[str, Array], typed: Mapping[str, Array]
) -> dict[str, Array]:
    """Returns the library's rows of the words shown, as far as the workbook computes a row to hold them against."""
    batch, here, found = replay.batch, _computed_rows(typed), {}
    for name, row in (dict(ROWS) | {"advantages": _like(batch, rows, picked)}).items():
        tensor = batch.tensors.get(name)
        if tensor is not None and tensor.ndim == 2 and row in here and not (name == "scores" and per_word(batch)):
            found[f"logged.{row}"] = picked.row(tensor[picked.episodes].astype(float))
    return found


def logged_numbers(replay: Replay, typed: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the library's numbers; beside those that only the whole batch gives, what they come to."""
    here, found = _computed_numbers(typed), {}
    for name, value in replay.batch.logged.items():
        if name in replay.whole and np.isfinite(value):
            found[f"logged.{name}"] = np.asarray(value)
            if name not in here:
                found[f"batch.{name}"] = np.asarray(replay.whole[name])
    return found


def _computed_rows(typed: Mapping[str, Array]) -> set[str]:
    """Returns the rows that the workbook computes, of what is typed in it: it begins at scores, rewards or advantages."""
    if "advantages_used" in typed:
        return set()
    if "rewards" in typed:
        return FROM_REWARDS
    return FROM_REWARDS | {"rewards"} | ({"score.placed"} if "score.given" in typed else set())


def _computed_numbers(typed: Mapping[str, Array]) -> set[str]:
    """Returns the numbers of the whole batch that the workbook computes, of what is typed in it."""
    found = {"policy_loss", "kl_loss", "total_loss", "loss.mean_ratio"}
    has_returns = "advantages_used" not in typed or "returns" in typed
    found |= {"value_loss"} if has_returns and {"critic.values", "old_critic.values"} <= typed.keys() else set()
    return found | ({"entropy"} if "policy.entropy" in typed else set())


def _like(batch: Minibatch, rows: Mapping[str, Array], picked: Picked) -> str:
    """Returns which row the advantages of the dump are nearer to: those that the loss uses, or the raw ones."""
    if "advantages" not in batch.tensors:
        return "advantages_used"
    mask, logged = batch.mask[picked.episodes], batch.tensors["advantages"][picked.episodes].astype(float)
    columns = mask.shape[1]
    off = {name: np.abs(rows[name][:, :columns] - logged)[mask > 0].sum() for name in ("advantages_used", "advantages")}
    return min(off, key=lambda name: off[name])
