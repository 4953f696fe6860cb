"""From the score of a response to the advantage of each of its tokens, without a critic, as 21 trainers have it.

In stages: rewards, advantages of responses, advantages of tokens. B responses, T tokens: rewards, lengths, groups are [B], what is
of tokens is [B, T]; `mask` says which tokens are response. No gradient flows here. Versions, and who has what by default:
blueprint/workbooks/grpo/conventions.toml and presets.csv.
"""

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from blueprint.papers.advantage import returns
from blueprint.papers.libraries.ppo import Whitening, divisor, moments


@dataclass(frozen=True)
class Shaping:
    """What becomes of a score before responses are compared."""

    overlong: str = "off"  # "linear": DAPO, eq. 13, as verl has it, without its third case; "capped": OpenRLHF
    max_tokens: float = 0
    buffer: float = 1
    overlong_factor: float = 1.0
    truncated: float | None = (
        None  # of a response that was cut off: a factor, or, below 0, the reward (OpenRLHF, NeMo-RL)
    )
    clip_low: float = -inf
    clip_high: float = inf
    clip_at: str = "before"  # or "after" the comparison (OpenRLHF)


@dataclass(frozen=True)
class Group:
    """How a response is compared with the others to its prompt."""

    baseline: str = "mean"
    std: str = "group"
    ddof: int = 1
    eps: float = 1e-4  # added to the deviation, never inside the root
    zero_std: str = "divide"  # "skip": divided only where the deviation is above 0 (NeMo-RL)
    filter: str = "off"


@dataclass(frozen=True)
class Credit:
    """How a token comes to its advantage, and what is done with all advantages of the batch."""

    credit: str = "outcome"
    gamma: float = 1.0
    whiten: str = "none"  # "responses": TRL's RLOO; "tokens": REINFORCE++
    whiten_form: str = "inside"
    whiten_eps: float = 1e-8
    whiten_ddof: int = 1
    mean_eps: float = 0.0


@dataclass(frozen=True)
class Compared:
    """Of each response, [B]: what its reward is compared with, what it is divided by, the advantage, and whether it is used."""

    baseline: Tensor
    deviation: Tensor
    advantages: Tensor
    left: Tensor


# --- Rewards of responses [B]


def shaped_rewards(scores: Tensor, lengths: Tensor, truncated: Tensor, how: Shaping) -> Tensor:
    """Returns scores less what it costs to be nearly too long, or to have been cut off."""
    if how.overlong != "off":
        beyond = (lengths - (how.max_tokens - how.buffer)).clamp(min=0) / how.buffer
        if how.overlong == "capped":
            beyond = beyond.clamp(max=1)
        scores = scores - how.overlong_factor * beyond
    if how.truncated is not None:
        cut = scores * how.truncated if how.truncated >= 0 else torch.full_like(scores, how.truncated)
        scores = torch.where(truncated, cut, scores)
    return scores.clamp(how.clip_low, how.clip_high) if how.clip_at == "before" else scores


# --- Advantages of responses [B]


def is_level(r: Tensor) -> bool:
    """Whether all of the rewards are the same number."""
    return bool((r == r[0]).all())


def baselines_in_group(r: Tensor, lengths: Tensor, how: str) -> Tensor:
    """Returns what each of the rewards of one prompt is compared with."""
    if len(r) == 1 or how == "none":
        return torch.zeros_like(r)
    if how in ("mean", "others") and is_level(r):
        return r  # what the rounding of a mean leaves of equal rewards has a sign, and is not 0
    match how:
        case "mean":
            return r.mean().expand_as(r)
        case "others":  # RLOO, eq. 4
            return (r.sum() - r) / (len(r) - 1)
        case "length":  # OPO: the longer a response, the more it says about what the prompt is worth
            return ((lengths * r).sum() / lengths.sum().clamp(min=1)).expand_as(r)
        case "second":  # verl, pass@k: the best alone has an advantage, over the second best
            first, second = r.topk(2).values
            return torch.where(r == first, second, r)
    raise ValueError(how)


def deviations_in_group(r: Tensor, how: str, ddof: int) -> Tensor:
    """Returns what each of the rewards of one prompt is divided by; of a response that is alone it is 1."""
    G = len(r)
    if G == 1:
        return torch.ones_like(r)
    match how:
        case "group":  # GRPO, sec. 4.1
            return r.std(correction=ddof).expand_as(r)
        case "moments":  # NeMo-RL
            return (((r**2).mean() - r.mean() ** 2).clamp(min=0) * G / (G - 1)).sqrt().expand_as(r)
        case "others":  # NeMo-RL; one other alone has none
            # Less their largest first: of others that are equal rounding alone must not make a spread, by which is divided.
            others = [torch.cat((r[:i], r[i + 1 :])) for i in range(G)]
            return torch.stack([(each - each.max()).std() if G > 2 else 0 * r[0] for each in others])
        case "mean":  # MaxRL
            return r.mean().expand_as(r)
    raise ValueError(how)


def members_of(group: Tensor) -> list[Tensor]:
    """Returns which responses each group has."""
    return [group == g for g in set(group.tolist())]


