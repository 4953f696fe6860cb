"""What is common to gradients by automatic differentiation: what each optimiser makes smaller, and the slopes that files show."""

import torch
from torch import Tensor

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.options import Options
from blueprint.witness.settings import block
from blueprint.witness.tensors import Held, Named

GRAD = ".grad"


def shows_slopes(batch: Batch) -> bool:
    """Returns whether files show gradients."""
    return any(name.endswith(GRAD) for name in batch.files[0])


def leaf(batch: Batch, name: str) -> Tensor:
    """Returns a typed block by which is differentiated."""
    return batch.typed(name).requires_grad_()


def shown_slopes(batch: Batch, rows: Held) -> Named:
    """Returns ∂L/∂x by `x.grad` for every row x of which the files show one.

    rows: made from leaves, with the total loss among them, and where there is a critic its value loss.
    """
    nodes = {name: each for name, each in rows.items() if f"{name}{GRAD}" in batch.files[0]}
    moving = {name: each for name, each in nodes.items() if each.requires_grad}
    losses = both_losses(rows, batch.options) if "value_loss" in rows else [rows["total_loss"].sum()]
    found = torch.autograd.grad(losses, list(moving.values()), allow_unused=True)
    slopes = dict(zip(moving, found, strict=True))
    return {
        f"{name}{GRAD}": torch.zeros_like(each) if (slope := slopes.get(name)) is None else slope
        for name, each in nodes.items()
    }


def both_losses(rows: Held, options: Options) -> tuple[Tensor, ...]:
    """Returns the total loss of all files, and the value loss of those whose critic has an optimiser of its own: numbers."""
    total = rows["total_loss"].sum()
    return (total, (trains_apart(options) * rows["value_loss"]).sum()) if "value_loss" in rows else (total,)


def trains_apart(options: Options) -> Tensor:
    """Returns whether a file's critic has an optimiser of its own, so that the value loss is no part of the total, [F]."""
    return options.says("loss.joint", "off", 1)


def critic_rows(batch: Batch, rows: Held) -> Named:
    """Returns what the critic's optimiser makes smaller, where conventions are live."""
    if "critic_loss" not in batch.files[0]:
        return {}
    weight = torch.where(trains_apart(batch.options), 1.0, batch.options.number("vf_coef", 1))
    return {"vf_coef.critic": weight, "critic_loss": weight * rows["value_loss"]}


def pull_rows(batch: Batch, slope: Tensor, mask: Tensor) -> Named:
    """Returns which way each token is pulled by ∂L/∂log π, and how many there are of each. mask: 1 on the response."""
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
    rows.add(norm_bars(batch, rows), whole=True)


def norm_bars(batch: Batch, rows: Held) -> Named:
    """Returns the norms of gradients in the order of the words that stand below the bars, where files have such a picture."""
    file = batch.files[0]
    if "norms.grad.names" not in file:
        return {}
    called = {_called(name): name for name in rows if name.endswith(".grad.norm")}
    bars = [rows[called[str(word)]] for word in block(file, "norms.grad.names")]
    return {"norms.grad.bars": torch.stack(bars, dim=-1)}


def _called(norm: str) -> str:
    """Returns what stands below the bar of a norm: `critic w` for `critic.head.w.grad.norm`."""
    model, *weight = norm.removesuffix(".grad.norm").split(".")
    return " ".join((model, *weight[-1:]))
