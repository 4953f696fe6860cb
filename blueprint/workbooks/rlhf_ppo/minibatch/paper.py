"""A file of a minibatch for the page of `papers`: a window of some responses, and typed numbers of what lies outside it.

A column is added behind those of the window, in which a response may go on: its value and its advantage are typed.
"""

from dataclasses import fields, replace
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from blueprint.papers import metrics
from blueprint.papers.libraries.ppo import (
    Counts,
    Experience,
    Options,
    Rewarded,
    Rollout,
    Tokens,
    Update,
    average,
    gae,
    rewarded,
    summed,
    tokens,
    whiten,
    whitened_rewards,
)
from blueprint.witness.ppo_pages import apart, experience_rows, number_rows, options_of, token_rows
from blueprint.witness.raw import Named, Raw

BEGINNINGS = ("score.given", "score.placed", "rewards", "advantages_used")
"""What the computation may begin with: the first that a file has is typed."""
MOVING = ("policy.logprobs", "policy.entropy", "critic.values")
Columns = TypeVar("Columns", Rollout, Experience, Tokens)


def results(raw: Raw) -> Named:
    """Returns the named results of a file."""
    use, begins = options_of(raw), next(name for name in BEGINNINGS if name in raw)
    rollout = _rollout(raw, begins)
    before = _before(raw, rollout, use, begins)
    moving = {name: raw.tensor(name).requires_grad_() for name in MOVING if name in raw}
    logp, nothing = moving["policy.logprobs"], torch.zeros_like(raw.tensor("policy.logprobs"))
    update = Update(logp, moving.get("critic.values", nothing), moving.get("policy.entropy", nothing), nothing, nothing)
    wider = Update(
        *(pad(getattr(update, each.name), (0, 1)) for each in fields(Update))
    )  # by the column behind the window
    each = _cut(tokens(rollout, before, wider, use))
    found = _numbers(raw, each, update, use)
    rows = _experience_rows(raw, _cut(rollout), _cut(before), begins)
    rows |= token_rows(_cut(rollout), each) | found | _slopes(raw, found, moving)
    mask = raw.mask("mask")
    means = {name: metrics.mean(row[:, : mask.shape[1]], mask) for name, row in rows.items() if row.dim() == 2}
    rows |= {f"mean.{name}": mean for name, mean in means.items()}
    hidden = set() if "value_loss" in found else {name for name in rows if name.startswith("value.")}
    return {name: each.detach() for name, each in rows.items() if name in raw and name not in hidden}


def _cut(found: Columns) -> Columns:
    """Takes the column behind the window off again."""
    rows = {name: each[:, :-1] for name, each in vars(found).items() if isinstance(each, Tensor) and each.dim() == 2}
    return replace(found, **rows)


def _rollout(raw: Raw, begins: str) -> Rollout:
    """Returns what was known before the update; 0 for what a file has not."""
    mask = torch.cat([raw.mask("mask"), raw.mask("after.words")[:, None]], 1)
    nothing = torch.zeros_like(raw.tensor("old.logprobs"))
    values = raw.tensor("old_critic.values") if "old_critic.values" in raw else nothing
    scores = raw.tensor("score.given") if begins == "score.given" else nothing
    scores = raw.tensor("score.placed") if begins == "score.placed" else scores
    old, ref, held, exact = (
        pad(each, (0, 1)) for each in (raw.tensor("old.logprobs"), raw.tensor("reference.logprobs"), values, nothing)
    )
    return Rollout(
        mask, raw.mask("slots") | mask, raw.mask("response.ended"), scores if scores.dim() == 1 else pad(scores, (0, 1)),
        old, ref, held, exact, raw.mask("response.padded"),
        raw.tensor("response.length") if "response.length" in raw else None,
    )  # fmt: skip


def _before(raw: Raw, rollout: Rollout, use: Options, begins: str) -> Experience:
    """Returns what the loss learns from, from what is typed first; statistics are those of the whole minibatch."""
    paid, nothing = rewarded(rollout, use), torch.zeros_like(rollout.logp)
    values = rollout.values.where(paid.kept, 0)
    if begins == "advantages_used":
        used = pad(raw.tensor("advantages_used"), (0, 1))
        returns = pad(raw.tensor("returns"), (0, 1)) if "returns" in raw else nothing
        return Experience(
            **vars(paid), rewards=nothing, values=values, deltas=nothing, advantages=nothing, returns=returns, used=used
        )
    rewards = paid.rewards_raw
    if begins == "rewards":
        rewards = pad(raw.tensor("rewards"), (0, 1))
    elif use.whiten_rewards:
        of = raw.tensor("reward.mean"), raw.tensor("reward.variance")
        rewards = whitened_rewards(rewards, *of, paid.kept, rollout.slots, use)
    return _advantages(raw, rollout, paid, rewards, values, use)


