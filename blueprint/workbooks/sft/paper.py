"""How a file of fine-tuning is read for the page of libraries: typed texts, settings, and logits or the policy's weights."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from blueprint.papers.libraries.sft import IGNORED, sft
from blueprint.witness.raw import Named, Page, Raw
from blueprint.witness.settings import block, ids

WEIGHTS = ("policy.E", "policy.W", "policy.Y")
LOGITS = "policy.logits"


def results(raw: Raw) -> Named:
    """Returns what the page says of a file, by the names of its blocks; of several optimiser steps the first one.

    Log-probs, and losses of tokens, mean something where `label.counts` is 1.
    """
    tokens = _tokens(raw, "word_written")
    leaves = {name: raw.tensor(name).requires_grad_() for name in WEIGHTS if name in raw}
    logits = _logits(leaves, tokens[:, :-1]) if leaves else raw.tensor(LOGITS).requires_grad_()
    end = int(_tokens(raw, "end_word"))
    found = sft(
        logits,
        tokens,
        raw.mask("mask"),
        raw.mask("text.mask"),
        region=raw.word("region"),
        packing=raw.word("packing"),
        without=end if raw.word("end_token") == "out" else None,
        normaliser=raw.word("loss.normaliser"),
        microbatches=int(raw.number("microbatches")),
        mean_eps=raw.number("loss.mean_eps"),
        dft=raw.word("loss.dft") == "on",
    )
    counts = (found.labels != IGNORED).to(logits.dtype)
    parts = found.of_microbatches
    named = {
        LOGITS: logits,
        "label.id": found.labels,
        "label.counts": counts,
        "label.length": counts.sum(1),
        "label.total": counts.sum(),
        "policy.logprobs": found.logp,
        "loss.of_token": found.losses,
        "loss.of_text": found.of_texts,
        # The file has a column for each text: there may be as many microbatches.
        "microbatch.loss": pad(parts, (0, max(0, len(tokens) - len(parts)))),
        "total_loss": found.loss,
        "watch.logp": found.logp.sum(1),
        "nll": found.nll,
        "perplexity": found.perplexity,
        "token_accuracy": found.accuracy,
        "entropy": found.entropy,
        "watch.tokens_read": found.tokens_read,
    }
    moved = {"policy.logprobs": found.logp, LOGITS: logits} | leaves
    return {name: each.detach() for name, each in named.items()} | _slopes(raw, found.loss, moved)


def _tokens(raw: Raw, name: str) -> Tensor:
    """Returns the ids of typed tokens; 0 stands where none is."""
    found = ids(block(raw.file, name), block(raw.file, "vocabulary"), name)
    return torch.as_tensor(found).long().clamp(min=0).to(raw.device)


def _logits(weights: Named, read: Tensor) -> Tensor:
    """Returns the logits after each token read, [B, T, V]: h = tanh([x, h, 1]·W), logits = h·Y."""
    E, W, Y = (weights[name] for name in WEIGHTS)
    one = torch.ones_like(E[:1, :1]).expand(len(read), 1)
    memories = [one.new_zeros(len(read), W.shape[1])]
    for column in read.T:
        memories.append(torch.tanh(torch.cat([E[column], memories[-1], one], 1) @ W))
    return torch.stack(memories[1:], 1) @ Y


def _slopes(raw: Raw, loss: Tensor, by: Named) -> Named:
    """Returns ∂L/∂x for each x of which the file has a row of slopes."""
    shown = {name: each for name, each in by.items() if f"{name}.grad" in raw}
    if not shown or not loss.requires_grad:
        return {}
    found = torch.autograd.grad(loss, [*shown.values()], materialize_grads=True)
    return {f"{name}.grad": each for name, each in zip(shown, found, strict=True)}


PAGE = Page(results, dict.fromkeys(("label.id", "policy.logprobs", "policy.logprobs.grad"), "label.counts"))
