"""The way back: the numbers of a saved workbook of classic PPO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.workbooks.classic_ppo.presets import classic_presets
from blueprint.workbooks.classic_ppo.schema import ClassicNumbers

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved


def numbers_in(file: Saved) -> ClassicNumbers:
    """Return what is typed in a file, or, of a blank one, numbers of its sizes.

    The rows of the value loss are those of one norm or of the other, whichever is typed.
    """
    norm = "smooth_l1" if "value.size" in file else "l2"
    old = file.rows("values.old")
    return ClassicNumbers(
        **file.head(),
        preset=file.preset(classic_presets()),
        ppo={"value_norm": norm} if file.blank else file.settings(),
        actions=file.whole("actions"),
        rewards=file.rows("rewards"),
        done=file.rows("done"),
        terminated=file.rows("terminated"),
        values_old=tuple(row[:-1] for row in old),
        values_new=file.rows("values.new"),
        next_values=tuple(row[-1] for row in old),
        logits_old=file.rows("old.logits", 3),
        logits_new=file.rows("policy.logits", 3),
    )
