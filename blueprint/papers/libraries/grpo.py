"""Critic-free policy gradients as 21 trainers compute them: `papers.grpo` with every convention in which they differ.

The stages stand in `critic_free_advantages` and `critic_free_losses`; here is the one path through them that all libraries take,
each with conventions of its own. With `Conventions()` it is the loss of GRPO, averaged as DAPO does.
"""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from blueprint.papers.libraries.critic_free_advantages import (
    Compared,
    Credit,
    Group,
    Shaping,
    advantages_of_tokens,
    compare,
    finished,
    shaped_rewards,
)
from blueprint.papers.libraries.critic_free_losses import (
    Kl,
    Means,
    Objective,
    Ratio,
    Rollout,
    accepted,
    below,
    counted,
    kept,
    kl_in_loss,
    kl_in_reward,
    log_ratios,
    mean_of,
    of_responses,
    rollout_weights,
    token_losses,
)


@dataclass(frozen=True)
class Batch:
    """Responses [B] and their tokens [B, T]: how they were scored, and how likely models find what was written.

    group: the number of the prompt that a response answers; greedy: how the greedy response to its prompt was scored; rollout: the
    engine that wrote. Log-probs and entropies may be anything where the mask is false.
    """

    scores: Tensor
    group: Tensor
    greedy: Tensor
    truncated: Tensor
    mask: Tensor
    new: Tensor
    old: Tensor
    ref: Tensor
    rollout: Tensor
    entropy: Tensor


@dataclass(frozen=True)
class Conventions:
    """What a library does of all that libraries do. of: "prompt", or "row", where each response is a group of its own."""

    of: str = "prompt"
    shaping: Shaping = field(default_factory=Shaping)
    kl: Kl = field(default_factory=Kl)
    group: Group = field(default_factory=Group)
    credit: Credit = field(default_factory=Credit)
    ratio: Ratio = field(default_factory=Ratio)
    objective: Objective = field(default_factory=Objective)
    rollout: Rollout = field(default_factory=Rollout)
    means: Means = field(default_factory=Means)


@dataclass(frozen=True)
class CriticFree:
    """What a batch comes to: of responses [B], of tokens [B, T], and single numbers.

    free, log_ratio: of each token, and of what the ratio is taken, held within limits; weighted: the losses of tokens times all
    that weighs them, before the mean; counted: which of them the mean counts.
    """

    shaped: Tensor
    rewards: Tensor
    compared: Compared
    kl_old: Tensor
    advantages: Tensor
    free: Tensor
    log_ratio: Tensor
    ratio: Tensor
    token_losses: Tensor
    weights: Tensor
    counted: Tensor
    kept: Tensor
    weighted: Tensor
    kl: Tensor
    policy_loss: Tensor
    kl_loss: Tensor
    entropy: Tensor
    adds_kl: Tensor
    adds_entropy: Tensor
    total: Tensor


@dataclass(frozen=True)
class Metrics:
    """What one watches, single numbers; tokens are all that the mask has, whatever the loss counts."""

    mean_advantage: Tensor
    mean_ratio: Tensor
    mean_clipped: Tensor  # of the ratio within the ends of the clip
    mean_kl: Tensor
    low: Tensor  # share of tokens whose gradient the clip took away, from below and from above
    high: Tensor
    of_responses: Tensor  # both, as a mean over responses
    dual: Tensor
    engine_kl: Tensor  # how far the policy is from the engine, by k1


def log_probs(logits: Tensor, tokens: Tensor) -> Tensor:
    """Returns the log-prob of each token written, [B, T], from the logits [B, T, V] of its place."""
    written = -torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten(), reduction="none")
    return written.view(tokens.shape)


def entropies(logits: Tensor) -> Tensor:
    """Returns the entropy of the next token, [B, T], from the logits [B, T, V] of its place."""
    return -(logits.softmax(-1) * logits.log_softmax(-1)).sum(-1)


