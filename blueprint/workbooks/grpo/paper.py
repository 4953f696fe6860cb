"""A file of GRPO and its family, read for the page `papers.libraries.grpo`: its typed numbers and settings, and the named results.

The file begins at log-probs, at logits, or at weights and draws; then the small policy writes, and rules or a model score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import inf, isinf
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from blueprint.papers.libraries.critic_free_advantages import Credit, Group, Shaping
from blueprint.papers.libraries.critic_free_losses import Kl, Means, Objective, Ratio, Rollout
from blueprint.papers.libraries.grpo import Batch, Conventions, CriticFree, entropies, grpo, log_probs, metrics
from blueprint.papers.models import Optimiser, Rnn, continued, logits, numbers, resume, take_step
from blueprint.witness.raw import Named, Page, Raw
from blueprint.witness.settings import Setting

TABLES: dict[str, tuple[type, tuple[str, ...]]] = {
    "shaping": (Shaping, ("reward",)), "kl": (Kl, ("kl",)), "group": (Group, ("group",)), "credit": (Credit, ("advantage",)),
    "ratio": (Ratio, ("ratio",)), "objective": (Objective, ("loss", "vespo")), "rollout": (Rollout, ("rollout",)),
    "means": (Means, ("loss",)),
}  # fmt: skip
"""By the stage of the page its class of options, and the tables of settings that say them."""
LOWEST = ("reward.clip_low", "rollout.low", "rollout.reject_low", "loss.entropy_least")
"""Limits from below that are off at −∞; in a file every limit that is off is ∞."""
NONE = ("reward.truncated",)
RESPONSE, WEIGHTS = "rollout.response", ("policy.E", "policy.W", "policy.Y")


def conventions(settings: Mapping[str, Setting]) -> Conventions:
    """Returns the page's options of settings by key; what a file does not have stays as by default, where nothing is done."""
    stages = {stage: _stage(of, tables, settings) for stage, (of, tables) in TABLES.items()}
    return Conventions(of=str(settings["group.of"]).lower(), **stages)


def _stage(of: Any, tables: tuple[str, ...], settings: Mapping[str, Setting]) -> Any:
    keys = {
        each.name: key
        for each in fields(of)
        for key in ("gamma" if each.name == "gamma" else f"{table}.{each.name}" for table in tables)
        if key in settings
    }
    return of(**{name: _said(key, settings[key]) for name, key in keys.items()})


def _said(key: str, found: Setting) -> float | str | None:
    if isinstance(found, str):
        return found.lower()
    if isinf(found) and key in NONE:
        return None
    return -inf if isinf(found) and key in LOWEST else float(found)


@dataclass(frozen=True)
class Start:
    """What a file begins with: the batch, what moves the policy, by name, rows that only such files have, and tokens read."""

    batch: Batch
    moved: Named
    rows: Named
    read: Tensor | None = None


def results(raw: Raw) -> Named:
    """Returns the named results of a file, in its shapes, and the gradient of the total by whatever moves the policy."""
    start = begun(raw)
    how, order = conventions(raw.settings), groups(raw)
    named = start.rows | _step(start, how, order)
    if "optimiser.lr" in raw:
        named |= _trained(raw, start, how, order)
    return {name: each.detach() for name, each in named.items()}


def _step(start: Start, how: Conventions, order: Tensor) -> Named:
    """Returns what a step comes to, and its slopes."""
    found = grpo(start.batch, how)
    slopes = torch.autograd.grad(
        found.total, [*start.moved.values()], allow_unused=True, materialize_grads=True, retain_graph=True
    )
    named = of_steps(found, how, order) | watched(start.batch, found, how, order)
    return named | {f"{name}.grad": slope for name, slope in zip(start.moved, slopes, strict=True)}


def _trained(raw: Raw, start: Start, how: Conventions, order: Tensor) -> Named:
    """Returns what every step of the optimiser comes to, the first one apart, and the weights after each."""
    weights = {name: each.detach().clone().requires_grad_() for name, each in start.moved.items() if name in WEIGHTS}
    rate = {name: float(raw.tensor(f"optimiser.{name}")) for name in ("lr", "beta1", "beta2", "eps", "weight_decay")}
    rows, kind = dict[str, Tensor](), raw.words("optimiser.by")[0]
    optimiser = Optimiser(kind, rate["lr"], (rate["beta1"], rate["beta2"]), rate["eps"], rate["weight_decay"]).of(
        [*weights.values()]
    )
    for name, weight in weights.items() if "optimiser.steps" in raw else ():
        mean, square = (raw.tensor(f"optimiser.kept.{letter}.{name}") for letter in "mv")
        resume(optimiser, weight, int(raw.tensor("optimiser.steps")), mean, square)
    for number in raw.ids("epochs.number").tolist():
        here = moved_to(start, weights)
        if number > 1:  # what does not hang on the policy stands once
            named = {f"epoch{number}.{name}": each for name, each in _step(here, how, order).items()}
            rows |= {name: each.detach().clone() for name, each in named.items() if name in raw}
        norm = take_step(optimiser, grpo(here.batch, how).total, float(raw.tensor("optimiser.max_norm")))
        rows |= {f"update{number}.norm": norm}
        rows |= {f"update{number}.{name}": weight.detach().clone() for name, weight in weights.items()}
    return rows


