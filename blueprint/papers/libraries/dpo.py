"""DPO and its relatives as 18 libraries compute them: the page `dpo.py` with their conventions as options, stage by stage.

Tensors are [2P, T]: the chosen responses of P pairs, then the rejected ones, T tokens; [2P]; or [P]. `.detach()` stands
where a library stops a gradient. Papers of the forms: robust DPO 2403.00409, RSO 2309.06657 (hinge), SLiC 2305.10425,
IPO 2310.12036, EXO 2402.00856, DiscoPOP 2406.08414, SPPO 2405.00675, NCA 2402.05369, BCO 2404.04656, APO 2408.06266, AOT
2406.05882, ORPO 2403.07691, KTO 2402.01306. RPO is NeMo-Aligner's, af2b3bd; the odds of tokens are ColossalChat's, 4f9953b.
"""

from dataclasses import dataclass
from math import inf, log

import torch
from torch import Tensor
from torch.nn.functional import log_softmax, logsigmoid, pad, relu


@dataclass(frozen=True)
class Options:
    """The conventions in which libraries differ; the defaults are those of the paper."""

    form: str = "sigmoid"  # see `losses_of_pairs`; "kto" and "apo_zero_unpaired" take each response by itself
    beta: float = 0.1
    gamma: float = 0.0
    smoothing: float = 0.0
    exo_eps: float = 0.001
    discopop_tau: float = 0.05
    odds_one: float = 1.0001
    bco_threshold: str = "off"  # or "batch_mean"
    bco_mix: float = 0.0  # LLaMA-Factory: how much of BCO is mixed in
    desirable: float = 1.0
    undesirable: float = 1.0
    kl_mean: str = "all"  # or "nonzero" (HALOs): of which mismatched responses
    weight: str = "off"  # "wpo" (2406.11827, eq. 2), or "wpo_shifted" (TRL 0.24.0: one token late, at most 1)
    mean_eps: float = 0.0  # NeMo-RL: added to the number of pairs
    nll_coef: float = 0.0
    nll_mean: str = "token"  # "sequence_mean", "sequence_sum", "cells"
    nll_region: str = "response"  # "text", "everything"
    logp: str = "sum"  # "mean", "mean_nonzero" (HALOs), "mean_with_pad" (the first ORPO)
    alpha: float = inf  # AlphaPO, 2501.03884: how a log-prob is bent; infinite: not at all
    ld: str = "off"  # LD-DPO, 2409.06411, eq. 8: the tail counts less for the "policy", or for "both"
    ld_from: str = "response"  # or "row" (TRL 0.24.0): from where the tail is counted
    ld_alpha: float = 1.0
    reference: bool = True
    divergence: str = "reverse_kl"  # "forward_kl", "js" (f-DPO, 2309.16240)
    logged: str = "same"  # "sum", "with_reference", "no_beta": which rewards are logged


@dataclass(frozen=True)
class Batch:
    """Pairs as a trainer has them: chosen responses first, then rejected ones, [2P, T] or [2P]."""

    logp: Tensor
    logp_ref: Tensor
    mask: Tensor  # which tokens are response
    text: Tensor  # which are prompt or response; the first token of a text has no column
    log_square: Tensor  # log Σ π² of what each token was drawn from: WPO
    elsewhere: Tensor  # log π/π_ref of responses to other prompts: KTO
    true_rewards: Tensor  # RPO


@dataclass(frozen=True)
class Preference:
    """What one batch comes to: by response [2P], by pair [P], or one number."""

    logp: Tensor
    logp_ref: Tensor
    ratio: Tensor
    margin: Tensor
    losses: Tensor  # by pair, weighed
    bco_losses: Tensor
    kto_point: Tensor
    kto_losses: Tensor
    preference_loss: Tensor
    nll: Tensor
    loss: Tensor
    rewards: Tensor  # as they are logged
    mean_rewards: Tensor  # of chosen and of rejected responses, [2]
    mean_margin: Tensor
    accuracy: Tensor
    mean_logp: Tensor  # of chosen and of rejected responses, [2]


