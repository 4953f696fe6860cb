"""From log-probs and advantages of tokens to the loss of the policy, as 21 trainers have it.

In stages: log-ratios, losses of tokens, weights for another engine, the KL to the reference, what counts, means. What is of tokens
is [B, T], log-probs being 0 where the mask is false. A limit that is off is infinite. `.detach()` stands where a library stops a
gradient. Versions, and who has what by default: blueprint/workbooks/grpo/conventions.toml and presets.csv.
"""

from dataclasses import dataclass
from math import inf, log

import torch
from torch import Tensor

from blueprint.papers.metrics import kl_estimate


@dataclass(frozen=True)
class Ratio:
    """What the policy in training is compared with, and of what the ratio is taken."""

    old: str = "old"
    level: str = "token"
    length_eps: float = 0.0
    clamp: float = inf  # of a token's log-ratio, where the ratio is that of a token
    sequence_most: float = inf


@dataclass(frozen=True)
class Objective:
    """How ratio and advantage become a loss."""

    objective: str = "clip"
    clip_low: float = 0.2
    clip_high: float = 0.2
    delta: float = inf
    dual_clip: float = inf
    sapo_good: float = 1.0
    sapo_bad: float = 1.05
    power_good: float = 2.0
    power_bad: float = 3.0
    rate_good: float = 3.0
    rate_bad: float = 2.0
    least: float = log(1e-8)
    most: float = 20.0


@dataclass(frozen=True)
class Rollout:
    """How much a token counts that another engine wrote than the one that learns."""

    level: str = "none"
    mode: str = "truncate"
    low: float = -inf
    high: float = inf
    statistic: str = "ratio"
    clamp: float = inf
    normalise: str = "off"
    mean_eps: float = 1e-8
    reject: str = "off"
    reject_low: float = -inf
    reject_high: float = inf


@dataclass(frozen=True)
class Kl:
    """Where the KL to the reference is paid, and how it is estimated."""

    place: str = "none"
    coef: float = 0.0
    estimator: str = "k3"
    clamp_in: float = inf
    clamp_out: float = inf
    weight: str = "none"
    gradient: str = "own"
    reach: float = 10.0
    aggregation: str = "as_policy"


@dataclass(frozen=True)
class Means:
    """Which tokens count, and how they are averaged."""

    aggregation: str = "token_mean"
    constant: float = 1.0
    agg_eps: float = 0.0
    at_least: float = 1.0
    length_eps: float = 0.0
    rows_eps: float = 0.0
    factor: float = 1.0
    mask: str = "response"
    off_policy: float = inf
    entropy_least: float = -inf
    ent_coef: float = 0.0
    entropy_aggregation: str = "token_mean"


def of_responses(x: Tensor, mask: Tensor, eps: float = 0.0) -> Tensor:
    """Returns the mean over the tokens of each response, [B, 1]; of a response without any it is 0."""
    lengths = mask.sum(1, keepdim=True).to(x.dtype)
    return x.where(mask, 0).sum(1, keepdim=True) / (lengths.clamp(min=1) + eps)


def one_of(good: Tensor, this: float, other: float, like: Tensor) -> Tensor:
    """Returns one of two numbers for each token; of two Python numbers torch.where makes single precision."""
    return torch.where(good, torch.full_like(like, this), torch.full_like(like, other))


# --- Log-ratios


def below(new: Tensor, old: Tensor, rollout: Tensor, how: Ratio) -> Tensor:
    """Returns the log-probs below the ratio: on a first step the policy's own, as numbers."""
    return {"old": old, "new": new.detach(), "rollout": rollout}[how.old]


def log_ratios(new: Tensor, d: Tensor, rollout: Tensor, mask: Tensor, how: Ratio) -> Tensor:
    """Returns the log of the ratio of each token, or of its response; d: the log-ratio of each token, free."""
    match how.level:
        case "token":
            x = d.clamp(-how.clamp, how.clamp)
        case "response":  # GSPO, eq. 7
            x = of_responses(d, mask, how.length_eps)
        case "own_token":  # GSPO, eq. 14: the value of the response, the gradient of the token
            x = new - new.detach() + of_responses(d, mask, how.length_eps).detach()
            x = x.clamp(max=how.sequence_most)
        case "product":  # TRL's RLOO
            x = d.sum(1, keepdim=True)
        case "rollout":  # OpenRLHF, GSPO with a correction
            x = of_responses(new - rollout, mask, how.length_eps)
        case "batch":  # torchtune, GRPOCompletionLoss
            x = d.sum()
        case _:
            raise ValueError(how.level)
    return x.expand(mask.shape).where(mask, 0)


