"""How a file of DPO is read for the page of libraries: typed pairs and settings; and log-probs, logits, or two models' weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from blueprint.papers.libraries.dpo import Batch, Options, dpo, logprobs
from blueprint.papers.models import Rnn
from blueprint.papers.models import logits as logits_of
from blueprint.witness.raw import Named, Page, Raw, shown_slopes
from blueprint.witness.settings import Setting

PARTS = ("E", "W", "Y")
LOGITS, LOGP = "policy.logits", "policy.logprobs"


@dataclass(frozen=True)
class Start:
    """A batch in the order of the file's rows, and what the loss moves, by name."""

    batch: Batch
    moved: Named


def results(raw: Raw) -> Named:
    """Returns what the page says of a file, by the names of its blocks; of several optimiser steps the first one.

    Log-probs of tokens mean something where `response.tokens` is 1; KTO's numbers are there where its form is in use.
    """
    start, use, order, sides = _start(raw), options(raw.settings), _order(raw), ("chosen", "rejected")
    unasked = "mismatched.ratio" in raw and "reference.logprobs" not in raw
    back = order.argsort()
    made = dpo(Batch(*(each[order] for each in vars(start.batch).values())), use)
    of_sides = {
        "ratio": made.ratio.chunk(2),
        "logged": made.rewards,
    }
    named = {
        "response.tokens": start.batch.mask.to(raw.dtype),
        LOGP: start.batch.logp,
        "reference.as_policy" if unasked else "reference.logprobs": start.batch.logp_ref,
        "policy.curved": made.logp[back],
        "reference.logp": made.logp_ref[back],
        **{name: start.moved[name] for name in (LOGITS,) if name in start.moved},
        **{f"{side}.{what}": each for what, both in of_sides.items() for side, each in zip(sides, both, strict=True)},
        "margin": made.margin,
        "loss.weighed": made.losses,
        "loss.bco": made.bco_losses,
        "preference_loss": made.preference_loss,
        "nll": made.nll,
        "adds.nll": use.nll_coef * made.nll if use.nll_coef else torch.zeros_like(made.nll),
        "total_loss": made.loss,
        **{f"rewards.{side}": each for side, each in zip(sides, made.mean_rewards, strict=True)},
        "rewards.margins": made.mean_margin,
        "rewards.accuracies": made.accuracy,
        **{f"logps.{side}": each for side, each in zip(sides, made.mean_logp, strict=True)},
    }
    if use.form == "kto":
        named |= {"kto.z": made.kto_point}
    if use.form in ("kto", "apo_zero_unpaired"):
        named |= {f"loss.{use.form}": made.kto_losses[back]}
    return {name: each.detach() for name, each in named.items()} | shown_slopes(raw, made.loss, start.moved)


def options(settings: Mapping[str, Setting]) -> Options:
    """Returns the page's options of settings by key; a file without logits or prompts lacks some, and has what holds then."""

    def word(key: str, otherwise: str = "off") -> str:
        return str(settings.get(key, otherwise)).lower()

    def number(key: str, otherwise: float | None = None) -> float:
        return float(settings[key] if otherwise is None else settings.get(key, otherwise))

    return Options(
        form=word("loss.form"),
        beta=number("beta", 1.0),
        gamma=number("loss.gamma", 0.0),
        smoothing=number("loss.label_smoothing", 0.0),
        exo_eps=number("loss.exo_eps"),
        discopop_tau=number("loss.discopop_tau"),
        odds_one=number("loss.odds_one"),
        bco_threshold=word("loss.bco_threshold"),
        bco_mix=number("loss.bco_mix", 0.0),
        desirable=number("loss.desirable", 1.0),
        undesirable=number("loss.undesirable", 1.0),
        weight=word("loss.weight"),
        mean_eps=number("loss.mean_eps", 0.0),
        nll_coef=number("loss.nll_coef", 0.0),
        nll_mean=word("loss.nll_mean"),
        nll_region=word("loss.nll_region", "response"),
        logp=word("logp.of", "sum"),
        alpha=number("logp.alpha", inf),
        ld=word("logp.ld"),
        ld_from=word("logp.ld_from", "response"),
        ld_alpha=number("logp.ld_alpha", 1.0),
        reference=word("reference.used") == "on",
        divergence=word("margin.divergence"),
        logged=word("watch.rewards"),
    )


