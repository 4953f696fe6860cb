"""Supervised fine-tuning as eight libraries compute it: the page `sft.py` with their conventions as keywords.

Libraries differ in which tokens are learned and in what the sum of their losses is divided by. Tensors are [B, T]: B
texts, T positions; position t predicts token t + 1. Sources: transformers 5, `ForCausalLMLoss`; TRL 1.16.0 and 0.24.0,
`SFTTrainer`; OpenRLHF 0.11.2; torchtune 0.6.1; NeMo-RL 7ea279a; verl 1dda039 and b178a3c; HALOs 4831988;
DeepSpeed-Chat 83757d9; eric-mitchell/direct-preference-optimization f8b8c0f.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax

IGNORED = -100
"""The label of a position that has nothing to learn."""


@dataclass(frozen=True)
class Sft:
    """What one batch comes to: by token [B, T], by text [B], by microbatch [M], or one number."""

    labels: Tensor  # the token that each position is to predict, or IGNORED
    logp: Tensor  # its log-prob; 0 where there is no label
    losses: Tensor  # what each token adds to the loss
    of_texts: Tensor
    of_microbatches: Tensor
    loss: Tensor
    nll: Tensor
    perplexity: Tensor
    entropy: Tensor
    accuracy: Tensor
    tokens_read: Tensor


def labels_of(
    tokens: Tensor, response: Tensor, text: Tensor, *, region: str = "response", packing: str = "none",
    without: int | None = None,
) -> Tensor:  # fmt: skip
    """Returns the label of each position, [B, T].

    tokens: ids, [B, T + 1]. response, text: which of the tokens 1 to T are response, and which are there, [B, T].
    region: "response", or "text" (TRL with completion_only_loss=False, DeepSpeed-Chat always).
    packing: "wrapped" puts texts end to end, so that the last position of one predicts the first token of the next;
    with "bfd" (TRL) that label is taken out, which is no packing.
    without: a token that nobody learns: the end token, where it is also the pad and a collator masks pads.
    """
    labels = tokens[:, 1:].masked_fill(~(text if region == "text" else response), IGNORED)
    if packing == "wrapped" and region == "text":
        lengths = text[:-1].sum(1)
        rows = (lengths < text.shape[1]).nonzero()[:, 0]
        labels[rows, lengths[rows]] = tokens[rows + 1, 0]
    return labels if without is None else labels.masked_fill(labels == without, IGNORED)


def microbatch_of(texts: int, microbatches: int) -> Tensor:
    """Returns the microbatch of each text, [B], from 0: texts are dealt out in their order."""
    return (torch.arange(1, texts + 1) * microbatches - 1) // texts


def divisors(
    logp: Tensor, counts: Tensor, part: Tensor, *, normaliser: str, microbatches: int, unpredicted: int, eps: float
) -> Tensor:
    """Returns what the losses of each text are divided by, [B].

    counts: which labels there are, [B, T]. part: the microbatch of each text, [B]. unpredicted: labels that were counted
    though no position predicts them. eps: what is added to every count.
    """
    dtype = logp.dtype
    lengths = counts.sum(1).to(dtype)
    texts = torch.full_like(lengths, len(lengths)) + eps
    match normaliser:
        case "tokens":
            return lengths.sum().expand_as(lengths) + eps
        case "labels":  # transformers 4.46 to 5.6: counted before the shift
            return (lengths.sum() + unpredicted).expand_as(lengths) + eps
        case "microbatches":  # transformers before 4.46, verl b178a3c: the mean of their means
            of_parts = torch.zeros(microbatches, dtype=dtype, device=part.device).index_add(0, part, lengths)
            return (of_parts[part] + eps) * microbatches
        case "row_means":
            return (lengths + eps) * texts
        case "row_sums":  # the first DPO repository
            return texts
        case "nonzero":  # HALOs: tokens of probability 1 do not count
            return (counts & (logp != 0)).sum().to(dtype).expand_as(lengths) + eps
    raise ValueError(normaliser)


def sft(
    logits: Tensor, tokens: Tensor, response: Tensor, text: Tensor, *, region: str = "response", packing: str = "none",
    without: int | None = None, normaliser: str = "tokens", microbatches: int = 1, mean_eps: float = 0.0,
    dft: bool = False,
) -> Sft:  # fmt: skip
    """Returns the loss of fine-tuning, and what is watched, as means over labels; see `labels_of` and `divisors`.

    logits: [B, T, V], after every token but the last. dft: each token weighs as much as it is likely.
    """
    labels = labels_of(tokens, response, text, region=region, packing=packing, without=without)
    counts = labels != IGNORED
    logp = -cross_entropy(logits.transpose(1, 2), labels, ignore_index=IGNORED, reduction="none")
    costs = -logp * logp.exp().detach() if dft else -logp
    part = microbatch_of(len(tokens), microbatches).to(logits.device)
    first_tokens = 0 if region == "response" else 1 if packing == "wrapped" else len(tokens)
    over = divisors(
        logp, counts, part, normaliser=normaliser, microbatches=microbatches, unpredicted=first_tokens, eps=mean_eps
    )
    losses = costs / over[:, None]
    of_texts = losses.sum(1)
    nll = mean_of(-logp, counts)
    log_p = log_softmax(logits.detach(), -1)
    return Sft(
        labels=labels,
        logp=logp,
        losses=losses,
        of_texts=of_texts,
        of_microbatches=of_texts.new_zeros(microbatches).index_add(0, part, of_texts),
        loss=of_texts.sum(),
        nll=nll,
        perplexity=nll.exp(),
        entropy=mean_of(-(log_p.exp() * log_p).sum(-1), counts),
        accuracy=mean_of((logits.argmax(-1) == labels).to(logits.dtype), counts),
        tokens_read=text.sum() + len(tokens),
    )


def mean_of(x: Tensor, counts: Tensor) -> Tensor:
    """Returns the mean of what counts; of nothing 0, as TRL logs it."""
    return x[counts].mean() if counts.any() else x.new_zeros(())