def begun(raw: Raw) -> Start:
    """Returns what is known before the steps."""
    return at_weights(raw) if "old.W" in raw else at_logits(raw) if "policy.logits" in raw else at_log_probs(raw)


# --- Where a file begins


def groups(raw: Raw) -> Tensor:
    """Returns the number of the response, from 0, in each place of a group, [Q, G]."""
    column = raw.ids("response.number").argsort()
    return column[raw.ids("group.response") - 1]


def batch_of(raw: Raw, said: Named, scores: Tensor, truncated: Tensor, mask: Tensor) -> Batch:
    """Puts a batch together; said: log-probs by model, and entropies."""
    order, greedy = groups(raw), raw.tensor("greedy")
    group = torch.empty_like(scores, dtype=torch.long)
    group[order] = torch.arange(len(order), device=raw.device)[:, None].expand_as(order)
    return Batch(
        scores, group, greedy[group], truncated, mask, said["policy.logprobs"], said["old.logprobs"],
        said["reference.logprobs"], said["engine.logprobs"], said["policy.entropy"],
    )  # fmt: skip


def at_log_probs(raw: Raw) -> Start:
    """Reads log-probs; in place of a model that was not asked stands another."""
    moved = {name: raw.tensor(name).requires_grad_() for name in ("policy.logprobs", "policy.entropy") if name in raw}
    said = {"policy.entropy": torch.zeros_like(moved["policy.logprobs"]), **moved}
    for name, other in (("old", "policy"), ("reference", "policy"), ("engine", "old")):
        key = f"{name}.logprobs"
        said[key] = raw.tensor(key) if key in raw else said[f"{other}.logprobs"].detach()
    return Start(batch_of(raw, said, raw.tensor("score"), raw.mask("truncated"), raw.mask("mask")), moved, {})


def at_logits(raw: Raw) -> Start:
    """Reads logits, and the tokens that were written."""
    z = {name: raw.tensor(f"{name}.logits") for name in ("engine", "policy", "reference", "old")}
    said = spoken({**z, "policy": z["policy"].requires_grad_()}, raw.tokens("word_written"))
    batch = batch_of(raw, said, raw.tensor("score"), raw.mask("truncated"), raw.mask("mask"))
    moved = {"policy.logits": z["policy"], **{name: said[name] for name in ("policy.logprobs", "policy.entropy")}}
    return Start(batch, moved, {name: each.where(batch.mask, 0) for name, each in said.items()})


def spoken(z: Named, tokens: Tensor) -> Named:
    """Returns what models say of the tokens written, by the names of blocks, and the entropy of the policy."""
    said = {f"{name}.logprobs": log_probs(each, tokens) for name, each in z.items()}
    return said | {"policy.entropy": entropies(z["policy"])}


# --- Files that begin at weights


def at_weights(raw: Raw) -> Start:
    """Lets the old policy write, has the others read, and scores the responses."""
    old, reference, delta = (_weights(raw, name, "EWY") for name in ("old", "reference", "policy.delta"))
    step = raw.number("update_step") if delta else 0.0
    policy = {name: (old[name] + step * delta.get(name, torch.zeros(()))).requires_grad_() for name in old}
    text, mask = written(raw, Rnn(**old))
    read, tokens = text[:, :-1], text[:, 1:]
    models = {"old": old, "reference": reference, "policy": policy}
    z = {name: logits(Rnn(**of), read) for name, of in models.items()}
    said = spoken(z, tokens)
    said["engine.logprobs"] = said["old.logprobs"] + raw.tensor("engine.off")
    truncated = ~((tokens == 0) & mask).any(1)
    rows = scored(raw, text, mask, truncated)
    shown = {name: each.where(mask, 0) for name, each in said.items()}
    moved = {f"policy.{name}": each for name, each in policy.items()} | {"policy.logits": z["policy"]}
    moved |= {name: said[name] for name in ("policy.logprobs", "policy.entropy")}
    rows |= shown | {f"{name}.logits": each for name, each in z.items()}
    rows |= {"rollout.written": text.to(raw.dtype), "mask": pad(mask, (1, 1)).to(raw.dtype)}
    rows |= {"truncated": truncated.to(raw.dtype)}
    return Start(batch_of(raw, said, rows["score"], truncated, mask), moved, rows, text)


def moved_to(start: Start, weights: Named) -> Start:
    """Returns the same batch as another policy reads it. weights: by name, `policy.E`."""
    assert start.read is not None
    z = logits(Rnn(*weights.values()), start.read[:, :-1])
    logp, entropy = log_probs(z, start.read[:, 1:]), entropies(z)
    batch = replace(start.batch, new=logp, entropy=entropy)
    return Start(batch, weights | {"policy.logits": z, "policy.logprobs": logp, "policy.entropy": entropy}, {})