# --- Losses of tokens


def token_losses(
    A: Tensor, ratio: Tensor, new: Tensor, d: Tensor, mask: Tensor, how: Objective, length_eps: float = 0.0
) -> Tensor:
    """Returns what is minimised at each token, before any weight; d: the log-ratio of each token, free."""
    near = ratio.clamp(1 - how.clip_low, 1 + how.clip_high)
    match how.objective:
        case "clip":  # GRPO, eq. 3; DAPO, eq. 10; above c times |A| of a bad token: dual clip, eq. 5
            losses = -torch.min(ratio.clamp(max=how.delta) * A, near * A)
            if how.dual_clip < inf:
                losses = torch.where(A < 0, torch.min(losses, -how.dual_clip * A), losses)
        case "cispo":  # CISPO, eq. 4
            losses = -near.detach() * A * new
        case "reinforce":
            losses = -A * new
        case "ratio":
            losses = -ratio * A
        case "sapo":
            tau = one_of(A > 0, how.sapo_good, how.sapo_bad, A)
            losses = -A * 4 / tau * torch.sigmoid(tau * (ratio - 1))
        case "gmpo":
            losses = geometric_losses(A, d, mask, how.clip_low, how.clip_high, length_eps)
        case "vespo":  # TRL, get_gamma_weights
            log_w = d.detach().sum(1, keepdim=True).clamp(how.least, how.most)
            power = one_of(A >= 0, how.power_good, how.power_bad, A)
            rate = one_of(A >= 0, how.rate_good, how.rate_bad, A)
            losses = -(rate + power * log_w - rate * log_w.exp()).exp() * A * new
        case _:
            raise ValueError(how.objective)
    return losses.where(mask, 0)


def geometric_losses(A: Tensor, d: Tensor, mask: Tensor, low: float, high: float, eps: float) -> Tensor:
    """Returns the loss of each response, GMPO's, on its tokens: the geometric mean of clipped ratios times the mean advantage."""
    pulled = A.sign() * torch.min(A.sign() * d, A.sign() * d.clamp(-low, high))
    return (-of_responses(pulled, mask, eps).exp() * of_responses(A, mask, eps)).expand(mask.shape)


# --- Weights for another engine


def rollout_weights(learner: Tensor, rollout: Tensor, mask: Tensor, how: Rollout) -> Tensor:
    """Returns what the loss of a token is multiplied by; learner: what the engine that learns said of it, before the step."""
    if how.level == "none":
        return torch.ones_like(learner)
    x = (learner - rollout).detach().where(mask, 0)
    token = x.clamp(-how.clamp, how.clamp).exp()
    match how.level:
        case "token":
            w = token
        case "product":
            w = x.sum(1, keepdim=True).clamp(-how.clamp, how.clamp).exp().expand(mask.shape)
        case "mean":
            w = of_responses(x, mask).exp().expand(mask.shape)
        case _:
            raise ValueError(how.level)
    judged = w if how.statistic == "ratio" else far_apart(learner.detach(), rollout, mask, how)
    inside = (judged >= how.low) & (judged <= how.high)
    match how.mode:
        case "truncate":
            w = w.clamp(how.low, how.high)
        case "mask":  # IcePop
            w = w.where(inside, 0)
        case "filter":  # OpenRLHF, NeMo-RL: the weight of the token, where its response is inside
            w = token.where(inside, 0)
    if how.normalise == "on":  # verl: by the mean over tokens, or over responses
        mean = w[mask].sum() / (mask.sum().to(w.dtype) + how.mean_eps)
        if how.level != "token":
            n = mask.sum(1).to(w.dtype)[mask.any(1)]
            mean = (w.where(mask, 0).sum(1)[mask.any(1)] / (n + how.mean_eps)).mean()
        w = w / mean if mean > 0 else w
    return w


def far_apart(learner: Tensor, rollout: Tensor, mask: Tensor, how: Rollout) -> Tensor:
    """Returns how far two engines are apart at a token, written or not: the difference, or the KL of that, of its level."""
    p, q = rollout.exp(), learner.exp()
    if how.statistic == "difference":
        return (p - q).abs()
    kl = p * (rollout - learner) + torch.special.xlogy(1 - p, 1 - p) - torch.special.xlogy(1 - p, 1 - q)
    return kl if how.level == "token" else of_responses(kl, mask).expand(mask.shape)


