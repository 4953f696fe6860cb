"""The loss of preference pairs as a library would write it: −log σ(x) = softplus(−x).

Source: Rafailov et al. 2023 (Direct Preference Optimization), eq. 7, without a reference.
"""

from __future__ import annotations

import torch
from torch.nn.functional import softplus

from blueprint.witness.raw import Named, Page, Raw


def results(raw: Raw) -> Named:
    """Returns the loss, what leads to it, and its slopes where the file shows them; log-probs are [pair, side, token]."""
    logprobs = raw.tensor("logprobs").requires_grad_()
    answers = logprobs.mean(dim=-1) if raw.word("answer") == "mean" else logprobs.sum(dim=-1)
    margin = answers[:, 0] - answers[:, 1]
    losses = softplus(-raw.number("beta") * margin, threshold=1e3)
    loss = losses.mean()
    found = {"score": answers, "margin": margin, "loss": losses, "preference_loss": loss}
    if "logprobs.grad" in raw:
        found["logprobs.grad"] = torch.autograd.grad(loss, logprobs)[0]
    return {name: each.detach() for name, each in found.items()}


PAGE = Page(results)
