"""What the conventions start from: log-probs, KL, entropy, values and scores of every slot of a response."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from blueprint.witness.models import Named


@dataclass(frozen=True)
class Texts:
    """The inputs; files, responses and columns are the axes [F, N, T], scores have [F, N].

    `slots` is 1 where a response may have a word, `mask` where it has one, up to and including the end word; a mask may
    have holes. The others stand in every slot, pads included: nats of the word written there, of the whole distribution,
    and values that are not masked. What stands outside the slots must be finite. `ended` is 1 if the end word was written.
    """

    slots: Tensor
    mask: Tensor
    old_logprobs: Tensor
    reference_logprobs: Tensor
    logprobs: Tensor
    kl_old_reference: Tensor
    kl_new_reference: Tensor
    kl_old_new: Tensor
    entropy: Tensor
    old_values: Tensor
    values: Tensor
    score: Tensor
    ended: Tensor


def log_softmax_at(logits: Tensor, temperature: Tensor, temperature_eps: Tensor) -> Tensor:
    """Returns log π(v) of logits [F, N, T, V] divided by a temperature [F, 1, 1] (TRL 1.12 adds 1e-7 to it)."""
    return torch.log_softmax(logits / (temperature + temperature_eps)[..., None], dim=-1)


def from_distributions(old: Tensor, reference: Tensor, new: Tensor, written: Tensor) -> Named:
    """Returns log-probs of the words written, exact KLs and the entropy by the names of Texts, each [F, N, T].

    `old`, `reference` and `new` are log π(v) [F, N, T, V], `written` the ids of the words [F, N, T].
    """
    chosen = {"old_logprobs": old, "reference_logprobs": reference, "logprobs": new}
    found = {name: each.gather(-1, written[..., None]).squeeze(-1) for name, each in chosen.items()}
    return found | {
        "kl_old_reference": _kl(old, reference),
        "kl_new_reference": _kl(new, reference),
        "kl_old_new": _kl(old, new),
        "entropy": -(new.exp() * new).sum(dim=-1),
    }


def _kl(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Returns KL(p‖q) = Σ_v p·(log p − log q) of [F, N, T, V]."""
    return (log_p.exp() * (log_p - log_q)).sum(dim=-1)
