"""Whether the numbers of a workbook are those of the replay: every row and number that both have, by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from blueprint.dumps.batch import Array
from blueprint.verifying.kind import Agreement
from blueprint.verifying.recompute import Replay
from blueprint.workbooks.minibatch.verifying.window import Picked, Window

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
    rows, picked, found = replay.rows(window.episodes), Picked(window), {}
    slots, left_out = np.asarray(values["slots"], dtype=float)[:, :-1], _left_out(replay)
    for name, array in values.items():
        if array.dtype != object and not name.startswith(left_out):
            off = _distance(np.asarray(array, dtype=float), name, replay, rows, picked, slots)
            if off is not None:
                found[name] = off
    return Agreement(found, NEAR * _stretch(replay))


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
    values: Array, name: str, replay: Replay, rows: Mapping[str, Array], picked: Picked, slots: Array
) -> float | None:
    """Returns how far a row is, in the slots of its window, or a number; None if the replay has none of that name."""
    if values.ndim == 0 and name in replay.whole:
        return abs(float(values) - replay.whole[name]) / (1 + abs(replay.whole[name]))
    if values.ndim == 2 and name in rows and rows[name].ndim == 2:
        theirs = picked.row(rows[name])
        off = np.abs(values[:, : slots.shape[1]] - theirs) * slots
        return float(off.max() / (1 + np.abs(theirs * slots).max()))
    return None
