"""A file of RLHF PPO for the pages of `papers`: from weights and draws, from logits and values, or from log-probs by token."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from blueprint.papers import metrics, models
from blueprint.papers.libraries.ppo import (
    Experience,
    Loss,
    Rollout,
    Update,
    estimate,
    experience,
    gae,
    last_of,
    loss,
    moments,
    tokens,
    whitened,
)
from blueprint.papers.models import Distribution, Optimiser, Rnn, distribution
from blueprint.witness.ppo_pages import (
    COUNTED,
    apart,
    experience_rows,
    loss_rows,
    metric_rows,
    number,
    options_of,
    temperature_of,
    token_rows,
    with_end,
)
from blueprint.witness.raw import Named, Page, Raw
from blueprint.witness.settings import WitnessError
from blueprint.witness.settings import ids as ids_of
from blueprint.workbooks.rlhf_ppo.minibatch import paper as minibatch

PARTS = ("E", "W", "Y", "head.w", "head.b")
LEARNT = {"policy": ("E", "W", "Y"), "critic": ("E", "W", "head.w", "head.b")}
WEIGHTS = {f"{name}.{part}" for name, parts in LEARNT.items() for part in parts}


@dataclass(frozen=True)
class Texts:
    """The tokens [B, T] of every position, where they are response and where they may be, and whether the end was written.

    read: the tokens that the models read, where there are models.
    """

    written: Tensor
    mask: Tensor
    slots: Tensor
    ended: Tensor
    read: Tensor | None = None


@dataclass(frozen=True)
class Before:
    """What stands before the update: texts, what old policy and reference say of them, old values, and scores."""

    texts: Texts
    old: Distribution
    ref: Distribution
    values: Tensor
    scores: Tensor


def results(raw: Raw) -> Named:
    """Returns the named results of a file."""
    if "episode.number" in raw:
        return minibatch.results(raw)
    if "old.W" not in raw and "old.logits" not in raw:
        return _by_token(raw)
    before = _written(raw) if "old.W" in raw else _given(raw)
    rollout, seen = _rollout(raw, before), _shown(before)
    gained = experience(rollout, options_of(raw))
    weights = _new_weights(raw) if "old.W" in raw else {}
    found = seen | experience_rows(rollout, gained) | _trained(raw, before, gained, weights)
    found |= {"response.words": rollout.mask.sum().to(rollout.logp.dtype)}
    if "score.placed" not in raw:
        found["reward.score"] = gained.placed
    found = _means(raw, found, rollout, gained) | found
    return {name: each.detach() for name, each in found.items() if name in raw}


def _means(raw: Raw, found: Named, rollout: Rollout, gained: Experience) -> Named:
    """Returns the means over the response of which the file shows one, and that of the advantages as whitening takes it.

    With minibatches they are those of the first one.
    """
    names = [name.removeprefix("mean.") for name in raw.file if name.startswith("mean.")]
    of = next(_steps(raw))[1] if "optimiser.lr" in raw else None
    mask, slots, response = (_within(each, of) for each in (rollout.mask, rollout.slots, gained.response))
    if not _whitens_anew(raw):
        slots, response = rollout.slots, gained.response
    means = {f"mean.{name}": metrics.mean(found[name][:, : mask.shape[1]], mask) for name in names if name in found}
    how = options_of(raw).whitening
    return means | {"advantage.mean": moments(gained.advantages, slots if how.over_pads else response, how)[0]}


def _within(places: Tensor, of: Tensor | None) -> Tensor:
    """Returns places of the responses of a minibatch alone."""
    return places if of is None else places & of[:, None]


def _words(raw: Raw, name: str) -> Tensor:
    """Returns the id of every token of a block, −1 where a cell is blank."""
    found = ids_of(np.asarray(raw.file[name], dtype=object), raw.file["vocabulary"], name)
    return torch.as_tensor(np.asarray(found, dtype=np.int64), device=raw.device)


def _rnn(raw: Raw, name: str) -> Rnn:
    """Returns a model of typed weights."""
    return _model({each: raw.tensor(each) for part in PARTS if (each := f"{name}.{part}") in raw}, name)


def _model(weights: Named, name: str) -> Rnn:
    E, W, *top = (weights.get(f"{name}.{part}") for part in PARTS)
    assert E is not None
    assert W is not None
    return Rnn(E, W, *top)


def _written(raw: Raw) -> Before:
    """Lets the old policy write, and the other models read."""
    old, prompt, most = _rnn(raw, "old"), _words(raw, "given"), int(raw.tensor("max_new_tokens"))
    typed = _words(raw, "rollout.response") if "rollout.response" in raw else None
    text, response = models.continued(
        old, prompt, raw.tensor("rollout.draw"), most, temperature=temperature_of(raw), typed=typed
    )
    read, written, mask = text[:, :-1], text[:, 1:], response[:, 1:]
    free = prompt[:, 1:] < 0
    writable = free & (free.cumsum(1) <= most)
    writable[:, -1] = False  # the last column writes nothing
    slots = writable if "presets.names" in raw else mask
    ended = (mask & (written == 0)).any(1)
    scored = models.numbers(_rnn(raw, "reward_model"), read)
    behind = (last_of(mask, slots) + 1).clamp(
        max=mask.shape[1] - 1
    )  # a prompt may leave no room: nothing is scored then
    score = scored.gather(1, behind).squeeze(1).where(mask.any(1), 0)  # the number after the last token is read
    said, ref = (
        distribution(models.logits(each, read), written, temperature_of(raw)) for each in (old, _rnn(raw, "reference"))
    )
    texts = Texts(written, mask, slots, ended, read)
    return Before(texts, said, ref, models.numbers(_rnn(raw, "old_critic"), read), score)


def _given(raw: Raw) -> Before:
    """Reads texts, logits, values and scores."""
    written, mask = _words(raw, "word_written"), raw.mask("mask")
    ended = (mask & (written == _words(raw, "end_word"))).any(1)
    texts = Texts(written, mask, torch.ones_like(mask), ended)
    old, ref = (
        distribution(raw.tensor(f"{name}.logits"), written, temperature_of(raw)) for name in ("old", "reference")
    )
    return Before(texts, old, ref, raw.tensor("old_critic.out"), raw.tensor("reward_model.score"))


def _rollout(raw: Raw, before: Before) -> Rollout:
    texts, old, ref = before.texts, before.old, before.ref
    return Rollout(
        texts.mask, texts.slots, texts.ended, before.scores, old.logp, ref.logp, before.values, models.kl(old, ref)
    )


def _shown(before: Before) -> Named:
    """Returns what the models say, by the names of blocks."""
    slots, mask = before.texts.slots, before.texts.mask.to(before.values.dtype)
    edges = (1, 1) if before.texts.read is not None else (0, 0)
    return {
        "mask": torch.nn.functional.pad(mask, edges),
        "response.length": mask.sum(1),
        "old.logprobs": before.old.logp.where(slots, 0),
        "reference.logprobs": before.ref.logp.where(slots, 0),
        "kl.exact": models.kl(before.old, before.ref).where(slots, 0),
        "old_critic.values": with_end(before.values.where(slots, 0)),
    }


def _new_weights(raw: Raw) -> Named:
    """Returns the weights of the new policy and critic: the old ones, and a typed change if there is one."""
    found: Named = {}
    for name, parts in LEARNT.items():
        start = {"policy": "old", "critic": "old_critic"}[name]
        for part in parts:
            found[f"{name}.{part}"] = raw.tensor(f"{start}.{part}")
            if f"{name}.delta.{part}" in raw:
                found[f"{name}.{part}"] += number(raw, "update_step") * raw.tensor(f"{name}.delta.{part}")
    return {name: each.requires_grad_() for name, each in found.items()}


def _step(raw: Raw, before: Before, gained: Experience, weights: Named, of: Tensor | None = None) -> tuple[Loss, Named]:
    """Returns the loss of new weights, or of typed logits and values; and by name its steps, what is logged, and its slopes.

    of: [B], the responses of a minibatch.
    """
    read, slots, rollout, use = before.texts.read, before.texts.slots, _rollout(raw, before), options_of(raw)
    if read is None:
        logits, out = raw.tensor("policy.logits").requires_grad_(), raw.tensor("critic.out").requires_grad_()
    else:
        logits, out = models.logits(_model(weights, "policy"), read), models.numbers(_model(weights, "critic"), read)
    new = distribution(logits, before.texts.written, temperature_of(raw))
    update = Update(new.logp, out, new.entropy, models.kl(new, before.ref), models.kl(before.old, new))
    found = loss(rollout, gained, update, use, of)
    shown = {
        "policy.logprobs": new.logp.where(slots, 0),
        "policy.entropy": new.entropy.where(slots, 0),
        "policy_kl.exact": update.policy_kl.where(slots, 0),
        "kl_new.exact": update.exact_kl.where(slots, 0),
        "critic.values": with_end(out.where(slots, 0)),
    }
    critic_coef = 1.0 if apart(raw) else number(raw, "vf_coef")
    by = weights | {
        "policy.logits": logits,
        "policy.logprobs": new.logp,
        "policy.entropy": new.entropy,
        "critic.out": out,
    }
    rows = (
        shown
        | token_rows(rollout, found)
        | loss_rows(use, found, critic_coef)
        | metric_rows(raw, rollout, gained, update, found, of)
    )
    if of is not None:  # token by token a step shows all responses, and learns from its own
        every = token_rows(rollout, tokens(rollout, gained, update, use))
        rows |= {name: each for name, each in every.items() if name != "loss.counted"}
    return found, rows | weights | _slopes(raw, found, by)


def _slopes(raw: Raw, found: Loss, by: Named) -> Named:
    """Returns the slope of what the optimisers make smaller, by the names of blocks."""
    minimised = found.total + found.value_loss if apart(raw) else found.total
    of = torch.autograd.grad(minimised, list(by.values()), allow_unused=True, materialize_grads=True, retain_graph=True)
    slopes = {f"{name}.grad": slope for name, slope in zip(by, of, strict=True)}
    of_weights = {name: each for name, each in slopes.items() if name.removesuffix(".grad") in WEIGHTS}
    for norm, model in (("policy", "policy."), ("critic", "critic."), ("loss", "")):
        parts = [each for name, each in of_weights.items() if name.startswith(model)]
        slopes |= {f"{norm}.grad.norm": metrics.grad_norm(parts)} if parts else {}
    return slopes | {"critic.values.grad": slopes["critic.out.grad"]}


def _trained(raw: Raw, before: Before, gained: Experience, weights: Named) -> Named:
    """Returns every step of the optimisers on the rollout, if the file has one; otherwise the one loss."""
    if "optimiser.lr" not in raw:
        return _step(raw, before, gained, weights)[1]
    optimisers, rows = _optimisers(raw, weights), dict[str, Tensor]()
    side_by_side: list[Named] = []
    for number_of, of in _steps(raw):
        used = gained
        if of is not None and _whitens_anew(raw):  # over the minibatch
            slots, response = _within(before.texts.slots, of), _within(gained.response, of)
            used = replace(gained, used=whitened(gained.advantages, slots, response, options_of(raw)))
        found, seen = _step(raw, before, used, weights, of)
        seen |= {"advantages_used": used.used, "mean.ratio": metrics.mean(found.ratio, _within(before.texts.mask, of))}
        shown = {name: each.detach().clone() for name, each in seen.items()}
        rows |= {f"epoch{number_of}.{name}" if side_by_side else name: each for name, each in shown.items()}
        moved = _moved(raw, found, optimisers)
        moved |= {f"gradient.{name}": each.grad.clone() for name, each in weights.items() if each.grad is not None}
        after = {name: each.detach().clone() for name, each in weights.items()}
        rows |= {f"update{number_of}.{name}": each for name, each in (moved | after).items()}
        side_by_side.append(shown | moved)
    for name in (name.removeprefix("epochs.") for name in raw.file if name.startswith("epochs.")):
        if name in side_by_side[0]:
            rows[f"epochs.{name}"] = torch.stack([each[name] for each in side_by_side])
    return rows


def _whitens_anew(raw: Raw) -> bool:
    return any(name.startswith("epoch") and name.endswith(".advantage.mean") for name in raw.file)


def _steps(raw: Raw) -> Iterator[tuple[str, Tensor | None]]:
    """Yields the number of each step, 2 or with minibatches 2.1, and the responses that it learns from."""
    epochs, pieces = (raw.ids(f"epochs.number.{each}").tolist() for each in ("epoch", "minibatch"))
    for epoch, piece in zip(epochs, pieces, strict=True):
        if f"minibatch.place{epoch}" in raw:
            place, size = raw.ids(f"minibatch.place{epoch}"), int(raw.tensor("minibatch.size"))
            yield f"{epoch}.{piece}", (place > (piece - 1) * size) & (place <= piece * size)
        else:
            yield str(epoch), None


def _optimisers(raw: Raw, weights: Named) -> list[torch.optim.Optimizer]:
    """Returns the optimiser of all weights, or one of the policy and one of the critic."""
    rate = {
        name: float(raw.tensor(f"optimiser.{name}"))
        for name in ("lr", "critic_lr", "beta1", "beta2", "eps", "weight_decay")
        if f"optimiser.{name}" in raw
    }
    kind, betas = raw.words("optimiser.by")[0], (rate["beta1"], rate["beta2"])
    groups = {"lr": [each for name, each in weights.items() if not (apart(raw) and name.startswith("critic."))]}
    if apart(raw):
        groups["critic_lr"] = [each for name, each in weights.items() if name.startswith("critic.")]
    made = [
        Optimiser(kind, rate[name], betas, rate["eps"], rate["weight_decay"]).of(group)
        for name, group in groups.items()
    ]
    for optimiser, group in zip(made, groups.values(), strict=True) if "optimiser.steps" in raw else ():
        for name in (name for name, weight in weights.items() if any(weight is each for each in group)):
            mean, square = (raw.tensor(f"optimiser.kept.{letter}.{name}") for letter in "mv")
            models.resume(optimiser, weights[name], int(raw.tensor("optimiser.steps")), mean, square)
    return made


def _moved(raw: Raw, found: Loss, optimisers: list[torch.optim.Optimizer]) -> Named:
    """Takes a step, and returns the norms of the gradients before they were clipped."""
    most = float(raw.tensor("optimiser.max_norm"))
    if not apart(raw):
        norm = models.take_step(optimisers[0], found.total, most)
        return {"norm": norm, "norm.policy": norm, "norm.critic": norm}
    policy = models.take_step(optimisers[0], found.total, most)
    critic = models.take_step(optimisers[1], found.value_loss, float(raw.tensor("optimiser.critic_max_norm")))
    return {"norm.policy": policy, "norm.critic": critic}


def _refuse_holes(mask: Tensor) -> None:
    """Refuses a response that goes on after a gap, such as a tool's turn: a workbook has no rows for it."""
    for episode, row in enumerate(mask.int(), start=1):
        places = row.nonzero().flatten().tolist()
        if places and len(places) <= places[-1] - places[0]:
            gap = next(place for place in range(places[0], places[-1]) if not row[place])
            raise WitnessError(
                f"the mask of episode {episode} has a hole at position {gap + 1}: a workbook has no rows for holes yet;"
                " write 1 from the first response token to the last"
            )


