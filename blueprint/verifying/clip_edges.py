"""Words on which rounding decides whether a clip holds: a share of words may be off by as many."""

from collections.abc import Mapping

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying.settings import Setting, number_of

NAMES = ("clip_fraction.used", "clip_fraction.dual", "clip_fraction.value")
READ = (
    "response", "ratio", "advantages_used", "surrogate.floor", "surrogate.pessimistic", "value.counted", "value.error",
    "value.square", "value.square_clipped", "returns", "values.kept",
)  # fmt: skip


def near(rows: Mapping[str, Array], settings: Mapping[str, Setting], tolerance: float) -> dict[str, int]:
    """Returns, by name of a share, how many words of a tile lie within the tolerance of where their clip begins."""
    clipped = _near_clip(rows, settings, tolerance)
    floor, pessimistic = rows["surrogate.floor"], rows["surrogate.pessimistic"]
    has_floor = np.isfinite(number_of("loss.dual_clip", settings["loss.dual_clip"]))
    floored = has_floor & (np.abs(floor - pessimistic) <= tolerance * (1 + np.abs(pessimistic)))
    counted, response = rows["value.counted"] > 0, rows["response"] > 0
    return {
        "clip_fraction.used": int((response & clipped).sum()),
        "clip_fraction.dual": int((response & floored).sum()),
        "clip_fraction.value": int((counted & _near_value(rows, settings, tolerance)).sum()),
    }


def _near_clip(rows: Mapping[str, Array], settings: Mapping[str, Setting], tolerance: float) -> Array:
    """A ratio near either end of its range, or an advantage near 0, whose sign says which end counts."""
    ratio, found = rows["ratio"], np.abs(rows["advantages_used"]) <= tolerance
    low = 1 - number_of("clip_range", settings["clip_range"])
    high = 1 + number_of("loss.clip_range_high", settings["loss.clip_range_high"])
    for end in (low, high):
        found |= np.abs(ratio - end) <= tolerance * (1 + ratio)
    return np.asarray(found)


def _near_value(rows: Mapping[str, Array], settings: Mapping[str, Setting], tolerance: float) -> Array:
    """A value near the end of its range, or outside it with both squares nearly the same."""
    limit = number_of("value_clip_range", settings["value_clip_range"])
    old = rows["values.kept"][:, :-1]
    moved = np.abs(rows["returns"] + rows["value.error"] - old)
    allowed = tolerance * (1 + np.abs(rows["returns"]) + np.abs(old))
    square, clipped = rows["value.square"], rows["value.square_clipped"]
    same = (moved > limit) & (np.abs(square - clipped) <= allowed * (1 + np.sqrt(square)))
    return np.asarray((np.abs(moved - limit) <= allowed) | same)