def accepted(learner: Tensor, rollout: Tensor, mask: Tensor, how: Rollout) -> Tensor:
    """Returns the mask without what is rejected: tokens, or whole responses, on which the engines are too far apart (verl)."""
    if how.reject == "off":
        return mask
    x = (learner - rollout).detach().where(mask, 0)
    w = (x if how.reject == "token" else of_responses(x, mask)).exp()
    return mask & (w >= how.reject_low) & (w <= how.reject_high)


# --- The KL to the reference


def kl_in_reward(old: Tensor, ref: Tensor, mask: Tensor, how: Kl) -> Tensor:
    """Returns the estimate that is paid before there is a loss."""
    x = (old - ref).where(mask, 0).clamp(-how.clamp_in, how.clamp_in)
    return kl_estimate(x, how.estimator).clamp(-how.clamp_out, how.clamp_out)


def kl_in_loss(new: Tensor, ref: Tensor, rollout: Tensor, d: Tensor, ratio: Tensor, mask: Tensor, how: Kl) -> Tensor:
    """Returns the estimate that is paid in the loss; its gradient may be that of k2, the KL's own, whatever its value.

    d: the log-ratio of each token, free; ratio: in use, of its level.
    """
    free = (new - ref).where(mask, 0)
    x = free.clamp(-how.clamp_in, how.clamp_in)
    match how.weight:
        case "none":
            weight = torch.ones_like(x)
        case "ratio":  # TRL: then the gradient of k3 is that of the KL
            weight = ratio
        case "own":  # NeMo-RL: π over itself
            weight = (x - x.detach()).exp()
        case "rollout":
            weight = (x - x.detach() + (new.detach() - rollout).where(mask, 0)).exp()
        case _:
            raise ValueError(how.weight)
    value = (weight * kl_estimate(x, how.estimator)).clamp(-how.clamp_out, how.clamp_out)
    if how.gradient == "own":
        return value
    k2 = weight * free**2 / 2
    if how.gradient == "k2_is":  # OpenRLHF
        k2 = k2 * d.detach().exp().clamp(max=how.reach)
    return value.detach() + k2 - k2.detach()


# --- What counts, and means


def counted(mask: Tensor, truncated: Tensor, left: Tensor, how: Means) -> Tensor:
    """Returns the tokens that are counted: not those of a group that is left out, nor, if asked, of a response that was cut off."""
    rows = left & ~truncated if how.mask == "drop_truncated" else left
    return mask & rows[:, None]


def kept(A: Tensor, new: Tensor, old: Tensor, entropy: Tensor, mask: Tensor, how: Means) -> Tensor:
    """Returns the tokens whose loss is not set to 0; all of them stay in the counts (TRL)."""
    far = of_responses(old - new.detach(), mask) > how.off_policy
    return ~((A < 0) & far) & (entropy >= how.entropy_least)


def mean_of(x: Tensor, mask: Tensor, group: Tensor, left: Tensor, aggregation: str, how: Means) -> Tensor:
    """Averages over the tokens that are counted. left, [B]: the responses that are in the batch."""
    lengths = mask.sum(1).to(x.dtype)  # a count of whole numbers plus 1e-8 would be of single precision
    sums = x.where(mask, 0).sum(1)
    rows = left.sum().to(x.dtype).clamp(min=1) + how.rows_eps
    match aggregation:
        case "token_mean":  # DAPO, eq. 12
            least = how.at_least if how.aggregation == "token_mean" else 1
            return sums.sum() / (lengths.sum().clamp(min=least) + how.agg_eps)
        case "token_sum":
            return sums.sum() / how.constant
        case "seq_mean_token_mean":  # GRPO, eq. 3
            some = lengths > 0
            return (sums[some] / (lengths[some] + how.length_eps)).sum() / rows
        case "seq_mean_token_sum":  # Dr. GRPO, sec. 3.2
            return sums.sum() / how.constant / rows
        case "prompt_mean":  # SkyRL
            prompts = [group == g for g in set(group[left].tolist())]
            means = [sums[own].sum() / lengths[own].sum().clamp(min=1) for own in prompts]
            return torch.stack(means).mean() if means else sums.sum()
    raise ValueError(aggregation)
