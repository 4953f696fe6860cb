"""The equations by which a step of GRPO and its family is computed again: from scores to advantages, from log-probs to the loss.

They are numbers alone, in float64: nothing here has a gradient. Sources: GRPO, 2402.03300, eq. 3; RLOO, 2402.14740; Dr. GRPO,
2503.20783; DAPO, 2503.14476, eq. 8 to 13; REINFORCE++, 2501.03262; ReMax, 2310.10505; dual clip, 1912.09729; GSPO, 2507.18071,
eq. 7 and 14; CISPO, 2506.13585, eq. 4; SAPO, 2511.20347; GMPO, 2507.20673; the libraries' code: TRL 1.16.0 grpo_trainer.py and
rloo_trainer.py, verl 0.9.1 core_algos.py and rollout_corr_helper.py, OpenRLHF 0.11.2 experience_maker.py, NeMo-RL grpo.py and
advantage_estimator.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf
from typing import NamedTuple

import torch
from torch import Tensor

Table = Tensor
"""A number for each response of each prompt, [prompts, size]."""


@dataclass(frozen=True)
class Asked:
    """Settings by key, under which a step is computed."""

    values: Mapping[str, float | str]

    def word(self, key: str) -> str:
        """Returns which of its options a switch has."""
        return str(self.values[key])

    def number(self, key: str) -> float:
        """Returns a setting that is a number."""
        return float(self.values[key])

    def limit(self, key: str) -> float | None:
        """Returns the number of a limit, or None if there is no limit."""
        value = self.number(key)
        return None if isinf(value) else value

    def around(self, x: Tensor, key: str) -> Tensor:
        """Clamps on both sides of 0."""
        reach = self.limit(key)
        return x if reach is None else x.clamp(-reach, reach)

    def between(self, x: Tensor, low: str, high: str) -> Tensor:
        """Clamps from below and from above."""
        least, most = self.limit(low), self.limit(high)
        return x if least is None and most is None else x.clamp(least, most)


@dataclass(frozen=True)
class Responses:
    """A batch of responses: [B] or [B, T], those to a prompt side by side.

    size: how many responses each prompt has. greedy: [B / size]. sizes: how many each has, where prompts have different numbers.
    """

    score: Tensor
    truncated: Tensor
    greedy: Tensor
    mask: Tensor
    new: Tensor
    old: Tensor
    reference: Tensor
    rollout: Tensor
    entropy: Tensor
    size: int
    sizes: tuple[int, ...] = ()

    @property
    def lengths(self) -> Tensor:
        """Tokens of each response."""
        return self.mask.sum(1)

    def grouped(self, x: Tensor) -> Tensor:
        """Lays numbers [B] out by prompt and response."""
        return x.view(-1, self.size)

    def by_prompt(self, x: Tensor) -> tuple[Tensor, ...]:
        """Returns the numbers [B] of each prompt, also where prompts have different numbers of responses."""
        return torch.split(x, list(self.sizes) if self.sizes else self.size)


def mean_of_rows(x: Tensor, mask: Tensor, eps: float = 0.0) -> Tensor:
    """Averages each row over its mask; a row without tokens has 0."""
    return (x * mask).sum(1) / (mask.sum(1).clamp(min=1) + eps)


def wide(x: Tensor, like: Tensor) -> Tensor:
    """Repeats a number of each response on all of its positions."""
    return x[:, None].expand_as(like)


def either(where: Tensor, one: float, other: float, like: Tensor) -> Tensor:
    """Returns one of two numbers for each place, in the format of a tensor: of plain numbers torch would make its default one."""
    return torch.where(where, like.new_tensor(one), like.new_tensor(other))


# --- From scores to the advantage of each token


class Signal(NamedTuple):
    """What each response is rewarded with [B], what that is divided by, and its advantage, as tables; the advantages of tokens,
    [B, T]; 1 on the responses that a filter leaves, as a table."""

    rewards: Tensor
    divisor: Table
    of_response: Table
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
    return Signal(rewards, divisor, result, tokens, left_by_filter(table, divisor, use))


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


# --- From log-probs and advantages to the loss


class Losses(NamedTuple):
    """Ratio, loss, rollout weight and KL of every token [B, T]; the parts of the loss, and the loss."""

    ratio: Tensor
    tokens: Tensor
    weight: Tensor
    kl: Tensor
    policy_loss: Tensor
    kl_loss: Tensor
    entropy: Tensor
    total: Tensor


def losses(of: Responses, made: Signal, use: Asked) -> Losses:
    """Runs from the ratio to the loss."""
    below = {"old": of.old, "new": of.new, "rollout": of.rollout}[use.word("ratio.old")]
    d = (of.new - below) * of.mask
    ratio = ratios(of, d, use)
    tokens = objective(of, d, ratio, made.advantages, use) * of.mask
    numerator = of.old if use.word("ratio.old") == "old" else of.new
    weight, accepted = rollout_weights(of, numerator, use)
    ended = 1 - of.truncated if use.word("loss.mask") == "drop_truncated" else torch.ones_like(of.truncated)
    left = made.left.flatten()
    counts = accepted * wide(ended * left, accepted)
    keep = kept(of, made.advantages, use)
    policy = average(tokens * weight * keep, counts, left, of, use, "loss.aggregation") * use.number("loss.factor")
    kl = kl_in_loss(of, ratio, use)
    kl_mean = average(kl, counts, left, of, use, "kl.aggregation")
    entropy = average(of.entropy, counts, left, of, use, "loss.entropy_aggregation")
    total = policy - use.number("loss.ent_coef") * entropy
    if use.word("kl.place") == "loss":
        total = total + use.number("kl.coef") * kl_mean
    return Losses(ratio, tokens, weight, kl, policy, kl_mean, entropy, total)


def ratios(of: Responses, d: Tensor, use: Asked) -> Tensor:
    """Returns the ratio of every token, 1 behind the response. Only that of a token is clamped: OpenRLHF and verl, gspo."""
    eps, level = use.number("ratio.length_eps"), use.word("ratio.level")
    mean = mean_of_rows(d, of.mask, eps)
    if level == "own_token":
        most = use.limit("ratio.sequence_most")
        log = wide(mean if most is None else mean.clamp(max=most), d)
    else:
        ways = {
            "token": lambda: use.around(d, "ratio.clamp"),
            "response": lambda: wide(mean, d),
            "product": lambda: wide(d.sum(1), d),
            "rollout": lambda: wide(mean_of_rows(of.new - of.rollout, of.mask, eps), d),
            "batch": lambda: d.sum().expand_as(d),
        }
        log = ways[level]()
    return (log * of.mask).exp()


def objective(of: Responses, d: Tensor, ratio: Tensor, A: Tensor, use: Asked) -> Tensor:
    """Returns the loss of every token."""
    low, high = use.limit("loss.clip_low"), use.limit("loss.clip_high")
    ends = None if low is None else 1 - low, None if high is None else 1 + high
    clipped = ratio if ends == (None, None) else ratio.clamp(*ends)
    match use.word("loss.objective"):
        case "clip":
            most, dual = use.limit("loss.delta"), use.limit("loss.dual_clip")
            free = ratio if most is None else ratio.clamp(max=most)
            worse = torch.maximum(-free * A, -clipped * A)
            return worse if dual is None else torch.where(A < 0, worse.minimum(-dual * A), worse)
        case "cispo":
            return -clipped * A * of.new
        case "reinforce":
            return -A * of.new
        case "ratio":
            return -ratio * A
        case "sapo":
            tau = either(A > 0, use.number("loss.sapo_good"), use.number("loss.sapo_bad"), A)
            return -A * 2 * 2 / tau * torch.sigmoid(tau * (ratio - 1))
        case "gmpo":
            held = d if low is None and high is None else d.clamp(None if low is None else -low, high)
            worse = A.sign() * torch.minimum(A.sign() * d, A.sign() * held)
            length = of.lengths.clamp(min=1) + use.number("ratio.length_eps")
            geometric = ((worse * of.mask).sum(1) / length).exp()
            return wide(-geometric * (A * of.mask).sum(1) / length, d)
        case _:
            return -vespo_weight(of, d, A, use) * A * of.new


def vespo_weight(of: Responses, d: Tensor, A: Tensor, use: Asked) -> Tensor:
    """Returns φ(w) = e^λ·w^k·e^(−λw) of each token's sign of A, w the ratio of the response (TRL 1.16.0, get_gamma_weights)."""
    log_w = (d * of.mask).sum(1, keepdim=True).clamp(use.number("vespo.least"), use.number("vespo.most"))
    k, rate = (
        either(A >= 0, use.number(f"vespo.{name}_good"), use.number(f"vespo.{name}_bad"), A)
        for name in ("power", "rate")
    )
    return (rate + k * log_w - rate * log_w.exp()).exp()


