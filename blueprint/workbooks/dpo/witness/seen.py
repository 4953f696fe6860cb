"""The curves of the charts: what a few forms make of a margin, how they pull, and the line on which nobody is ahead."""

import torch

from blueprint.witness import Asked, Batch, Held, Named, log_sigmoid


def chart_rows(batch: Batch, rows: Held, use: Asked) -> Named:
    """Returns the curves over the margin and the ends of the line, where a file has such charts."""
    found: Named = {}
    if "curve.part" in batch.files[0]:
        found |= curve_rows(batch, rows, use.number("loss.label_smoothing"))
    if "even.part" in batch.files[0]:
        found |= {f"even.{side}": rows[f"{side}.ratio"].abs() for side in ("chosen", "rejected")}
        found["even.far"] = torch.cat([*found.values()][-2:]).amax().clamp(min=1)
        found["even.line"] = batch.typed("even.part")[0] * found["even.far"]
    return found


def curve_rows(batch: Batch, rows: Held, eps: float) -> Named:
    """Returns DPO, cDPO, hinge and IPO, [U], over margins as wide as those of the batch, and minus the slopes of three of them."""
    size = rows["margin.argument"].abs()
    width = (size + size).amax().clamp(min=2)
    u = width * batch.typed("curve.part")[0]
    sure, plain = u.sigmoid(), -log_sigmoid(u)
    return {
        "curve.size": size, "curve.width": width, "curve.u": u, "curve.sigmoid": plain, "curve.sure": sure,
        "curve.smoothed": plain + eps * u, "curve.hinge": (1 - u).clamp(min=0), "curve.ipo": (2 * u - 1).square(),
        "pull.sigmoid": (-u).sigmoid(), "pull.smoothed": (-u).sigmoid() - eps, "pull.hinge": (u < 1).to(u),
    }  # fmt: skip