def logprobs(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the log-prob of each token written, and log Σ π² of what it was drawn from, [N, T]."""
    log_p = log_softmax(logits, -1)
    return log_p.gather(-1, ids[..., None])[..., 0], (2 * log_p).logsumexp(-1)


# --- 1. The log-prob of a response [2P]


def tail_counts_less(logp: Tensor, mask: Tensor, ld_from: str, alpha: float) -> Tensor:
    """Returns log-probs, [2P, T], times alpha beyond the length of the shorter response of the pair."""
    lengths = mask.sum(1, keepdim=True)
    shorter = torch.minimum(*lengths.chunk(2)).repeat(2, 1)
    if ld_from == "response":
        return torch.where(mask.cumsum(1) <= shorter, logp, alpha * logp)
    place = torch.arange(1, mask.shape[1] + 1, device=mask.device)  # the first token of the prompt is at 0
    return torch.where(place < shorter, logp, alpha * logp).where(place < lengths, 0)


def tokens_counted(batch: Batch, use: Options) -> tuple[Tensor, Tensor]:
    """Returns which tokens are added up for a response, [2P, T], and what a mean divides their sum by, [2P]."""
    counted = batch.mask
    if use.logp == "mean_with_pad":  # the pad behind a text that is shorter than the longest
        counted = counted | (pad(batch.text, (1, -1), value=True) & ~batch.text)
    number = counted.sum(1)
    if use.logp == "mean_nonzero":
        other = batch.logp_ref if use.reference else torch.zeros_like(batch.logp)
        number = (batch.mask & (batch.logp != other)).sum(1)
    elif use.logp == "mean" and use.reference:  # TRL's DPO: of no token 0
        number = number.clamp(min=1)
    return counted, number


def of_responses(logp: Tensor, batch: Batch, use: Options, weighed: bool) -> tuple[Tensor, Tensor]:
    """Returns what the loss takes for the log-prob of each response, and the sum over its tokens, [2P]."""
    counted, number = tokens_counted(batch, use)
    logp = tail_counts_less(logp, batch.mask, use.ld_from, use.ld_alpha) if weighed else logp
    total = logp.where(counted, 0).sum(1)
    return total if use.logp == "sum" else total / number, total


# --- 2. The loss of a pair [P]


def log_odds(x: Tensor) -> Tensor:
    """Returns ln p − ln(1 − p) of x = ln p."""
    return x - (-x.expm1()).log()


def smoothed(u: Tensor, eps: float) -> Tensor:
    """Returns the loss of DPO where a share of labels is wrong (cDPO, eq. 3)."""
    return -(1 - eps) * logsigmoid(u) - eps * logsigmoid(-u)


def bco(rewards: Tensor, threshold: str) -> Tensor:
    """Returns the loss of a classifier that tells chosen from rejected responses."""
    delta = rewards.mean().detach() if threshold == "batch_mean" else 0.0
    chosen, rejected = (rewards - delta).chunk(2)
    return -logsigmoid(chosen) - logsigmoid(-rejected)


def losses_of_pairs(ratio: Tensor, h: Tensor, batch: Batch, policy: Tensor, ref: Tensor, use: Options) -> Tensor:
    """Returns the loss of each pair.

    ratio: log π/π_ref of responses, [2P]; h: of the chosen less the rejected one, by the divergence in use.
    policy, ref: the log-probs of which they are made, [2P].
    """
    a, c = ratio.chunk(2)
    beta, eps, u = use.beta, use.smoothing, use.beta * h - use.gamma
    sure, half, popular = u.sigmoid(), 1 / (2 * beta), u / use.discopop_tau
    own, true = beta * h, torch.sub(*batch.true_rewards.chunk(2))
    right, wrong = logsigmoid(true) - logsigmoid(own), logsigmoid(-true) - logsigmoid(-own)
    odds = batch.logp - (use.odds_one - batch.logp.exp()).log()
    odds_w, odds_l = (x[m].mean() for x, m in zip(odds.chunk(2), batch.mask.chunk(2), strict=True))
    return {
        "sigmoid": smoothed(u, eps),
        "robust": (eps * logsigmoid(-u) - (1 - eps) * logsigmoid(u)) / (1 - 2 * eps),
        "hinge": relu(1 - u),
        "slic": relu(beta - h),
        "ipo": (h - half) ** 2,
        "exo": sure * (logsigmoid(u) - log(1 - use.exo_eps)) + (1 - sure) * (logsigmoid(-u) - log(use.exo_eps)),
        "discopop": (logsigmoid(popular) - u).exp() - (-popular).sigmoid() * logsigmoid(u),
        "sppo": (a - half) ** 2 + (c + half) ** 2,
        "nca": -logsigmoid(beta * a) - (logsigmoid(-beta * a) + logsigmoid(-beta * c)) / 2,
        "bco": bco(beta * ratio, use.bco_threshold),
        "apo_zero": 1 - (beta * a).sigmoid() + (beta * c).sigmoid(),
        "apo_down": 1 + (beta * a).sigmoid() - own.sigmoid(),
        "rpo_squared": (own - true) ** 2,
        "rpo_backward": true.sigmoid() * right + (-true).sigmoid() * wrong,
        "rpo_forward": -own.sigmoid() * right - (-own).sigmoid() * wrong,
        "aot": smoothed(beta * (torch.sub(*policy.chunk(2)).sort()[0] - torch.sub(*ref.chunk(2)).sort()[0]), eps),
        "aot_unpaired": smoothed(beta * (a.sort()[0] - c.sort()[0]), eps),
        "orpo": -beta * logsigmoid(torch.sub(*log_odds(policy).chunk(2))),
        "orpo_tokens": -logsigmoid(odds_w - odds_l).expand_as(h),
        "kto": torch.zeros_like(h),
        "apo_zero_unpaired": torch.zeros_like(h),
        "none": torch.zeros_like(h),
    }[use.form]


def weights_of_pairs(batch: Batch, how: str) -> Tensor:
    """Returns what each pair weighs, [P]: 1, or how likely the policy itself writes such responses (WPO)."""
    if how == "off":
        return batch.logp.new_ones(len(batch.logp) // 2)
    written = pad(batch.logp.where(batch.mask, 0), (1, -1)) if how == "wpo_shifted" else batch.logp
    likely = (written - batch.log_square).where(batch.mask, 0).sum(1) / batch.mask.sum(1).clamp(min=1)
    weight = torch.add(*likely.chunk(2)).exp().detach()
    return weight.clamp(max=1) if how == "wpo_shifted" else weight


# --- 3. Each response by itself [2P]


def losses_of_responses(batch: Batch, use: Options) -> tuple[Tensor, Tensor]:
    """Returns the loss of each response, and what it is compared with (KTO; APO-zero compares with 0)."""
    ratio = (batch.logp - batch.logp_ref).where(batch.mask, 0).sum(1)
    good = torch.arange(len(ratio), device=ratio.device) < len(ratio) // 2
    seen = batch.elsewhere[batch.elsewhere != 0] if use.kl_mean == "nonzero" else batch.elsewhere
    z = seen.mean().clamp(min=0).detach() if use.form == "kto" else ratio.new_zeros(())
    weight = torch.full_like(ratio, use.undesirable).masked_fill(good, use.desirable)
    return weight * (1 - (use.beta * torch.where(good, ratio - z, z - ratio)).sigmoid()), z


# --- 4. The batch


def likelihood(batch: Batch, use: Options) -> Tensor:
    """Returns the NLL of the chosen responses."""
    regions = {"response": batch.mask, "text": batch.text, "everything": torch.ones_like(batch.mask)}
    counted, logp = regions[use.nll_region].chunk(2)[0], batch.logp.chunk(2)[0]
    sums, pairs = -logp.where(counted, 0).sum(1), len(logp) + use.mean_eps
    match use.nll_mean:
        case "token":
            return -logp[counted].mean()
        case "sequence_mean":
            return (sums / counted.sum(1).clamp(min=1)).sum() / pairs
        case "sequence_sum":
            return sums.sum() / pairs
        case "cells":
            return sums.sum() / logp.numel()
    raise ValueError(use.nll_mean)


def dpo(batch: Batch, use: Options) -> Preference:
    """Returns the loss of a batch, and what is logged."""
    policy, sums = of_responses(batch.logp, batch, use, use.ld in ("policy", "both"))
    ref, sums_ref = of_responses(batch.logp_ref, batch, use, use.ld == "both")
    bent = policy if use.alpha == inf else (1 - (-use.alpha * policy).exp()) / use.alpha
    ratio = bent - ref if use.reference else bent
    divergences = {"reverse_kl": ratio, "forward_kl": 1 - (-ratio).exp(), "js": log(2) + logsigmoid(ratio)}
    h = torch.sub(*divergences[use.divergence].chunk(2))
    weighed = weights_of_pairs(batch, use.weight) * losses_of_pairs(ratio, h, batch, bent, ref, use)
    classified = bco(use.beta * ratio, use.bco_threshold)
    singly, z = losses_of_responses(batch, use)
    pairs = len(h) + use.mean_eps
    preference = weighed.sum() / pairs
    if use.form in ("kto", "apo_zero_unpaired"):
        preference = singly.sum() / (2 * len(h) + use.mean_eps)
    if use.bco_mix:
        preference = (preference + use.bco_mix * classified.sum() / pairs) / (1 + use.bco_mix)
    nll = likelihood(batch, use)
    loss = preference + use.nll_coef * nll if use.nll_coef else preference
    logged = {"same": ratio, "sum": sums - sums_ref, "with_reference": bent - ref, "no_beta": ratio}[use.logged]
    rewards = (logged if use.logged == "no_beta" else use.beta * logged).view(2, -1)
    seen = (sums if use.logged == "sum" else policy).view(2, -1)
    gap = rewards[0] - rewards[1]
    return Preference(
        bent, ref, ratio, h, weighed, classified, z, singly, preference, nll, loss, rewards, rewards.sum(1) / pairs,
        gap.sum() / pairs, (rewards[0] > rewards[1]).to(h.dtype).sum() / pairs, seen.sum(1) / pairs,
    )  # fmt: skip
