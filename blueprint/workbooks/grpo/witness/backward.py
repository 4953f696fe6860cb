"""The gradient by automatic differentiation: to the log-prob of every token, to its entropy and to the policy's logits by the core;
and, by the rows in their order, to every row between the loss and the log-probs."""

from dataclasses import replace

import torch
from torch import Tensor

from blueprint.witness import Batch, Held, Named, pull_rows, shown_slopes
from blueprint.workbooks.grpo.witness.advantages import signal
from blueprint.workbooks.grpo.witness.losses import losses
from blueprint.workbooks.grpo.witness.options import Asked, Responses
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.ratios import objective_rows, ratio_rows
from blueprint.workbooks.grpo.witness.totals import kl_loss_rows, total_rows

MOVING = ("policy.logprobs", "policy.entropy")
"""What the loss moves; all else that its rows read are numbers."""


def gradient_rows(z: Tensor, written: Tensor, of: Responses, places: Places, use: Asked) -> Named:
    """Returns ∂L/∂x of three rows x. z: the policy's logits [B, T, V]; written: the tokens [B, T], both as in the file."""
    mask = of.mask[places.back]
    with torch.enable_grad():
        logits = z.detach().clone().requires_grad_()
        log_p = logits.log_softmax(-1)
        new = mask * log_p.gather(-1, written[..., None])[..., 0]
        entropy = -mask * (log_p.exp() * log_p).sum(-1)
        moved = replace(of, new=new[places.order], entropy=entropy[places.order])
        total = losses(moved, signal(moved, use), use).total
        found = torch.autograd.grad(total, (new, entropy, logits), materialize_grads=True)
    names = ("policy.logprobs.grad", "policy.entropy.grad", "policy.logits.grad")
    tokens = torch.arange(z.shape[-1]).to(z)
    one_hot = {"rollout.written.grad.id": tokens, "rollout.written.grad.is": (written[..., None] == tokens).to(z)}
    return one_hot | dict(zip(names, found, strict=True))


def slope_rows(batch: Batch, found: Held, places: Places, use: Asked) -> Named:
    """Returns ∂L/∂x of every row x between the loss and the log-probs, and which way each token is pulled. found: all rows."""
    with torch.enable_grad():
        rows = dict(found) | {name: found[name].detach().clone().requires_grad_() for name in MOVING}
        for make in (ratio_rows, objective_rows, kl_loss_rows, total_rows):
            rows |= make(rows, places, use)
        slopes = shown_slopes(batch, {name: each for name, each in rows.items() if name not in MOVING})
    pulled = pull_rows(batch, found["policy.logprobs.grad"][None], found["mask"])
    return slopes | {name: each[0] for name, each in pulled.items()}
