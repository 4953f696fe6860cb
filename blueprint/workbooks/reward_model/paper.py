"""How a file of a reward model is read for the page of libraries: typed texts, pairs, settings, and scores or weights."""

from __future__ import annotations

from torch.nn.functional import pad

from blueprint.papers.libraries.reward_model import RewardModel, reward_model
from blueprint.papers.models import Rnn, numbers
from blueprint.witness.raw import Named, Page, Raw, shown_slopes

WEIGHTS = tuple(f"reward_model.{part}" for part in ("E", "W", "head.w", "head.b"))
SCORES = "head.score"


def results(raw: Raw) -> Named:
    """Returns what the page says of a file, by the names of its blocks; of several optimiser steps the first one."""
    leaves = {name: raw.tensor(name).requires_grad_() for name in WEIGHTS if name in raw}
    found = raw.tokens("ranked.word" if leaves else "scored.word")
    text, tokens = found >= 0, found.clamp(min=0)
    head = numbers(_model(leaves), tokens) if leaves else raw.tensor(SCORES).requires_grad_()
    end = int(raw.tokens("text.end", blanks=False))
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
    return named | shown_slopes(raw, made.loss, {"reward_model.out" if leaves else SCORES: head} | leaves)


def _model(weights: Named) -> Rnn:
    E, W, w, b = weights.values()
    return Rnn(E, W, w=w, b=b)


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


PAGE = Page(results)
