"""The way back: the numbers of a saved workbook of classic PPO."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from blueprint.inputs import Numbers
from blueprint.workbooks.classic_ppo.presets import classic_presets

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved


def numbers_in(file: Saved) -> Numbers:
    """Return what is typed in a file, or, of a blank one, numbers of its sizes.

    The rows of the value loss are those of one norm or of the other, whichever is typed.
    """
    norm = "smooth_l1" if "value.size" in file else "l2"
    old = file.array("values.old", 2)
    rollout = {
        "actions": np.array(file.whole("actions")),
        "rewards": file.array("rewards", 2),
        "done": file.array("done", 2),
        "terminated": file.array("terminated", 2),
        "values_old": old[:, :-1],
        "values_new": file.array("values.new", 2),
        "next_values": old[:, -1],
        "logits_old": file.array("old.logits", 3),
        "logits_new": file.array("policy.logits", 3),
    }
    return Numbers(
        kind="classic_ppo",
        level="classic",
        **file.head(),
        ppo={"value_norm": norm} if file.blank else file.settings(),
        parts={"preset": file.preset(classic_presets())} | {f"rollout.{key}": each for key, each in rollout.items()},
    )