def rollout_weights(of: Responses, top: Tensor, use: Asked) -> tuple[Tensor, Tensor]:
    """Returns the weight of every token, and what is not rejected, [B, T]."""
    log = (top - of.rollout) * of.mask
    token, mean = use.around(log, "rollout.clamp").exp(), wide(mean_of_rows(log, of.mask), log)
    product = wide(use.around(log.sum(1), "rollout.clamp").exp(), log)
    low, high = use.limit("rollout.reject_low"), use.limit("rollout.reject_high")
    tried = {"off": torch.zeros_like(log), "token": log, "mean": mean}[use.word("rollout.reject")].exp()
    accepted = of.mask if use.word("rollout.reject") == "off" else of.mask * inside(tried, low, high)
    level = use.word("rollout.level")
    if level == "none":
        return torch.ones_like(log), accepted
    w = {"token": token, "product": product, "mean": mean.exp()}[level]
    good = inside(judged(of, top, w, level, use), use.limit("rollout.low"), use.limit("rollout.high"))
    made = {"truncate": use.between(w, "rollout.low", "rollout.high"), "mask": good * w, "filter": good * token}[
        use.word("rollout.mode")
    ]
    means = weight_means(made, of.mask, use.number("rollout.mean_eps"))
    mean = means["tokens" if level == "token" else "responses"]
    return (made / mean if use.word("rollout.normalise") == "on" and mean > 0 else made), accepted


