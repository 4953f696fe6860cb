"""The gradient by automatic differentiation: to the log-prob of every token, to its entropy, and to the policy's logits."""

from dataclasses import replace

import torch
from torch import Tensor

from blueprint.witness import Named
from blueprint.workbooks.grpo.witness.advantages import signal
from blueprint.workbooks.grpo.witness.losses import losses
from blueprint.workbooks.grpo.witness.options import Asked, Responses
from blueprint.workbooks.grpo.witness.places import Places


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
    return dict(zip(names, found, strict=True))
