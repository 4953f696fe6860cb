"""What the library logged, for a workbook: rows beside ours of the same name, and numbers of the whole batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from blueprint.dumps.batch import Array
from blueprint.verifying.lines import Line
from blueprint.verifying.recompute import Replay
from blueprint.workbooks.minibatch.verifying.window import Picked

PLACED = {"score.place": "score.placed"}
"""Rows that a workbook shows as another one, which says the same: the score on its slot."""

FROM_REWARDS = {"advantages", "advantages_used", "returns"}
NUMBERS = {
    "policy_loss", "value_loss", "entropy", "kl_loss", "total_loss", "adds.value_loss", "adds.kl_loss",
    "clip_fraction.used", "clip_fraction.dual", "clip_fraction.value", "approx_kl.used", "loss.mean_ratio", "ratio.mean",
    "ev.used", "kl.statistic", "entropy.watched",
}  # fmt: skip
"""Numbers of the whole batch for which a workbook has a line."""


def logged_rows(replay: Replay, lines: Sequence[Line], picked: Picked, typed: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the library's rows of the words shown and what rounding allows, as far as the workbook computes such a row.

    lines: what was compared, and with which row.
    """
    found: dict[str, Array] = {}
    batch, here = replay.batch, _computed_rows(typed)
    for compared in (line.compared for line in lines if line.compared.logged is None):
        row, tensor = PLACED.get(compared.row, compared.row), batch.tensors.get(compared.name)
        if tensor is not None and tensor.ndim == 2 and row in here:
            found[f"logged.{row}"] = picked.row(tensor[picked.episodes].astype(float))
            found[f"allowed.{row}"] = np.asarray(compared.allowed)
    return found


def logged_numbers(replay: Replay, lines: Sequence[Line], typed: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the library's numbers and what rounding allows; beside those that only the whole batch gives, what they come to."""
    found: dict[str, Array] = {}
    here = _computed_numbers(typed)
    for compared in (line.compared for line in lines if line.compared.logged is not None):
        row, logged = compared.row, compared.logged
        if row in NUMBERS and logged is not None and np.isfinite(logged):
            found |= {f"logged.{row}": np.asarray(logged), f"allowed.{row}": np.asarray(compared.allowed)}
            if row not in here:
                found[f"batch.{row}"] = np.asarray(replay.whole[row])
    return found


def _computed_rows(typed: Mapping[str, Array]) -> set[str]:
    """Returns the rows that the workbook computes, of what is typed in it: it begins at scores, rewards or advantages."""
    if "advantages_used" in typed:
        return set()
    if "rewards" in typed:
        return FROM_REWARDS
    return FROM_REWARDS | {"rewards", "rewards.raw"} | ({"score.placed"} if "score.given" in typed else set())


def _computed_numbers(typed: Mapping[str, Array]) -> set[str]:
    """Returns the numbers of the whole batch that the workbook computes, of what is typed in it."""
    found = {"policy_loss", "kl_loss", "adds.kl_loss", "total_loss", "loss.mean_ratio"}
    has_returns = "advantages_used" not in typed or "returns" in typed
    if has_returns and {"critic.values", "old_critic.values"} <= typed.keys():
        found |= {"value_loss", "adds.value_loss"}
    return found | ({"entropy"} if "policy.entropy" in typed else set())