def weight_means(w: Tensor, m: Tensor, eps: float) -> dict[str, Tensor]:
    """Returns the mean of weights over tokens and over responses (verl 0.9.0, compute_rollout_correction_weights)."""
    each = (m * w).sum(1) / (m.sum(1).clamp(min=1) + eps)
    return {"tokens": (m * w).sum() / (m.sum() + eps), "responses": each.sum() / (m.sum(1) > 0).sum().clamp(min=1)}


def judged(of: Responses, top: Tensor, w: Tensor, level: str, use: Asked) -> Tensor:
    """Returns what is compared with the bounds of the weights."""
    match use.word("rollout.statistic"):
        case "ratio":
            return w
        case "difference":
            return (top.exp() - of.rollout.exp()).abs()
    p = of.rollout.exp()
    kl = p * (of.rollout - top) + (1 - p) * (torch.log1p(-p) - torch.log1p(-top.exp()))
    kl = torch.where(of.mask > 0, kl, 0)  # a log-prob of 0, behind the response, has none
    return kl if level == "token" else wide(mean_of_rows(kl, of.mask), kl)


def inside(x: Tensor, low: float | None, high: float | None) -> Tensor:
    """Returns 1 where numbers are within bounds."""
    good = torch.ones_like(x, dtype=torch.bool)
    good = good if low is None else good & (x >= low)
    return (good if high is None else good & (x <= high)).to(x)


def kept(of: Responses, A: Tensor, use: Asked) -> Tensor:
    """Returns 0 on bad responses that are far off policy, and on tokens of little entropy (TRL 1.16.0); else 1."""
    far, least = use.limit("loss.off_policy"), use.limit("loss.entropy_least")
    keep = torch.ones_like(of.mask)
    if far is not None:
        distance = wide(mean_of_rows(of.old - of.new, of.mask), keep)
        keep = keep * torch.where((A < 0) & (distance > far), 0.0, 1.0)
    return keep if least is None else keep * (of.entropy >= least)


def kl_in_loss(of: Responses, ratio: Tensor, use: Asked) -> Tensor:
    """Returns the KL to the reference of every token: NeMo-RL, calculate_kl; slime and OpenRLHF, compute_approx_kl; TRL.

    The estimate within the clamp of its log-ratio is multiplied, then clamped itself. The policy's weight over itself is 1.
    """
    within = use.around((of.new - of.reference) * of.mask, "kl.clamp_in")
    ways = {"ratio": ratio, "rollout": ((of.new - of.rollout) * of.mask).exp()}
    weight = ways.get(use.word("kl.weight"), torch.ones_like(within))
    return use.around(weight * estimate(within, use), "kl.clamp_out") * of.mask


def average(x: Tensor, counts: Tensor, left: Tensor, of: Responses, use: Asked, setting: str) -> Tensor:
    """Averages a number of every token as a convention says, over the responses that are left, [B]."""
    mode = use.word(setting)
    mode = use.word("loss.aggregation") if mode == "as_policy" else mode
    summed, lengths, constant = (x * counts).sum(1), counts.sum(1), use.number("loss.constant")
    rows = left.sum().clamp(min=1) + use.number("loss.rows_eps")
    match mode:
        case "token_mean":
            least = use.number("loss.at_least") if use.word("loss.aggregation") == "token_mean" else 1.0
            return summed.sum() / (lengths.sum().clamp(min=least) + use.number("loss.agg_eps"))
        case "seq_mean_token_mean":
            each = torch.where(
                lengths > 0,
                summed / (lengths + use.number("loss.length_eps")).clamp(min=torch.finfo(summed.dtype).tiny),
                summed,
            )
            return each.sum() / rows
        case "seq_mean_token_sum":
            return summed.sum() / rows / constant
        case "token_sum":
            return summed.sum() / constant
    prompts = torch.stack([each.amax() for each in of.by_prompt(left)]).sum().clamp(min=1)
    tokens = torch.stack([each.sum() for each in of.by_prompt(lengths)]).clamp(min=1)
    return (torch.stack([each.sum() for each in of.by_prompt(summed)]) / tokens).sum() / prompts
