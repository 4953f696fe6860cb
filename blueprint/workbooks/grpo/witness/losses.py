"""From log-probs and advantages to the loss, in torch; its gradients are those of autograd.

Sources: GRPO, 2402.03300, eq. 3; DAPO, 2503.14476, eq. 8 to 12; dual clip, 1912.09729; GSPO, 2507.18071, eq. 7 and 14; CISPO,
2506.13585, eq. 4; SAPO, 2511.20347; GMPO, 2507.20673; TRL 1.16.0 grpo_trainer.py, verl 0.9.1 core_algos.py, rollout_corr_helper.py.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from blueprint.witness import Asked
from blueprint.workbooks.grpo.witness.advantages import Signal, estimate
from blueprint.workbooks.grpo.witness.options import Responses, either, mean_of_rows, wide
from blueprint.workbooks.grpo.witness.rollouts import weight_means


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
    below = {"old": of.old, "new": of.new.detach(), "rollout": of.rollout}[use.word("ratio.old")]
    d = (of.new - below) * of.mask
    ratio = ratios(of, d, use)
    tokens = objective(of, d, ratio, made.advantages, use) * of.mask
    numerator = of.old if use.word("ratio.old") == "old" else of.new.detach()
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
        own = of.new - of.new.detach() + wide(mean.detach(), d)
        most = use.limit("ratio.sequence_most")
        log = own if most is None else own.clamp(max=most)
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
            return -clipped.detach() * A * of.new
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
    return (rate + k * log_w - rate * log_w.exp()).exp().detach()


def rollout_weights(of: Responses, top: Tensor, use: Asked) -> tuple[Tensor, Tensor]:
    """Returns the weight of every token, and what is not rejected, [B, T]; nothing flows back through either."""
    log = ((top - of.rollout) * of.mask).detach()
    token, mean = use.around(log, "rollout.clamp").exp(), wide(mean_of_rows(log, of.mask), log)
    product = wide(use.around(log.sum(1), "rollout.clamp").exp(), log)
    low, high = use.limit("rollout.reject_low"), use.limit("rollout.reject_high")
    tried = {"off": torch.zeros_like(log), "token": log, "mean": mean}[use.word("rollout.reject")].exp()
    accepted = of.mask if use.word("rollout.reject") == "off" else of.mask * inside(tried, low, high)
    level = use.word("rollout.level")
    if level == "none":
        return torch.ones_like(log), accepted
    w = {"token": token, "product": product, "mean": mean.exp()}[level]
    good = inside(judged(of, top.detach(), w, level, use), use.limit("rollout.low"), use.limit("rollout.high"))
    made = {"truncate": use.between(w, "rollout.low", "rollout.high"), "mask": good * w, "filter": good * token}[
        use.word("rollout.mode")
    ]
    means = weight_means(made, of.mask, use.number("rollout.mean_eps"))
    mean = means["tokens" if level == "token" else "responses"]
    return (made / mean if use.word("rollout.normalise") == "on" and mean > 0 else made), accepted


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
        distance = wide(mean_of_rows((of.old - of.new).detach(), of.mask), keep)
        keep = keep * torch.where((A < 0) & (distance > far), 0.0, 1.0)
    return keep if least is None else keep * (of.entropy.detach() >= least)


def kl_in_loss(of: Responses, ratio: Tensor, use: Asked) -> Tensor:
    """Returns the KL to the reference of every token: NeMo-RL, calculate_kl; slime and OpenRLHF, compute_approx_kl; TRL.

    The estimate within the clamp of its log-ratio is multiplied, then clamped itself. A weight that corrects the draw of a token
    is a number where the first clamp holds; the ratio, by which TRL and slime multiply, always has its gradient.
    """
    free = (of.new - of.reference) * of.mask
    within = use.around(free, "kl.clamp_in")
    word = use.word("kl.weight")
    if word in ("own", "rollout"):
        below = of.new.detach() if word == "own" else of.rollout
        weight = ((of.new - below) * of.mask).exp()
        weight = torch.where(free == within, weight, weight.detach())
    else:
        weight = ratio if word == "ratio" else torch.ones_like(free)
    value = use.around(weight * estimate(within, use), "kl.clamp_out")
    if use.word("kl.gradient") == "own":
        return value * of.mask
    surrogate = weight * free.square() / 2
    if use.word("kl.gradient") == "k2_is":
        below = {"old": of.old, "new": of.new, "rollout": of.rollout}[use.word("ratio.old")]
        surrogate = ((of.new - below) * of.mask).exp().clamp(max=use.number("kl.reach")).detach() * surrogate
    return (value.detach() + surrogate - surrogate.detach()) * of.mask


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
