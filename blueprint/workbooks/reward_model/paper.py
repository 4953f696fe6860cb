"""How a file of a reward model is read for the page of libraries: typed texts, pairs, settings, and scores or weights."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from blueprint.papers.libraries.reward_model import RewardModel, reward_model
from blueprint.witness.raw import Named, Page, Raw
from blueprint.witness.settings import block, ids

WEIGHTS = tuple(f"reward_model.{part}" for part in ("E", "W", "head.w", "head.b"))
SCORES = "head.score"


def results(raw: Raw) -> Named:
    """Returns what the page says of a file, by the names of its blocks; of several optimiser steps the first one."""
    leaves = {name: raw.tensor(name).requires_grad_() for name in WEIGHTS if name in raw}
    words = "ranked.word" if leaves else "scored.word"
    found = torch.as_tensor(ids(block(raw.file, words), block(raw.file, "vocabulary"), words)).long().to(raw.device)
    text, tokens = found >= 0, found.clamp(min=0)
    head = _head(leaves, tokens) if leaves else raw.tensor(SCORES).requires_grad_()
    end = int(ids(block(raw.file, "text.end"), block(raw.file, "vocabulary"), "text.end", blanks=False))
    made = reward_model(
        head,
        tokens,
        text,
        text & (tokens == end),
        raw.ids("chosen.number") - 1,
        raw.ids("rejected.number") - 1,
        raw.ids("pair.ranking"),
        raw.mask("pair.counts"),
        raw.tensor("pair.margin"),
        score=raw.word("score.read"),
        subtract=raw.number("score.subtract"),
        divide=raw.number("score.divide"),
        form=raw.word("loss.form"),
        use_margin=raw.word("loss.margin") == "typed",
        over=raw.word("loss.average"),
        mean_eps=raw.number("loss.mean_eps"),
        center=raw.number("center"),
        l2=raw.number("l2"),
    )
    # The file has a column more, of zeros, behind the last token.
    out = {"reward_model.out": pad(head, (0, 1))} if leaves else {}
    named = {name: each.detach() for name, each in (out | _named(made)).items()}
    return named | _slopes(raw, made.loss, {"reward_model.out" if leaves else SCORES: head} | leaves)


def _named(made: RewardModel) -> Named:
    """Returns the results by the names of blocks."""
    return {
        "score": made.scores,
        "score.used": made.used,
        "chosen.score": made.chosen,
        "rejected.score": made.rejected,
        "difference": made.difference,
        "probability": made.probability,
        "loss.pair": made.losses,
        "preference_loss": made.preference_loss,
        "adds.center": made.centering_loss,
        "adds.l2": made.l2_loss,
        "total_loss": made.loss,
        "accuracy": made.accuracy,
        "rewards.chosen": made.mean_chosen,
        "rewards.rejected": made.mean_rejected,
        "rewards.margins": made.margin,
        "rewards.mean": (made.mean_chosen + made.mean_rejected) / 2,
        "rewards.max": made.highest,
        "rewards.min": made.lowest,
    }


def _head(weights: Named, read: Tensor) -> Tensor:
    """Returns the score after each token read, [N, T]: m = tanh([x, m, 1]·W), score = m·w + b."""
    E, W, w, b = (weights[name] for name in WEIGHTS)
    one = torch.ones_like(E[:1, :1]).expand(len(read), 1)
    memory, scores = one.new_zeros(len(read), W.shape[1]), []
    for column in read.T:
        memory = torch.tanh(torch.cat([E[column], memory, one], 1) @ W)
        scores.append(memory @ w + b)
    return torch.stack(scores, 1)


def _slopes(raw: Raw, loss: Tensor, by: Named) -> Named:
    """Returns ∂L/∂x for each x of which the file has a row of slopes."""
    shown = {name: each for name, each in by.items() if f"{name}.grad" in raw}
    if not shown or not loss.requires_grad:
        return {}
    found = torch.autograd.grad(loss, [*shown.values()], materialize_grads=True)
    return {f"{name}.grad": each for name, each in zip(shown, found, strict=True)}


PAGE = Page(results)
