"""What the library logged, beside a workbook's own rows and numbers; and whether those are the replay's."""

from collections.abc import Mapping, Sequence

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying import Agreement, Line, Replay, Verdict, text_of
from blueprint.workbooks.minibatch.library import WHOLE
from blueprint.workbooks.minibatch.verifying.window import Window

NEAR = 1e-12
"""How far |a − b| may be, over 1 + the largest of the row. Both are float64; a cell has 15 digits."""

SHIFTED = "place."
"""What begins the names of rows that do not begin in the same column on both sides."""


FLAGS = ("clip_fraction.changed", "clip_fraction.outside", "clip_fraction.flag")
"""Rows of 0 and 1 that rounding may tip: two surrogates that are equal but for their last digit."""

OF_VALUES = ("value_loss", "adds.value_loss", "vf_coef.used", "value.")
"""Names, or their beginnings, of what a workbook lacks whose dump has too little for a value loss."""


def agreement(values: Mapping[str, Array], replay: Replay, window: Window) -> Agreement:
    """Compares the values of a workbook's blocks, by their names, with the replay of the whole minibatch."""
    rows, left_out = replay.rows(window.episodes), _left_out(replay)
    slots = np.asarray(values["slots"], dtype=float)[:, :-1]
    found = {
        name: _distance(np.asarray(array, dtype=float), name, replay, rows, window, slots)
        for name, array in values.items()
        if array.dtype != object and not name.startswith(left_out)
    }
    return Agreement({name: off for name, off in found.items() if off is not None}, NEAR * _stretch(replay))


def _left_out(replay: Replay) -> tuple[str, ...]:
    """Returns the beginnings of names that are not compared: a part of the total that the dump has too little for counts 0
    in the replay, and is not in the workbook."""
    total = ("total_loss", "share") if "total_loss" in replay.missing else ()
    return (SHIFTED, *FLAGS, *total, *(OF_VALUES if "value_loss" in replay.missing else ()))


def _stretch(replay: Replay) -> float:
    """Returns by how much whitening may magnify a rounding error: 1 over the smaller deviation, if that is below 1."""
    deviations = [replay.whole[f"{of}.divisor"] for of in ("advantage", "reward")]
    return max(1.0, *(1 / each for each in deviations if each > 0))


def _distance(
    values: Array, name: str, replay: Replay, rows: Mapping[str, Array], window: Window, slots: Array
) -> float | None:
    """Returns how far a row is, in the slots of its window, or a number; None if the replay has none of that name."""
    if values.ndim == 0 and name in replay.whole:
        return abs(float(values) - replay.whole[name]) / (1 + abs(replay.whole[name]))
    if values.ndim == 2 and name in rows and rows[name].ndim == 2:
        theirs = window.row(rows[name])
        off = np.abs(values[:, : slots.shape[1]] - theirs) * slots
        return float(off.max() / (1 + np.abs(theirs * slots).max()))
    return None


PLACED = {"score.place": "score.placed"}
"""Rows that a workbook shows as another one, which says the same: the score on its slot."""

FROM_REWARDS = {"advantages", "advantages_used", "returns"}


def logged_rows(replay: Replay, lines: Sequence[Line], window: Window, typed: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the library's rows of the words shown and what rounding allows, as far as the workbook computes such a row.

    lines: what was compared, and with which row.
    """
    found: dict[str, Array] = {}
    here = _computed_rows(typed)
    for compared in (line.compared for line in lines if line.compared.logged is None):
        row, tensor = PLACED.get(compared.row, compared.row), replay.batch.tensors.get(compared.name)
        if tensor is not None and tensor.ndim == 2 and row in here:
            logged = window.row(window.of(tensor).astype(float))
            found |= {f"logged.{row}": logged, f"allowed.{row}": np.asarray(compared.allowed)}
    return found


def logged_numbers(replay: Replay, lines: Sequence[Line], typed: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the library's numbers and what rounding allows; beside those that only the whole batch gives, what they come to."""
    found: dict[str, Array] = {}
    here = _computed_numbers(typed)
    for row, logged, allowed in ((each.row, each.logged, each.allowed) for each in (line.compared for line in lines)):
        if row in WHOLE and logged is not None and np.isfinite(logged):
            found |= {f"logged.{row}": np.asarray(logged), f"allowed.{row}": np.asarray(allowed)}
            found |= {} if row in here else {f"batch.{row}": np.asarray(replay.whole[row])}
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


def compared_with(verdict: Verdict) -> tuple[str, ...]:
    """Returns in sentences what came of comparing with what the library logged: a summary, then what deviates, and why."""
    found = text_of(verdict).splitlines()[len(verdict.lines) + 1 :]
    compared = f"Compared: {', '.join(f'{line.called} {line.says}' for line in verdict.lines)}."
    more = [line.strip() for line in found if line.strip() and not line.startswith("Note: ")]
    return (compared, *more) if verdict.lines else ("The library logged no results.",)
