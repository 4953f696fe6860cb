"""The gradient to the weights of a policy, and to everything between them and its logits, by automatic differentiation."""

import torch
from torch import Tensor

from blueprint.witness import networks as models
from blueprint.witness.slopes import GRAD
from blueprint.witness.tensors import Held, Named


def weight_rows(read: Tensor, of_logits: Tensor, policy: Held) -> Named:
    """Returns ∂L/∂x by `x.grad` for everything between the weights and the logits, and the norms of the weights' gradients.

    read: the tokens read [1, B, T]. of_logits: ∂L/∂z [B, T, V]. policy: the weights in training, [1, …].
    """
    with torch.enable_grad():
        leaves = {part: each.detach().requires_grad_() for part, each in policy.items()}
        steps = models.unrolled(leaves, read)
        logits = models.logits(leaves, models.stacked(steps["memory"]))
    flat = [*leaves.values(), *(each for step in steps.values() for each in step)]
    slopes = iter(torch.autograd.grad(logits, flat, of_logits[None]))
    found = {f"policy.{part}{GRAD}": next(slopes) for part in leaves}
    norms = {f"{name}.norm": torch.linalg.vector_norm(each) for name, each in found.items()}
    norms["policy.grad.norm"] = norms["loss.grad.norm"] = torch.linalg.vector_norm(torch.stack([*norms.values()]))
    on_the_way = {f"policy.{name}": torch.stack([next(slopes) for _ in step], dim=2) for name, step in steps.items()}
    found |= dict(models.called(*each) for each in on_the_way.items()) | models.turned({"policy": leaves})
    tokens = torch.arange(of_logits.shape[-1])
    looked_up = {f"rollout.read{GRAD}.id": tokens, f"rollout.read{GRAD}.is": read[0, ..., None] == tokens}
    return norms | looked_up | {name: each[0] for name, each in found.items()}
