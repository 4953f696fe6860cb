"""Advantages that are whitened, or divided by a spread, over a larger batch than the files hold: on which line they lie."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from blueprint.verifying import Compared, Settings
from blueprint.workbooks.grpo.verifying.judge import ALL, Judge
from blueprint.workbooks.grpo.verifying.replayed import Replayed, Whole

FEWEST = 6
"""Different advantages below which a straight line through them proves nothing."""
OVER_BATCH = ("batch", "residual", "batch_of_advantages")


@dataclass(frozen=True)
class Straight:
    """Â = slope·A + constant, of advantages before the batch's mean and deviation."""

    slope: float
    constant: float

    def __str__(self) -> str:
        """Says mean and deviation of the larger batch."""
        return f"mean {-self.constant / self.slope:.6g} and deviation {1 / self.slope:.6g}"


def left_open(
    judge: Judge, found: Replayed, straight: Mapping[str, Compared], settings: Settings, whole: Whole | None
) -> dict[str, Straight]:
    """Returns advantages that only the mean and deviation of another batch explain, and what follows from them is not looked at.

    Only where those are asked for, and the file does not say that it is all of its step; a line that falls, or a batch that
    is too small to tell, leaves nothing open.
    """
    compared = straight.get("advantages")
    over = settings["advantage.whiten"] != "none" or settings["group.std"] in OVER_BATCH
    if compared is None or compared.agrees or not over or _is_all(found, whole):
        return {}
    batch = found.batch
    raw, logged = (
        found.rows["advantages.raw"][batch.mask],
        np.asarray(batch.tensors["advantages"], np.float64)[batch.mask],
    )
    if len(np.unique(raw.round(9))) < FEWEST or not np.isfinite(logged).all():
        return {}
    line = np.stack([raw, np.ones_like(raw)], axis=1)
    (slope, constant), *_ = np.linalg.lstsq(line, logged, rcond=None)
    off = np.abs(line @ np.array([slope, constant]) - logged).max()
    room = judge.tolerance(ALL["advantages"]) * (1 + np.abs(logged).max())
    return {"advantages": Straight(float(slope), float(constant))} if slope > 0 and off <= room else {}


def _is_all(found: Replayed, whole: Whole | None) -> bool:
    """Whether the file says that it is the whole of its step."""
    place = found.batch.place
    if place is None or whole is not None:
        return False
    return place.world_size == 1 and place.minibatches == 1 and place.microbatches == 1
