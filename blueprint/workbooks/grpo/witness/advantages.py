"""From scores to the advantage of every token, in torch.

Sources: DeepSeekMath, 2402.03300; RLOO, 2402.14740; Dr. GRPO, 2503.20783; DAPO, 2503.14476, eq. 13; REINFORCE++, 2501.03262;
ReMax, 2310.10505; the libraries' code: TRL 1.16.0 grpo_trainer.py and rloo_trainer.py, verl 0.9.1 core_algos.py, OpenRLHF 0.11.2
experience_maker.py, NeMo-RL grpo.py and advantage_estimator.py.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from blueprint.witness import Asked
from blueprint.workbooks.grpo.witness.options import Responses, wide

Table = Tensor
"""A number for each response of each prompt, [prompts, size]."""


class Signal(NamedTuple):
    """What each response is rewarded with [B], baseline and divisor as tables, its advantage as a table; the KL paid and the
    advantages of tokens, [B, T]; 1 on the responses that a filter leaves, as a table."""

    rewards: Tensor
    baseline: Table
    divisor: Table
    of_response: Table
    paid: Tensor
    advantages: Tensor
    left: Table


def signal(of: Responses, use: Asked) -> Signal:
    """Runs from the score to the advantage of every token."""
    shaped = held = shape_rewards(of, use)
    if use.word("reward.clip_at") == "before":
        shaped = use.between(held, "reward.clip_low", "reward.clip_high")
    paid = use.number("kl.coef") * kl_of((of.old - of.reference) * of.mask, use) * of.mask
    place = use.word("kl.place")
    rewards = shaped - paid.sum(1) if place in ("reward", "reward_token") else shaped
    table = of.grouped(rewards)
    baseline, divisor = baselines(of, table, use), torch.ones_like(table)
    left = table - baseline
    result = left
    if use.word("group.std") != "none":
        divisor = divisors(table, left, use)
        result = left / (divisor + use.number("group.eps"))
        if use.word("group.zero_std") == "skip":
            result = torch.where(divisor == 0, left, result)
    if use.word("reward.clip_at") == "after":
        result = use.between(result, "reward.clip_low", "reward.clip_high")
    if use.word("advantage.whiten") == "responses":
        result = (result - result.mean()) / (spread(result.flatten(), 0, 1) + use.number("advantage.whiten_eps"))
    tokens = credited(of, shaped, result.flatten(), baseline.flatten(), paid, use) * of.mask
    if place == "advantage":
        tokens = tokens - paid
    if use.word("advantage.whiten") == "tokens":
        tokens = whitened(tokens, of.mask, use)
    return Signal(rewards, baseline, divisor, result, paid, tokens, left_by_filter(table, divisor, use))


def left_by_filter(table: Table, divisor: Table, use: Asked) -> Table:
    """Returns 0 on what dynamic sampling would draw again (DAPO, eq. 11), else 1."""
    low, high, mean = table.amin(1, True), table.amax(1, True), table.mean(1, True)
    ways = {
        "off": torch.ones_like(low),
        "constant": (low < high) | (table.shape[1] == 1),
        "zero_spread": divisor != 0,
        "mean_at_end": (mean > 0) & (mean < 1),
    }
    return ways[use.word("group.filter")].to(table).expand_as(table)


def shape_rewards(of: Responses, use: Asked) -> Tensor:
    """Returns the scores less what length costs, and what it costs to be cut off, [B]."""
    score, way = of.score, use.word("reward.overlong")
    if way != "off":
        buffer = use.number("reward.buffer")
        excess = of.lengths - (use.number("reward.max_tokens") - buffer)
        excess = excess.clamp(max=buffer) if way == "capped" else excess
        score = score + (-excess / buffer * use.number("reward.overlong_factor")).clamp(max=0)
    cut = use.limit("reward.truncated")
    if cut is not None:
        score = torch.where(of.truncated > 0, score * cut if cut >= 0 else torch.full_like(score, cut), score)
    return score


def kl_of(x: Tensor, use: Asked) -> Tensor:
    """Estimates the KL from log-ratios to the reference, with its clamps."""
    return use.around(estimate(use.around(x, "kl.clamp_in"), use), "kl.clamp_out")


def estimate(x: Tensor, use: Asked) -> Tensor:
    """Estimates the KL from log-ratios to the reference (Schulman 2020)."""
    ways = {"k1": lambda: x, "k2": lambda: x.square() / 2, "k3": lambda: torch.expm1(-x) + x, "abs": x.abs}
    return ways[use.word("kl.estimator")]()


WITHOUT_GROUPS = ("greedy", "batch", "batch_of_advantages", "not_zero")
"""Baselines and spreads that look at no group: a response that is alone has them, too."""


def alone(table: Table, use: Asked) -> bool:
    """Whether every response is a group of its own: its mean is 0, and its spread 1 (verl 0.9.1)."""
    return use.word("group.of") == "row" or table.shape[1] == 1


def baselines(of: Responses, table: Table, use: Asked) -> Table:
    """Returns what is subtracted from every reward."""
    word, size = use.word("group.baseline"), table.shape[1]
    if word == "none" or (alone(table, use) and word not in WITHOUT_GROUPS):
        return torch.zeros_like(table)
    if word == "others":
        return (table.sum(1, keepdim=True) - table) / (size - 1)
    if word == "second":
        best = table.topk(2, dim=1).values
        return torch.where(table == best[:, :1], best[:, 1:], table)
    lengths = of.grouped(of.lengths)
    means = {
        "mean": lambda: table.mean(1, keepdim=True),
        "greedy": lambda: of.greedy[:, None],
        "batch": lambda: table.mean(),
        "length": lambda: (table * lengths).sum(1, keepdim=True) / lengths.sum(1, keepdim=True).clamp(min=1),
    }
    return means[word]().expand_as(table)


def divisors(table: Table, left: Table, use: Asked) -> Table:
    """Returns what every reward less its baseline is divided by, without ε."""
    if alone(table, use) and use.word("group.std") not in WITHOUT_GROUPS:
        return torch.ones_like(table)
    ddof, size = int(use.number("group.ddof")), table.shape[1]
    others = torch.stack([torch.cat([table[:, :i], table[:, i + 1 :]], 1) for i in range(size)], 1)
    ways = {
        "group": lambda: spread(table, 1, ddof),
        "moments": lambda: ((table.square().mean(1) - table.mean(1).square()).clamp(min=0) * size / (size - 1)).sqrt()[
            :, None
        ],
        "others": lambda: spread(others - others.amax(2, keepdim=True), 2, 1)[..., 0],
        "batch": lambda: spread(table.flatten(), 0, ddof),
        "residual": lambda: ((table - table.mean(1, keepdim=True)).square().sum() / (table.numel() - 1)).sqrt(),
        "group_of_advantages": lambda: spread(left, 1, ddof),
        "batch_of_advantages": lambda: spread(left.flatten(), 0, ddof),
        "mean": lambda: table.mean(1, keepdim=True),
        "not_zero": lambda: share_not_zero(table),
    }
    return ways[use.word("group.std")]().expand_as(table)


def spread(x: Tensor, dim: int, ddof: int) -> Tensor:
    """Returns the standard deviation along a dimension; of one number it is 0."""
    away = (x - x.mean(dim, keepdim=True)).square().sum(dim, keepdim=True)
    return (away / max(x.shape[dim] - ddof, 1)).sqrt()


def share_not_zero(table: Table) -> Tensor:
    """Returns which share of the rewards is not 0; where all are, one counts (verl 0.9.1, compute_gpg_outcome_advantage)."""
    return (table != 0).to(table).sum().clamp(min=1) / table.numel()


def credited(of: Responses, shaped: Tensor, A: Tensor, baseline: Tensor, paid: Tensor, use: Asked) -> Tensor:
    """Returns the advantage of each token before whitening, [B, T]."""
    word, place, gamma = use.word("advantage.credit"), use.word("kl.place"), use.number("gamma")
    if word == "outcome":
        return wide(A, of.mask)
    last = of.mask * (of.mask.flip(1).cumsum(1).flip(1) == 1)
    remaining = of.mask.flip(1).cumsum(1).flip(1)
    if word == "discounted":
        return wide(A, of.mask) * gamma**remaining
    rewards = wide(shaped if word == "reward_to_go" else A, of.mask) * last
    if place in ("reward_token", "after"):
        rewards = rewards - paid
    ahead, made = torch.zeros_like(A), torch.zeros_like(of.mask)
    for t in reversed(range(of.mask.shape[1])):
        ahead = (rewards[:, t] + gamma * ahead) * of.mask[:, t]
        made[:, t] = ahead
    return made - wide(baseline, of.mask) if word == "reward_to_go" else made


def whitened(A: Tensor, mask: Tensor, use: Asked) -> Tensor:
    """Returns the advantages whitened over all tokens."""
    count, eps, form = mask.sum(), use.number("advantage.whiten_eps"), use.word("advantage.whiten_form")
    over = count + use.number("advantage.mean_eps")
    away = (A - (A * mask).sum() / over) * mask
    variance = away.square().sum() / over * count / (count - use.number("advantage.whiten_ddof")).clamp(min=1)
    ways = {
        "inside": lambda: (variance + eps).rsqrt(),
        "at_least": lambda: variance.clamp(min=eps).rsqrt(),
        "outside": lambda: 1 / (variance.sqrt() + eps),
        "centre": lambda: torch.ones_like(variance),
    }
    return away * ways[form]()
