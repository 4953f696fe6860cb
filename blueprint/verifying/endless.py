"""Where numbers end: the first row of the derivation in which some word has none, and that word."""

from __future__ import annotations

import numpy as np

from blueprint.verifying.recompute import Replay

DERIVATION = (
    "kl.used", "rewards", "advantages", "advantages_used", "log_ratio", "ratio", "policy_kl.used", "kl_new.used", "surrogate",
    "value.word_loss", "entropy",
)  # fmt: skip
"""The rows on the way to what is logged, in the order in which they are computed."""

FROM = {"ratio": "log_ratio"}
"""What a row is the exponential of, where it is one."""


def ending(found: Replay) -> str | None:
    """Says in a sentence which quantity first has no finite number, and at which word; None where all have one."""
    name = next((each for each in DERIVATION if not np.isfinite(found.largest.get(each, 0.0))), None)
    if name is None:
        return None
    read = FROM.get(name, name)
    for start, rows in found.tiles({name, read, "response"}):
        lost = ~np.isfinite(rows[name][:, : rows["response"].shape[1]])
        if lost.any():
            at, column = (int(i) for i in np.argwhere(lost)[0])
            of = f", of a log-ratio of {rows[read][at, column]:.6g}" if name in FROM else ""
            where = f"row {found.batch.file_row(start + at)}, column {int(found.batch.first[start + at]) + column}"
            value = rows[name][at, column]
            return f"{name} is {value:g} in {where}{of}: beyond the largest number, 1.8e308; so is what is computed from it"
    return None