def _order(raw: Raw) -> Tensor:
    """Returns the rows of chosen responses, then those of rejected ones, each in the order of the pairs."""
    pairs = raw.tensor("pair.column")[:, None] == raw.tensor("pair.number")
    good = raw.mask("response.chosen")
    return torch.cat([(pairs & good).int().argmax(1), (pairs & ~good).int().argmax(1)])


def _start(raw: Raw) -> Start:
    """Reads a file of log-probs, of logits, or of texts and weights."""
    true = raw.tensor("true.reward")
    if "mismatched.ratio" in raw:
        logp, mask = raw.tensor(LOGP).requires_grad_(), raw.mask("mask")
        # Of a reference that nobody asked the policy's own numbers are taken, and held.
        ref = raw.tensor("reference.logprobs") if "reference.logprobs" in raw else logp.detach()
        return Start(Batch(logp, ref, mask, mask, logp.detach(), raw.tensor("mismatched.ratio"), true), {LOGP: logp})
    mask, text, written = _texts(raw)
    other, other_written = _mismatched(raw)
    moved = _weights(raw)
    logits = {
        name: _logits_of(raw, name, moved, each) for name, each in (("", written), ("mismatched.", other_written))
    }
    (policy, reference), (far, far_reference) = logits[""], logits["mismatched."]
    logp, log_square = logprobs(policy, written[:, 1:])
    elsewhere = logprobs(far, other_written[:, 1:])[0] - logprobs(far_reference, other_written[:, 1:])[0]
    batch = Batch(
        logp, logprobs(reference, written[:, 1:])[0], mask, text, log_square, elsewhere.where(other, 0).sum(1), true
    )
    return Start(batch, {LOGP: logp, LOGITS: policy} | {f"policy.{part}": each for part, each in moved.items()})


def _texts(raw: Raw) -> tuple[Tensor, Tensor, Tensor]:
    """Returns which tokens are response, which are there, and the ids of all, [2P, T], [2P, T] and [2P, T + 1]."""
    if "text.response" not in raw:
        return raw.mask("mask"), raw.mask("text.mask"), raw.tokens("word_written")
    given, response = raw.tokens("given"), raw.tokens("text.response")
    return response >= 0, (response >= 0) | (given[:, 1:] >= 0), _behind(given, response)


def _mismatched(raw: Raw) -> tuple[Tensor, Tensor]:
    """Returns the same of the mismatched responses: which tokens are response, and the ids of all; the first is not read."""
    if "text.response" not in raw:
        written = raw.tokens("mismatched.word_written")
        return raw.mask("mismatched.tokens"), torch.cat([written[:, :1], written], 1)
    response = raw.tokens("mismatched.response")
    return response >= 0, _behind(raw.tokens("given"), response)


def _behind(given: Tensor, response: Tensor) -> Tensor:
    """Returns the ids of prompt and response; 0 stands where neither is."""
    first, rest = given[:, :1], torch.maximum(given[:, 1:], response)
    return torch.cat([first, rest], 1).clamp(min=0)


def _weights(raw: Raw) -> Named:
    """Returns the policy's weights: the reference's, with so much of what is typed as the step says."""
    if LOGITS in raw and "reference.E" not in raw:
        return {}
    step = raw.tensor("update_step") if "update_step" in raw else None
    made = {}
    for part in PARTS:
        weight = raw.tensor(f"reference.{part}")
        made[part] = weight if step is None else weight + step * raw.tensor(f"policy.delta.{part}")
    return {part: each.requires_grad_() for part, each in made.items()}


def _logits_of(raw: Raw, texts: str, weights: Named, written: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the logits of the policy and of the reference on texts, typed or computed. texts: "", or "mismatched."."""
    if not weights:
        policy, reference = (raw.tensor(f"{texts}{model}.logits") for model in ("policy", "reference"))
        return policy.requires_grad_(), reference
    frozen = {part: raw.tensor(f"reference.{part}") for part in PARTS}
    read = written[:, :-1]
    return logits_of(Rnn(**weights), read), logits_of(Rnn(**frozen), read)


PAGE = Page(results, dict.fromkeys(("policy.logprobs", "reference.logprobs"), "response.tokens"))
