"""What is watched of a gradient: which way each token is pulled, norms, and their pictures."""

import torch
from torch import Tensor

from blueprint.witness import Batch, Named, Rows, block

JOINT = {"policy": ("policy.",), "critic": ("critic.",), "loss": ("policy.", "critic.")}
"""Over whose weights a norm is taken, by how its name begins."""


def watched(batch: Batch, slopes: Named, mask: Tensor) -> Named:
    """Returns what the files show of slopes, which are given by their names. mask: 1 on the response."""
    found = _pulls(batch, slopes["policy.logprobs.grad"], mask) if "loss.grad.tiny" in batch.files[0] else {}
    shown = [name for name in slopes if f"{name}.norm" in batch.files[0]]
    found |= {
        f"{name}.norm": torch.linalg.vector_norm(slopes[name].reshape(len(slopes[name]), -1), dim=1) for name in shown
    }
    for name, models in JOINT.items():
        parts = [slopes[each].reshape(len(slopes[each]), -1) for each in shown if each.startswith(models)]
        if parts:
            found[f"{name}.grad.norm"] = torch.linalg.vector_norm(torch.cat(parts, dim=1), dim=1)
    return found


def _pulls(batch: Batch, slope: Tensor, mask: Tensor) -> Named:
    tiny = batch.typed("loss.grad.tiny")[:, None, None]
    up, down = slope < -tiny, slope > tiny
    ways = {"up": up, "down": down, "still": ~(up | down) & (mask > 0)}
    rows = {f"loss.grad.{way}": each.to(slope.dtype) for way, each in ways.items()}
    return rows | {f"{name}.count": row.sum(dim=(1, 2)) for name, row in rows.items()}


def add_pictures(batch: Batch, rows: Rows) -> None:
    """Adds the curves of the pull with a dot for each token, and the bars of the norms, where the files have them."""
    file = batch.files[0]
    if "dot.grad.pull" in file:
        tiny, A = batch.typed("loss.grad.tiny")[:, None, None], rows["advantages_used"]
        felt = (rows["ratio.grad"] != 0) & ((A * rows["surrogate.grad"]).abs() > tiny)
        rows.add({"dot.grad.pull": torch.where(felt, A.sign() * rows["ratio"], 0.0)})
        for name in ("curve.grad.good", "curve.grad.bad"):
            ratio = rows["curve.ratio"].gather(1, batch.typed(f"{name}.corner").long())
            rows.add({f"{name}.ratio": ratio, f"{name}.pull": ratio * batch.typed(f"{name}.times")}, whole=True)
    if "norms.grad.names" in file:
        called = {_called(name): name for name in rows if name.endswith(".grad.norm")}
        bars = [rows[called[str(word)]] for word in block(file, "norms.grad.names")]
        rows.add({"norms.grad.bars": torch.stack(bars, dim=-1)}, whole=True)


def _called(norm: str) -> str:
    """Returns what stands below the bar of a norm: `critic w` for `critic.head.w.grad.norm`."""
    model, *weight = norm.removesuffix(".grad.norm").split(".")
    return " ".join((model, *weight[-1:]))
