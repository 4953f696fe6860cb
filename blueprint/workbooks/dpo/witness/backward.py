"""The gradient by automatic differentiation: to every row between the loss and the log-probs, and to the policy's logits."""

import torch

from blueprint.witness import GRAD, Asked, Batch, Named, pull_rows, shown_slopes
from blueprint.workbooks.dpo.witness.once import steps
from blueprint.workbooks.dpo.witness.places import Places
from blueprint.workbooks.dpo.witness.start import Start


def gradient_rows(batch: Batch, start: Start, places: Places, use: Asked) -> Named:
    """Returns ∂L/∂x by `x.grad` for every row x of which the file shows one, and which way each token is pulled."""
    with torch.enable_grad():
        logits = start.logits.detach().requires_grad_()
        new = logits.log_softmax(-1).gather(-1, start.written[..., None])[..., 0]
        made = steps(start.known | {"policy.logprobs": new}, places, use)
        slopes = shown_slopes(batch, {**made, "policy.logprobs": new, "policy.logits": logits})
    tokens = torch.arange(start.logits.shape[-1]).to(logits)
    one_hot = (start.written[..., None] == tokens).to(logits)
    pulled = pull_rows(batch, slopes[f"policy.logprobs{GRAD}"][None], start.given["mask"])
    return slopes | {name: each[0] for name, each in pulled.items()} | {
        "rollout.written.grad.id": tokens, "rollout.written.grad.is": one_hot,
        "pair.same.grad.transposed": made["pair.same"].T,
    }  # fmt: skip
