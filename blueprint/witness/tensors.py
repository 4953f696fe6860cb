"""What every computation here is made of: tensors by the names of their blocks, edges, means, and sums over later steps.

Tensors have the axes [F, N, T] (file, episode, decision) unless a docstring says otherwise.
"""

from collections.abc import Mapping
from typing import TypeAlias

import torch
from torch import Tensor

Named = dict[str, Tensor]
Held = Mapping[str, Tensor]
"""Whatever gives a quantity by the name of its block."""
Number: TypeAlias = Tensor | float


def with_end(values: Tensor) -> Tensor:
    """Returns the tensor with a column of zeros behind the last decision."""
    return torch.cat([values, torch.zeros_like(values[..., :1])], dim=-1)


def with_start(values: Tensor) -> Tensor:
    """Returns the tensor with a column of zeros in front."""
    return torch.cat([torch.zeros_like(values[..., :1]), values], dim=-1)


def wide(number: Tensor) -> Tensor:
    """Returns numbers of files [F] so that they can be used with tensors [F, N, T]."""
    return number[:, None, None]


def total(values: Tensor) -> Tensor:
    """Returns the sum over all episodes and decisions of a file, [F]."""
    return values.sum(dim=(-2, -1))


def masked_mean(values: Tensor, mask: Tensor, words: Tensor) -> Tensor:
    """Returns the mean over the response words of a file, [F]."""
    return total(values * mask) / words


def masked_sums(values: Tensor, decay: Number, mask: Tensor) -> Tensor:
    """Returns S_t = x_t + m_t·decay·S_{t+1} of values for any mask, and a decay for each file [F, 1, 1].

    Each round doubles how far the sums reach (Hillis and Steele, Data Parallel Algorithms, 1986): log2 T rounds.
    """
    sums, fade, reach = values, mask * decay, 1
    fade = torch.cat([fade[..., :-1], torch.zeros_like(fade[..., :1])], dim=-1)
    while reach < values.shape[-1] and bool(fade.any()):
        near = torch.addcmul(sums[..., :-reach], fade[..., :-reach], sums[..., reach:])
        sums = torch.cat([near, sums[..., -reach:]], dim=-1)
        further = fade[..., :-reach] * fade[..., reach:]
        fade = torch.cat([further, torch.zeros_like(fade[..., -reach:])], dim=-1)
        reach *= 2
    return sums


def sums_from(values: Tensor, decay: Tensor, behind: Tensor | None = None) -> Tensor:
    """Returns S_t = x_t + decay_t·S_{t+1} with the column behind the last, [F, N, T + 1]: what stands there, [F, N], or 0.

    `decay` [F, N, T] is 0 where nothing later counts.
    """
    if behind is None:
        return with_end(masked_sums(values, 1.0, decay))
    return masked_sums(torch.cat([values, behind[..., None]], dim=-1), 1.0, with_end(decay))


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