def _weights(raw: Raw, name: str, keys: str) -> Named:
    return {key: raw.tensor(f"{name}.{key}") for key in keys if f"{name}.{key}" in raw}


def written(raw: Raw, policy: Rnn) -> tuple[Tensor, Tensor]:
    """Returns the text, a prompt and what the policy writes behind it, [B, 1 + T], and where the response stands, [B, T]."""
    # A column more, since the last one of `continued` writes nothing.
    given, draws = pad(raw.tokens("given"), (0, 1), value=-1), pad(raw.tensor("rollout.draw"), (0, 1))
    typed = pad(raw.tokens(RESPONSE), (0, 1), value=-1) if RESPONSE in raw else None
    text, response = continued(policy, given, draws, int(raw.tensor("max_new_tokens")), typed=typed)
    return text[:, :-1], response[:, 1:-1]


def scored(raw: Raw, text: Tensor, mask: Tensor, truncated: Tensor) -> Named:
    """Returns the score of each response: by the rules, as typed, or by the reward model, from the whole text."""
    way = raw.word("reward.from")
    if way == "typed":
        return {"score": raw.tensor("score.typed")}
    if way == "model":
        E, W, w, b = (raw.tensor(f"reward_model.{part}") for part in ("E", "W", "head.w", "head.b"))
        out = numbers(Rnn(E, W, w=w, b=b), text)
        last = 1 + (mask * torch.arange(mask.shape[1], device=raw.device)).argmax(1)
        return {"score": out.gather(1, last[:, None])[:, 0]}
    right = torch.zeros(len(text), dtype=torch.bool, device=raw.device)
    for members, wanted in zip(groups(raw).tolist(), raw.tokens("answer").tolist(), strict=True):
        for number in members:
            response = text[number, 1:][mask[number]].tolist()
            at_end = response[-2:] == [wanted, 0]
            right[number] = at_end if raw.word("reward.answer") == "at_end" else wanted in response
    beyond = (mask.sum(1).to(raw.dtype) - raw.number("reward.free_tokens")).clamp(min=0)
    earned = raw.number("reward.right") * right.to(raw.dtype) + raw.number("reward.form") * (~truncated).to(raw.dtype)
    return {"score": earned - raw.number("reward.token_cost") * beyond}


# --- What a file calls the results


def of_steps(found: CriticFree, how: Conventions, order: Tensor) -> Named:
    """Returns the steps to the loss; what is of a group stands in its shape, [Q, G]."""
    compared, A = found.compared, found.advantages
    made = {
        "reward.shaped": found.shaped, "reward": found.rewards, "kl_old.used": found.kl_old, "group.reward": found.rewards[order],
        "group.baseline_used": compared.baseline[order], "group.spread_used": compared.deviation[order],
        "group.advantage": compared.advantages[order], "group.left": compared.left[order], "advantages": A,
        "log_ratio.free": found.free, "log_ratio": found.log_ratio if how.ratio.level == "token" else found.free,
        "ratio": found.ratio, "policy.token_loss": found.token_losses, "rollout.counts": found.weights,
        "loss.counted": found.counted, "keep": found.kept, "policy.counts": found.weighted, "kl_new.counts": found.kl,
        "policy_loss": found.policy_loss, "kl_loss": found.kl_loss,
        "adds.kl_loss": found.adds_kl, "entropy": found.entropy, "adds.entropy": found.adds_entropy, "total_loss": found.total,
    }  # fmt: skip
    return {name: each.to(found.total.dtype) for name, each in made.items()}


def watched(batch: Batch, found: CriticFree, how: Conventions, order: Tensor) -> Named:
    """Returns the metrics."""
    seen, r, log_ratio = metrics(batch, found, how), found.rewards[order], found.free
    if how.ratio.level == "token":
        log_ratio = found.log_ratio
    return {
        "mean.score": batch.scores.mean(), "mean.reward": r.mean(),
        "response.mean_length": batch.mask.sum(1).to(r.dtype).mean(), "mean.advantage": seen.mean_advantage,
        "mean.ratio": seen.mean_ratio, "mean.ratio_clipped": seen.mean_clipped, "approx_kl.k1": -log_ratio[batch.mask].mean(),
        "kl.mean_new": seen.mean_kl, "rollout.mean_kl": seen.engine_kl, "clip.fraction_low": seen.low,
        "clip.fraction_high": seen.high, "clip.fraction": seen.low + seen.high, "clip.mean_of_responses": seen.of_responses,
        "clip.fraction_dual": seen.dual, "group.share_same": (r == r[:, :1]).all(1).to(r.dtype).mean(),
    }  # fmt: skip


OF_TOKENS = (
    "advantages", "log_ratio.free", "log_ratio", "ratio", "policy.token_loss", "rollout.counts", "loss.counted", "keep",
    "policy.counts", "kl_new.counts", "kl_old.used",
)  # fmt: skip
"""Results that say something where the mask is 1."""
PAGE = Page(results, dict.fromkeys(OF_TOKENS, "mask"))
