"""The gradient by automatic differentiation: to the log-prob of every token, to its entropy and to the policy's logits by the core;
and, by the rows in their order, to every row between the loss and the log-probs."""

from dataclasses import replace

import torch
from torch import Tensor

from blueprint.witness import GRAD, Asked, Batch, Held, Named, pull_rows, shown_slopes
from blueprint.workbooks.grpo.witness.advantages import signal
from blueprint.workbooks.grpo.witness.losses import losses
from blueprint.workbooks.grpo.witness.options import Responses
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.ratios import objective_rows, ratio_rows
from blueprint.workbooks.grpo.witness.start import Start
from blueprint.workbooks.grpo.witness.totals import kl_loss_rows, total_rows

MOVING = ("policy.logprobs", "policy.entropy")
"""What the loss moves; all else that its rows read are numbers."""


def gradient_rows(start: Start, of: Responses, places: Places, use: Asked) -> Named:
    """Returns ∂L/∂x of log-probs and entropies x, and of the policy's logits [B, T, V] where they are known."""
    if start.logits is None or start.written is None:
        with torch.enable_grad():
            leaves = [x[places.back].detach().clone().requires_grad_() for x in (of.new, of.entropy)]
        return dict(zip((f"{name}{GRAD}" for name in MOVING), _slopes(leaves, [], of, places, use), strict=True))
    mask, z, written = of.mask[places.back], start.logits, start.written
    with torch.enable_grad():
        logits = z.detach().clone().requires_grad_()
        log_p = logits.log_softmax(-1)
        new = mask * log_p.gather(-1, written[..., None])[..., 0]
        entropy = -mask * (log_p.exp() * log_p).sum(-1)
    found = _slopes([new, entropy], [logits], of, places, use)
    tokens = torch.arange(z.shape[-1]).to(z)
    one_hot = {"rollout.written.grad.id": tokens, "rollout.written.grad.is": (written[..., None] == tokens).to(z)}
    return one_hot | dict(zip((f"{name}{GRAD}" for name in (*MOVING, "policy.logits")), found, strict=True))


def _slopes(moving: list[Tensor], below: list[Tensor], of: Responses, places: Places, use: Asked) -> tuple[Tensor, ...]:
    """Returns the slopes of the total by log-probs and entropies, as in the file, and by what these are made of."""
    with torch.enable_grad():
        new, entropy = (x[places.order] for x in moving)
        moved = replace(of, new=new, entropy=entropy)
        total = losses(moved, signal(moved, use), use).total
        return torch.autograd.grad(total, (*moving, *below), materialize_grads=True)


def slope_rows(batch: Batch, found: Held, places: Places, use: Asked) -> Named:
    """Returns ∂L/∂x of every row x between the loss and the log-probs, and which way each token is pulled. found: all rows."""
    with torch.enable_grad():
        rows = dict(found) | {name: found[name].detach().clone().requires_grad_() for name in MOVING}
        for make in (ratio_rows, objective_rows, kl_loss_rows, total_rows):
            rows |= make(rows, places, use)
        made = {name: each for name, each in rows.items() if name not in MOVING and each is not found.get(name)}
        slopes = shown_slopes(batch, made)
    pulled = pull_rows(batch, found["policy.logprobs.grad"][None], found["mask"])
    return slopes | {name: each[0] for name, each in pulled.items()}
