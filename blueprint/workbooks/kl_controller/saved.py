"""The way back: the numbers of a saved workbook of the KL controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from blueprint.inputs import Numbers

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved


def numbers_in(file: Saved) -> Numbers:
    """Return what is typed in a file, or, of a blank one, numbers of its sizes."""
    lengths = np.array(file.whole("responses.length"))
    parts = {"responses.kl_sums": file.array("responses.kl", 2), "responses.lengths": lengths}
    return Numbers(kind="kl_controller", level="controller", **file.head(), ppo=file.settings(), parts=parts)