def _advantages(
    raw: Raw, rollout: Rollout, paid: Rewarded, rewards: Tensor, values: Tensor, use: Options
) -> Experience:
    """Returns advantages that go on behind the window: there a place counts whose value and advantage are the typed ones."""
    value, advantage = raw.tensor("after.ahead")[:, None], raw.tensor("after.advantages")[:, None]
    over = paid.kept if use.carry else rollout.slots
    over = torch.cat([over[:, :-1], rollout.slots[:, -2:-1]], 1)  # only a window that ends in a slot goes on
    rewards, values = torch.cat([rewards[:, :-1], advantage + value], 1), torch.cat([values[:, :-1], value], 1)
    deltas, advantages = gae(rewards, values, over, use.gamma, use.lam)
    advantages = advantages.where(rollout.slots, 0)
    used = advantages
    if use.whiten_advantages != "off":
        of = raw.tensor("advantage.mean"), raw.tensor("advantage.variance")
        used = whiten(advantages, *of, use.whitening, add_mean=use.whiten_advantages == "keep_mean")
    return Experience(
        **vars(paid),
        rewards=rewards,
        values=values,
        deltas=deltas,
        advantages=advantages,
        returns=advantages + values,
        used=used.where(paid.response, 0),
    )


def _numbers(raw: Raw, each: Tokens, update: Update, use: Options) -> Named:
    """Returns the parts of the loss and their sum: means over the whole minibatch, of which the rest is typed."""
    policy = _counts(raw, "policy")
    learns = (raw.tensor("loss.mean_ratio") <= use.most_mean_ratio).to(each.ratio.dtype)
    found = {
        "policy_loss": learns
        * (average(each.policy_losses, each.counted, policy, use.how, use) - raw.tensor("rest.policy")),
        "kl_loss": average(each.kl, each.counted, policy, use.how, use) + raw.tensor("rest.kl"),
    }
    if "critic.values" in raw and "value_loss" in raw:
        mean = average(each.value_losses, each.value_counted, _counts(raw, "value"), use.value_how, use)
        found["value_loss"] = learns * (mean + raw.tensor("rest.value"))
    if "policy.entropy" in raw:
        mean = average(update.entropy, each.counted, policy, use.entropy_how, use)
        found["entropy"] = mean + raw.tensor("rest.entropy")
    none = each.ratio.new_zeros(())
    total = summed(
        use, found["policy_loss"], found.get("value_loss", none), found.get("entropy", none), none, found["kl_loss"]
    )
    return found | number_rows(use, found) | {"total_loss": total}


def _counts(raw: Raw, part: str) -> Counts:
    names = (f"{part}.weight.length", f"{part}.words", f"{part}.responses", "response.most")
    return Counts(*(raw.tensor(name) for name in names))


def _slopes(raw: Raw, found: Named, moving: Named) -> Named:
    """Returns the slope of what the optimisers make smaller."""
    value = found.get("value_loss")
    minimised = found["total_loss"] if value is None or not apart(raw) else found["total_loss"] + value
    of = torch.autograd.grad(minimised, list(moving.values()), allow_unused=True, materialize_grads=True)
    return {f"{name}.grad": slope for name, slope in zip(moving, of, strict=True)}


def _experience_rows(raw: Raw, rollout: Rollout, before: Experience, begins: str) -> Named:
    """Returns what the file computes of it: what stands before its beginning it has not."""
    rows = experience_rows(rollout, before) | {"kl.used": before.kl}
    edges = {"values.kept": (before.values, "after.ahead"), "advantages": (before.advantages, "after.advantages")}
    if begins != "advantages_used":
        rows |= {name: torch.cat([each, raw.tensor(behind)[:, None]], 1) for name, (each, behind) in edges.items()}
    else:
        rows |= {"values.kept": before.values}
    typed = {begins, "returns", "rewards", "advantages_used"} if begins == "advantages_used" else {begins}
    return {name: each for name, each in rows.items() if name not in typed}
