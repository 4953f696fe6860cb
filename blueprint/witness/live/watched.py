"""The diagnostics of the plain build, which stay beside those of the conventions, and the charts.

They look at the response words, whatever else counts as response.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from blueprint.witness import diagnostics
from blueprint.witness.batch import Batch, Rows
from blueprint.witness.charts import CURVES, dot_rows
from blueprint.witness.gae import masked_sums
from blueprint.witness.live.rows import Start
from blueprint.witness.models import Named
from blueprint.witness.signal import masked_mean, with_end

PARTS = ("policy_loss", "adds.value_loss", "adds.entropy", "adds.policy_kl", "adds.kl_loss", "total_loss")


def add_diagnostics(batch: Batch, rows: Rows, mask: Tensor) -> None:
    """Adds clip fractions, KLs, scores, explained variance and means over the response words."""
    count = rows["response.words"]
    rows.add(diagnostics.update_rows(rows, mask, count))
    rows.add(per_response_rows(rows, mask))
    size = rows["advantages"][..., :-1].abs()
    rows.add({"advantage.abs": size, "advantage.mean_abs": masked_mean(size, mask, count)})
    floor, old = batch.typed("explained_variance.floor"), rows["values.kept"][..., :-1]
    found = diagnostics.explained_rows(rows["returns"], old, mask, count, floor)
    rows.add(found | {"value.residual": rows["returns"] - old})
    rows.add(diagnostics.mean_rows(rows, "live", mask, count))


def per_response_rows(rows: Rows, mask: Tensor) -> Named:
    """Returns sums over each response [F, N] and their means: KL of its words, score and penalty wherever they land."""
    kl, everywhere = mask * rows["kl.used"], torch.ones_like(mask)
    landed = (rows["score.placed"], rows["reward.penalty"])
    return diagnostics.per_response_rows(kl, *landed, everywhere, rows["response.count"])


def add_charts(batch: Batch, rows: Rows, start: Start) -> None:
    """Adds the curve of the clip with its dots, the words of the bars, GAE for several λ, and the parts of the loss."""
    rows.add_whole(clip_curve_rows(batch))
    rows.add(dot_rows(batch, rows["ratio"], rows["advantages_used"], rows["surrogate"], start.mask))
    shown = start.mask.cpu().numpy() > 0
    rows.add_words("bar.word", [np.where(*each, "") for each in zip(shown, start.written, strict=True)])
    for number in CURVES:
        gae_lambda = batch.typed(f"gae_at.lambda{number}").view(-1, 1, 1)
        rows.add({f"gae_at.{number}": with_end(faded(batch, rows, gae_lambda * batch.setting("gamma")))})
    rows.add_whole({"parts": torch.stack([rows[name] for name in PARTS], dim=-1)})


def clip_curve_rows(batch: Batch) -> Named:
    """Returns the corners of the clipped surrogate for advantage 1 and −1, each [F, C], with an ε for either side of 1.

    Where the clip is off on one side, the corner stands at that end of the picture.
    """
    below, above = (batch.setting(name)[..., 0] for name in ("clip_range", "loss.clip_range_high"))
    steps = batch.typed("curve.by")
    reach = torch.where(steps > 0, above, below)
    free = torch.isinf(reach)
    ratio = torch.where(free, batch.typed("curve.end"), batch.typed("curve.from") + steps * reach)
    lowest = torch.where(torch.isinf(below), torch.zeros_like(below), 1 - below)
    clipped = torch.minimum(torch.maximum(ratio, lowest), 1 + above)
    found = {"curve.lowest": lowest[:, 0], "curve.reach": reach, "curve.ratio": ratio}
    for name, sign in (("curve.good", 1.0), ("curve.bad", -1.0)):
        free, held = sign * ratio, sign * clipped
        found |= {
            name: torch.full_like(ratio, sign),
            f"{name}.surrogate.unclipped": free,
            f"{name}.ratio.clipped": clipped,
            f"{name}.surrogate.clipped": held,
            f"{name}.surrogate": torch.minimum(free, held),
        }
    return found


def faded(batch: Batch, rows: Rows, decay: Tensor) -> Tensor:
    """Returns the TD errors summed with another decay, [F, N, T]; what is passed over does not fade."""
    over, slots = rows["gae.over"], rows["slots"][..., :-1]
    return masked_sums(rows["td_errors"], torch.where(over > 0, 1.0, decay), slots)
