"""Supervised fine-tuning: the cross-entropy of demonstrated tokens, on one page of plain torch.

Ouyang et al. 2022, Training language models to follow instructions (InstructGPT), §3.5: a policy is fine-tuned on what
people wrote. Wu et al. 2025, On the Generalization of SFT (DFT), eq. 8: each token weighs as much as it is likely.
Tensors are [B, T]: B texts, T positions. Position t has read tokens 0 to t of a text, and predicts token t + 1.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax


@dataclass(frozen=True)
class Sft:
    """What one batch comes to, [B, T] or one number; tensors by token mean something where tokens are learned."""

    logp: Tensor  # of the token that follows
    losses: Tensor
    loss: Tensor
    nll: Tensor  # the loss, without the weights of DFT
    perplexity: Tensor
    entropy: Tensor
    accuracy: Tensor


def sft(logits: Tensor, tokens: Tensor, learned: Tensor, *, dft: bool = False) -> Sft:
    """Returns the loss of fine-tuning, and what is watched.

    logits: [B, T, V], after every token but the last. tokens: ids, [B, T + 1]. learned: which of the tokens 1 to T are to
    be learned, [B, T]: the response, its end token included, or all that is no pad.
    """
    labels = tokens[:, 1:]
    losses = cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    nll = losses[learned].mean()
    if dft:
        losses = losses * (-losses).exp().detach()
    with torch.no_grad():
        log_p = log_softmax(logits, -1)[learned]
        entropy = -(log_p.exp() * log_p).sum(-1).mean()
        accuracy = (logits.argmax(-1) == labels)[learned].to(logits.dtype).mean()
    return Sft(
        logp=log_softmax(logits, -1).gather(-1, labels[..., None])[..., 0],
        losses=losses,
        loss=losses[learned].mean(),
        nll=nll,
        perplexity=nll.exp(),
        entropy=entropy,
        accuracy=accuracy,
    )