def grpo(batch: Batch, how: Conventions) -> CriticFree:
    """Returns the loss of a library, and the steps to it."""
    mask = batch.mask
    new, old, ref, rollout, H = (
        each.where(mask, 0) for each in (batch.new, batch.old, batch.ref, batch.rollout, batch.entropy)
    )
    lengths = mask.sum(1).to(new.dtype)
    group = batch.group if how.of == "prompt" else torch.arange(len(mask), device=mask.device)

    # Rewards, and advantages of responses.
    shaped = shaped_rewards(batch.scores, lengths, batch.truncated, how.shaping)
    kl_old = kl_in_reward(old, ref, mask, how.kl).detach()
    paid = how.kl.coef * kl_old
    rewards = shaped - paid.sum(1) if how.kl.place in ("reward", "reward_token") else shaped
    compared = compare(rewards, group, batch.group, lengths, batch.greedy, how.group)
    compared = replace(compared, advantages=finished(compared.advantages, how.shaping, how.credit))

    # Advantages of tokens, and what they make of log-probs.
    A = advantages_of_tokens(compared.advantages, shaped, compared.baseline, paid, mask, how.kl.place, how.credit)
    d = new - below(new, old, rollout, how.ratio)
    log_ratio = log_ratios(new, d, rollout, mask, how.ratio)
    ratio = log_ratio.exp()
    losses = token_losses(A, ratio, new, d, mask, how.objective, how.ratio.length_eps)
    learner = old if how.ratio.old == "old" else new
    weights = rollout_weights(learner, rollout, mask, how.rollout)
    keep = kept(A, new, old, H, mask, how.means)
    weighted = how.means.factor * weights * losses * keep

    # Means.
    tokens = counted(accepted(learner, rollout, mask, how.rollout), batch.truncated, compared.left, how.means)
    kl = kl_in_loss(new, ref, rollout, d, ratio, mask, how.kl)
    same = how.means.aggregation
    by_kl, by_entropy = (
        same if by == "as_policy" else by for by in (how.kl.aggregation, how.means.entropy_aggregation)
    )
    policy_loss, kl_loss, entropy = (
        mean_of(x, tokens, batch.group, compared.left, by, how.means)
        for x, by in ((weighted, same), (kl, by_kl), (H, by_entropy))
    )
    # What is not paid is not looked at: it may have no number.
    nothing = torch.zeros_like(policy_loss)
    adds_kl = how.kl.coef * kl_loss if how.kl.place == "loss" else nothing
    adds_entropy = -how.means.ent_coef * entropy if how.means.ent_coef else nothing
    total = policy_loss + adds_kl + adds_entropy
    return CriticFree(
        shaped, rewards, compared, kl_old, A, d, log_ratio, ratio, losses, weights, tokens, keep, weighted, kl, policy_loss,
        kl_loss, entropy, adds_kl, adds_entropy, total,
    )  # fmt: skip


def metrics(batch: Batch, found: CriticFree, how: Conventions) -> Metrics:
    """Returns what libraries log beside the loss."""
    mask, A, ratio, kind = batch.mask, found.advantages, found.ratio.detach(), how.objective
    near = ratio.clamp(1 - kind.clip_low, 1 + kind.clip_high)
    low, high = (A < 0) & (ratio < near) & mask, (A > 0) & (ratio > near) & mask
    worse = torch.min(ratio.clamp(max=kind.delta) * A, near * A)
    dual = (A < 0) & (worse < kind.dual_clip * A)
    learner = batch.old if how.ratio.old == "old" else batch.new.detach()
    by_response = of_responses((low | high).to(ratio.dtype), mask)

    def mean(x: Tensor) -> Tensor:
        return x[mask].to(ratio.dtype).mean()

    return Metrics(
        mean(A), mean(ratio), mean(near), mean(found.kl.detach()), mean(low), mean(high), by_response.mean(),
        mean(dual), mean(batch.rollout - learner),
    )  # fmt: skip