def compare(rewards: Tensor, group: Tensor, prompt: Tensor, lengths: Tensor, greedy: Tensor, how: Group) -> Compared:
    """Compares each reward with the others of its group, [B].

    prompt: to which prompt a response is, by which it is filtered; greedy: the reward of the greedy response.
    """
    members = members_of(group)
    baseline, deviation, centred = (torch.zeros_like(rewards) for _ in range(3))
    equal = torch.zeros_like(rewards, dtype=torch.bool)  # then the deviation is none, however the mean is rounded
    for own in members:
        r = rewards[own]
        equal[own] = how.std in ("group", "group_of_advantages") and len(r) > 1 and is_level(r)
        centred[own] = r - baselines_in_group(r, lengths[own], "mean")
        if how.baseline not in ("greedy", "batch"):
            baseline[own] = baselines_in_group(r, lengths[own], how.baseline)
        if how.std in ("group", "moments", "others", "mean"):
            deviation[own] = deviations_in_group(r, how.std, how.ddof)
    if how.baseline == "greedy":  # ReMax
        baseline = greedy
    if how.baseline == "batch":
        baseline = rewards.mean().expand_as(rewards)

    advantages = rewards - baseline
    match how.std:
        case "none":  # Dr. GRPO
            deviation = torch.ones_like(rewards)
        case "batch":
            deviation = rewards.std(correction=how.ddof).expand_as(rewards)
        case "residual":  # AReaL: of all rewards, each around the mean of its group
            deviation = ((centred**2).sum() / (len(rewards) - 1)).sqrt().expand_as(rewards)
        case "batch_of_advantages":
            deviation = advantages.std(correction=how.ddof).expand_as(rewards)
        case "group_of_advantages":
            for own in members:
                deviation[own] = deviations_in_group(advantages[own], "group", how.ddof)
        case "not_zero":  # GPG: advantages · B / number of rewards that are not 0
            deviation = (rewards.count_nonzero().clamp(min=1).to(rewards.dtype) / len(rewards)).expand_as(rewards)
    if how.std != "none":
        scaled = advantages / (deviation + how.eps)
        advantages = torch.where(equal | (deviation == 0), advantages, scaled) if how.zero_std == "skip" else scaled
    varies = ~equal & (deviation != 0)
    return Compared(baseline, deviation, advantages, used(rewards, members_of(prompt), varies, how.filter))


def used(rewards: Tensor, members: list[Tensor], varies: Tensor, how: str) -> Tensor:
    """Returns which responses stay in the batch; a library draws others for those that do not. varies: whether they are divided."""
    left = torch.ones_like(rewards, dtype=torch.bool)
    if how == "zero_spread":  # NeMo-RL, response by response
        return varies
    for own in members:
        r = rewards[own]
        if how == "constant" and len(r) > 1:  # DAPO, eq. 11; verl
            left[own] = bool((r != r[0]).any())
        if how == "mean_at_end":  # OpenRLHF
            left[own] = bool(0 < r.mean() < 1)
    return left


def finished(advantages: Tensor, shaping: Shaping, how: Credit) -> Tensor:
    """Holds advantages of responses within limits, and whitens them, where a library does so."""
    if shaping.clip_at == "after":
        advantages = advantages.clamp(shaping.clip_low, shaping.clip_high)
    if how.whiten == "responses":
        advantages = (advantages - advantages.mean()) / (advantages.std() + how.whiten_eps)
    return advantages


# --- Advantages of tokens [B, T]


def at_last_token(x: Tensor, mask: Tensor) -> Tensor:
    """Lays a number of each response, [B], on its last token."""
    place = torch.arange(mask.shape[1], device=mask.device)
    row = mask.any(1)
    laid = torch.zeros(mask.shape, dtype=x.dtype, device=x.device)
    laid[row, (mask * place).argmax(1)[row]] = x[row]
    return laid


def advantages_of_tokens(
    advantages: Tensor, rewards: Tensor, baseline: Tensor, paid: Tensor, mask: Tensor, place: str, how: Credit
) -> Tensor:
    """Credits tokens with the advantage of their response.

    rewards: shaped, [B]; paid: the KL that each token pays, [B, T], and the place where it pays: of its own reward
    ("reward_token", before responses were compared, or "after"), or of its "advantage".
    """
    mine = paid.where(mask, 0) if place in ("reward_token", "after") else torch.zeros_like(paid)
    match how.credit:
        case "outcome":  # GRPO, sec. 4.1: the same for all tokens
            A = advantages[:, None].expand(mask.shape)
        case "to_go":  # OpenRLHF
            A = returns(at_last_token(advantages, mask) - mine, how.gamma)
        case "reward_to_go":  # verl: REINFORCE++, ReMax
            A = returns(at_last_token(rewards, mask) - mine, how.gamma) - baseline[:, None]
        case "discounted":  # the authors of ReMax, once for each token from here on
            remaining = mask.flip(1).cumsum(1).flip(1).to(advantages.dtype)
            A = advantages[:, None] * how.gamma**remaining
        case _:
            raise ValueError(how.credit)
    if place == "advantage":
        A = A - paid
    return whitened(A.where(mask, 0), mask, how) if how.whiten == "tokens" else A.where(mask, 0)


FORMS = {"inside": "rsqrt_var_plus", "at_least": "clamp", "outside": "std_plus"}
"""By where eps stands, the form of `papers.libraries.ppo` (verl; OpenRLHF and NeMo-RL; AReaL); otherwise nothing is scaled."""


def whitened(A: Tensor, mask: Tensor, how: Credit) -> Tensor:
    """Centres advantages over all tokens of the batch, and scales them (REINFORCE++); eps stands in or outside of the root."""
    form = FORMS.get(how.whiten_form)
    whitening = Whitening(ddof=how.whiten_ddof, eps=how.whiten_eps, form=form or "", mean_eps=how.mean_eps)
    mean, variance = moments(A, mask, whitening)
    return ((A - mean) / (divisor(variance, whitening) if form else 1.0)).where(mask, 0)
