"""What a policy says about the next word or action: the soft-max and its steps, and exact KLs; tensors end in the axis V."""

import torch
from torch import Tensor

from blueprint.witness.tensors import Named, Number


def distribution_rows(logits: Tensor) -> Named:
    """Returns the soft-max over the last axis and the steps to it: top, exponentials, logsumexp, log_p, p and Σ p log p."""
    log_p = torch.log_softmax(logits, dim=-1)
    p, top = log_p.exp(), logits.amax(dim=-1)
    return {
        "top": top,
        "exponentials": (logits - top[..., None]).exp(),
        "logsumexp": torch.logsumexp(logits, dim=-1),
        "log_p": log_p,
        "p": p,
        "p_log_p": (p * log_p).sum(dim=-1),
    }


def logprobs(log_p: Tensor, written: Tensor, mask: Number = 1.0) -> Tensor:
    """Returns the log-prob of each written word [F, N, T], in nats, 0 outside the mask."""
    return mask * log_p.gather(-1, written[..., None]).squeeze(-1)


def kl_rows(p: Named, log_q: Tensor, mask: Number = 1.0) -> Named:
    """Returns Σ_v p·log q and KL(p‖q) = Σ_v p·log p − Σ_v p·log q, the second inside the mask; both [F, N, T], nats."""
    cross = (p["p"] * log_q).sum(dim=-1)
    return {"cross": cross, "exact": mask * (p["p_log_p"] - cross)}
