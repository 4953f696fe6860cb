"""The numbers behind the charts: the clipped surrogate as a curve, the words on it, and words that are shown."""

import numpy as np
import torch
from torch import Tensor

from blueprint.witness.batch import LOWER, UPPER, Batch
from blueprint.witness.losses import between, lowest_ratio, surrogates
from blueprint.witness.rows import Rows
from blueprint.witness.settings import Array, block, numbers


def add_clip_curve(batch: Batch, rows: Rows) -> None:
    """Adds the corners of the clipped surrogate for advantage 1 and −1, each [F, C], with an ε for either side of 1.

    Where the clip is off on one side, the corner stands at that end of the picture. A file with one ε for both sides does
    not show the reach.
    """
    options, steps = batch.options, batch.typed("curve.by")
    below, above = (options.number(name, 2) for name in (LOWER, UPPER))
    reach, lowest = torch.where(steps > 0, above, below), lowest_ratio(options)[..., 0]
    ratio = batch.typed("curve.from") + steps * reach
    if "curve.end" in batch.files[0]:
        ratio = torch.where(torch.isinf(reach), batch.typed("curve.end"), ratio)
        rows.add({"curve.lowest": lowest[:, 0]})
        rows.add({"curve.reach": reach}, whole=True)
    rows.add({"curve.ratio": ratio}, whole=True)
    clipped = between(ratio, lowest, 1 + above)
    for name, sign in (("curve.good", 1.0), ("curve.bad", -1.0)):
        advantages = torch.full_like(ratio, sign)
        curve = {"ratio.clipped": clipped} | surrogates(ratio, clipped, advantages)
        rows.add({name: advantages} | {f"{name}.{row}": each for row, each in curve.items()}, whole=True)


def add_dots(batch: Batch, rows: Rows, ratio: Tensor, advantages: Tensor, shown: Tensor) -> None:
    """Adds where each word stands on that curve: its ratio within the picture, and U for each |Â|, [F, N, T] or [F, C].

    A word that is not shown stands at −1, off the picture.
    """
    low, high = (batch.typed(f"dot.{end}").view(-1, *[1] * (ratio.dim() - 1)) for end in ("low", "high"))
    size = advantages.abs()
    height = rows["surrogate"] / torch.where(size > 0, size, 1.0)
    found = {
        "dot.ratio": torch.where(shown > 0, torch.minimum(torch.maximum(ratio, low), high), -1.0),
        "dot.size": size,
        "dot.surrogate": torch.where(size > 0, height, 0.0),
    }
    rows.add(found, whole=ratio.dim() == 2)


def shown_words(batch: Batch) -> list[Array]:
    """Returns the typed words inside the typed mask of each file, "" elsewhere."""
    return [np.where(numbers(file, "mask") > 0, block(file, "word_written"), "") for file in batch.files]