def _by_token(raw: Raw) -> Named:
    """Returns what becomes of log-probs, a score for each token, and values; there is no update, but the clip on typed cases."""
    mask, use, typed = raw.mask("mask"), options_of(raw), raw.tensor("old_critic.values")
    _refuse_holes(mask)
    log_ratio = raw.tensor("old.logprobs") - raw.tensor("reference.logprobs")
    kl = estimate(log_ratio, torch.zeros_like(log_ratio), use.reward_kl)
    penalty = -use.reward_kl.coef * kl if use.reward_kl.coef else torch.zeros_like(kl)
    rewards, values = penalty + raw.tensor("reward.score"), typed[:, :-1].where(mask, 0)
    # A value behind the last column stands for what would have come: one column more, whose advantage is 0.
    deltas, advantages = (
        each[:, :-1]
        for each in gae(
            torch.cat([rewards.where(mask, 0), typed[:, -1:]], 1), torch.cat([values, typed[:, -1:]], 1),
            torch.cat([mask, mask[:, -1:]], 1), use.gamma, use.lam,
        )
    )  # fmt: skip
    advantages = advantages.where(mask, 0)
    used = whitened(advantages, mask, mask, use)
    found = {
        "kl.used": kl,
        "reward.penalty": penalty,
        "rewards": rewards,
        "td_errors": deltas,
        "advantages": with_end(advantages),
        "returns": advantages + values,
        "advantages_used": used,
    }
    means = found | {"reward.score": raw.tensor("reward.score"), "advantages": advantages}
    means = {name: each for name, each in means.items() if f"mean.{name}" in raw}
    found |= {f"mean.{name}": each[mask].mean() for name, each in means.items()}
    if "case.ratio" in raw:
        ratio, gain = raw.tensor("case.ratio"), raw.tensor("case.advantage")
        clipped = ratio.clamp(max(0.0, 1 - use.clip_low), 1 + use.clip_high)
        found |= {"ratio.clipped": clipped, "case.loss": torch.max(-gain * ratio, -gain * clipped)}
    return {name: each for name, each in found.items() if name in raw}


PAGE = Page(results, COUNTED)
