"""The gradient by automatic differentiation: to every row between the loss and the log-probs, and to the policy's logits."""

import torch

from blueprint.witness import GRAD, Asked, Batch, Named, norm_bars, pull_rows, shown_slopes, weight_rows
from blueprint.workbooks.dpo.witness.once import steps
from blueprint.workbooks.dpo.witness.places import Places
from blueprint.workbooks.dpo.witness.start import Start


def once(batch: Batch, start: Start, places: Places, use: Asked) -> Named:
    """Returns every row of one pass: from where it starts to the loss, and back where the file shows gradients."""
    found = start.rows | steps(start.known, places, use)
    return found | gradient_rows(batch, start, places, use) if f"policy.logprobs{GRAD}" in batch.files[0] else found


def gradient_rows(batch: Batch, start: Start, places: Places, use: Asked) -> Named:
    """Returns ∂L/∂x by `x.grad` for every row x of which the file shows one, and which way each token is pulled."""
    with torch.enable_grad():
        moved = _moved(start)
        made = steps(start.known | moved, places, use)
        slopes = shown_slopes(batch, {**made, **moved})
    pulled = pull_rows(batch, slopes[f"policy.logprobs{GRAD}"][None], start.given["mask"])
    turned = {"pair.same.grad.transposed": made["pair.same"].T}
    if start.policy is not None and start.read is not None:
        turned |= weight_rows(start.read, slopes[f"policy.logits{GRAD}"], start.policy)
        turned |= norm_bars(batch, turned)
    return slopes | {name: each[0] for name, each in pulled.items()} | turned | _tokens(start)


def _moved(start: Start) -> Named:
    """Returns what the loss moves, as a leaf: the policy's logits, with the log-probs that follow; or log-probs."""
    if start.logits is None or start.written is None:
        return {"policy.logprobs": start.known["policy.logprobs"].detach().requires_grad_()}
    logits = start.logits.detach().requires_grad_()
    return {
        "policy.logprobs": logits.log_softmax(-1).gather(-1, start.written[..., None])[..., 0],
        "policy.logits": logits,
    }


def _tokens(start: Start) -> Named:
    """Returns the ids of all tokens, [V], and 1 on that which was written, [B, T, V]; nothing without a vocabulary."""
    if start.logits is None or start.written is None:
        return {}
    tokens = torch.arange(start.logits.shape[-1]).to(start.logits)
    return {
        "rollout.written.grad.id": tokens,
        "rollout.written.grad.is": (start.written[..., None] == tokens).to(start.logits),
    }
