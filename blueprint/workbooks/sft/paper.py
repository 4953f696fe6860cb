"""How a file of fine-tuning is read for the page of libraries: typed texts, settings, and logits or the policy's weights."""

from __future__ import annotations

from torch.nn.functional import pad

from blueprint.papers.libraries.sft import IGNORED, sft
from blueprint.papers.models import Rnn, logits
from blueprint.witness.raw import Named, Page, Raw, shown_slopes

WEIGHTS = ("policy.E", "policy.W", "policy.Y")
LOGITS = "policy.logits"


def results(raw: Raw) -> Named:
    """Returns what the page says of a file, by the names of its blocks; of several optimiser steps the first one.

    Log-probs, and losses of tokens, mean something where `label.counts` is 1.
    """
    tokens = raw.tokens("word_written").clamp(min=0)
    leaves = {name: raw.tensor(name).requires_grad_() for name in WEIGHTS if name in raw}
    z = logits(Rnn(*leaves.values()), tokens[:, :-1]) if leaves else raw.tensor(LOGITS).requires_grad_()
    end = int(raw.tokens("end_word"))
    found = sft(
        z,
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
    counts = (found.labels != IGNORED).to(z.dtype)
    parts = found.of_microbatches
    named = {
        LOGITS: z,
        "label.id": found.labels,
        "label.counts": counts,
        "label.length": counts.sum(1),
        "label.total": counts.sum(),
        "policy.logprobs": found.logp,
        "loss.of_token": found.losses,
        "loss.of_text": found.of_texts,
        # The file has a column for each text: there may be as many microbatches, and who types more is told so on Checks.
        "microbatch.loss": pad(parts, (0, max(0, len(tokens) - len(parts))))[: len(tokens)],
        "total_loss": found.loss,
        "watch.logp": found.logp.sum(1),
        "nll": found.nll,
        "perplexity": found.perplexity,
        "token_accuracy": found.accuracy,
        "entropy": found.entropy,
        "watch.tokens_read": found.tokens_read,
    }
    moved = {"policy.logprobs": found.logp, LOGITS: z} | leaves
    return {name: each.detach() for name, each in named.items()} | shown_slopes(raw, found.loss, moved)


PAGE = Page(results, dict.fromkeys(("label.id", "policy.logprobs", "policy.logprobs.grad"), "label.counts"))
