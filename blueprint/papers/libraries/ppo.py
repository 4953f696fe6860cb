"""PPO as ten libraries compute it: the page `papers/ppo.py` with every convention in which they differ as an option.

What an option stands for, and which library has it, is beside it; without any the numbers are those of the plain page. Limits
that are off are infinite. What is done to logits comes before: a temperature, and the numbers by token of `Rollout` and `Update`.

Tensors are [B, T]: B responses in T columns. `slots` says where a response may have tokens, in one piece; `mask` where it has
them: it may have holes. What stands at places that no library's loss reads is not that of any library: never compare pads.
"""

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from blueprint.papers.metrics import kl_estimate


@dataclass(frozen=True)
class Rollout:
    """What is known before the update: of the old policy, the reference, the old critic, and the reward model."""

    mask: Tensor
    slots: Tensor
    ended: Tensor  # [B], whether the end token was written
    scores: Tensor  # [B]; [B, T] where each token has a score, which lands where it is
    logp: Tensor
    logp_ref: Tensor
    values: Tensor
    exact_kl: Tensor  # KL(π_old ‖ π_ref) of the whole distribution, which the estimator "full" reads
    padded: Tensor | None = None  # [B], whether a slot was left over, where `slots` does not show it
    length: Tensor | None = None  # [B], tokens of a response, where `mask` does not show all


@dataclass(frozen=True)
class Update:
    """What the new policy and the new critic say of the same tokens."""

    logp: Tensor
    values: Tensor
    entropy: Tensor
    exact_kl: Tensor  # KL(π_θ ‖ π_ref)
    policy_kl: Tensor  # KL(π_old ‖ π_θ)


@dataclass(frozen=True)
class Kl:
    """The price of leaving the reference: its weight, the estimate (Schulman 2020), and how far log-ratio and estimate may go."""

    coef: float = 0.0
    estimator: str = "k1"  # k1, k2, k3, abs, full
    clamp_in: float = inf  # NeMo-RL 20; verl 20 for k3
    clamp_out: float = inf  # OpenRLHF and NeMo-RL 10; verl 10 for k3


@dataclass(frozen=True)
class Whitening:
    """How numbers come to mean 0 and variance 1."""

    over_pads: bool = False  # OpenAI, which has no mask; trlX, by accident
    ddof: float = 1.0  # 0: OpenAI, OpenRLHF, NeMo-Aligner
    eps: float = 1e-8
    form: str = "rsqrt_var_plus"  # clamp: OpenRLHF; std_plus: CleanRL, Stable-Baselines3; std_max: TorchRL
    mean_eps: float = 0.0  # added to N in means: verl, NeMo-RL, torchtune 1e-8
    ddof_eps: float = 0.0  # added to N in N/(N − ddof): torchtune 1e-8


@dataclass(frozen=True)
class Options:
    """The conventions, in the order in which they are used."""

    all_slots: bool = False  # every slot counts as response: OpenAI
    reward_kl: Kl = Kl(0.1)
    kl_behind: bool = False  # the place behind the response pays its KL too: trlX, DeepSpeed-Chat
    length_penalty: float = 0.0  # off in every library; taken for each token of a response beyond the free ones
    free_tokens: float = 0.0
    missing_eos: str = "off"  # subtract: TRL 1.12, if asked; set: torchtune
    missing_eos_value: float = 0.0
    full_is_missing: bool = False  # a response that fills its slots counts as not ended: torchtune
    score_clip: float = inf  # DeepSpeed-Chat 5; OpenRLHF, trlX 10
    score_slot: str = "last"  # end: OpenAI; one_past: TRL 1.12, DeepSpeed-Chat, torchtune; two_past: trlX
    values_behind: int = 0  # places behind the response that keep value and reward: 1, trlX 2
    whitening: Whitening = Whitening()
    whiten_rewards: bool = False  # OpenAI; an option of TRL
    rezero: bool = True  # whitened rewards are 0 behind the response: not in TRL 0.11.4
    gamma: float = 1.0
    lam: float = 0.95
    carry: bool = False  # GAE passes over holes of the mask, instead of reading zeros there: verl, NeMo-RL
    whiten_advantages: str = "on"  # off: DeepSpeed-Chat; keep_mean: torchtune
    log_ratio_clamp: float = inf  # OpenRLHF, verl 20
    clip_low: float = 0.2
    clip_high: float = 0.2
    dual_clip: float = inf  # verl 3
    only_ended: bool = False  # the policy loss drops a response without an end: NeMo-Aligner
    most_mean_ratio: float = inf  # above it the losses are 0: TRL 0.11.4 10
    value_clip: float = 0.2
    only_clipped: bool = False  # the clipped square alone, not the larger one: Stable-Baselines3
    value_behind: bool = False  # the value loss counts the place behind the response too: TRL 1.12, torchtune
    value_factor: float = 0.5
    how: str = "token-mean"
    value_how: str = "token-mean"
    entropy_how: str = "token-mean"
    agg_eps: float = 0.0  # added to the number that losses are divided by: NeMo-RL, torchtune 1e-8
    seq_eps: float = 0.0  # added to the length of each response: OpenRLHF, verl, NeMo-RL 1e-8
    value_coef: float = 0.5  # 0 where the critic has an optimiser of its own
    entropy_coef: float = 0.01
    policy_kl_coef: float = 0.0
    loss_kl: Kl = Kl()


@dataclass(frozen=True)
class Rewarded:
    """What is paid, [B, T] but for the scores."""

    response: Tensor
    kept: Tensor
    kl: Tensor
    penalty: Tensor
    scores: Tensor  # [B], punished and clipped
    placed: Tensor  # the same where they land
    rewards_raw: Tensor


@dataclass(frozen=True)
class Experience(Rewarded):
    """What the loss learns from, [B, T]; none of it has a gradient."""

    rewards: Tensor
    values: Tensor
    deltas: Tensor
    advantages: Tensor
    returns: Tensor
    used: Tensor  # the advantages that the loss uses


@dataclass(frozen=True)
class Tokens:
    """The losses of tokens and every step to them, [B, T]."""

    counted: Tensor
    value_counted: Tensor
    log_ratio_free: Tensor  # before its clamp
    log_ratio: Tensor
    ratio: Tensor
    ratio_clipped: Tensor
    free: Tensor  # −Â·ratio
    clipped: Tensor  # −Â·ratio_clipped
    policy_losses: Tensor
    value_free: Tensor  # the squared error
    value_clipped: Tensor
    value_losses: Tensor
    kl: Tensor  # the estimate that the loss pays


@dataclass(frozen=True)
class Loss(Tokens):
    """The same, and what it comes to: numbers."""

    mean_ratio: Tensor
    policy_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    policy_kl: Tensor
    kl_loss: Tensor
    total: Tensor


@dataclass(frozen=True)
class Counts:
    """What losses are divided by: tokens of each response, [B], and of all, responses with a token, slots of the longest.

    They are those of the batch at hand; verl takes those of the whole optimiser step for each part of it that fits in memory.
    """

    lengths: Tensor
    words: Tensor
    rows: Tensor
    longest: Tensor


def last_of(mask: Tensor, slots: Tensor) -> Tensor:
    """Returns the place of each response's last token, [B, 1]; without a token, the place before its first slot."""
    place = torch.arange(mask.shape[1], device=mask.device)
    before = place.where(slots, mask.shape[1]).amin(1, keepdim=True) - 1
    return place.where(mask, -1).amax(1, keepdim=True).maximum(before)


def widened(mask: Tensor, slots: Tensor, behind: int) -> Tensor:
    """Adds slots behind each response to those that count."""
    place, last = torch.arange(mask.shape[1], device=mask.device), last_of(mask, slots)
    return mask | slots & (place > last) & (place <= last + behind)


def estimate(log_ratio: Tensor, exact: Tensor, kl: Kl) -> Tensor:
    """Returns KL(π ‖ π_ref) by token, from log π − log π_ref of the token written, or the exact one."""
    x = log_ratio.clamp(-kl.clamp_in, kl.clamp_in)
    found = exact if kl.estimator == "full" else kl_estimate(x, kl.estimator)
    return found.clamp(-kl.clamp_out, kl.clamp_out)


def adapted(coef: float, kl: float, *, target: float, horizon: float, n_steps: float, most: float = 0.2) -> float:
    """Returns the price of the KL after a batch of n_steps responses (Ziegler et al. 2019, sec. 2.2).

    kl: the sum over each response, averaged (OpenAI, TRL 0.11.4), or its mean over tokens (OpenRLHF, verl): another target.
    """
    error = min(max(kl / target - 1, -most), most)
    return coef * (1 + error * n_steps / horizon)


def corrected(rollout: Rollout, use: Options) -> Tensor:
    """Returns the scores [B]; length and a missing end are punished, and all stay within a limit."""
    scores, ended = rollout.scores, rollout.ended
    if use.length_penalty:
        length = rollout.mask.sum(1).to(scores.dtype) if rollout.length is None else rollout.length
        scores = scores - use.length_penalty * (length - use.free_tokens).clamp(min=0)
    if use.full_is_missing:
        seen = (widened(rollout.mask, rollout.slots, 1) & ~rollout.mask).any(1)
        ended = seen if rollout.padded is None else rollout.padded
    if use.missing_eos == "subtract":
        scores = scores.where(ended, scores - use.missing_eos_value)
    if use.missing_eos == "set":
        scores = scores.where(ended, use.missing_eos_value)
    return scores.clamp(-use.score_clip, use.score_clip)


def moments(x: Tensor, over: Tensor, how: Whitening) -> tuple[Tensor, Tensor]:
    """Returns mean and variance of what counts."""
    n = over.sum().to(x.dtype)
    mean = x[over].sum() / (n + how.mean_eps)
    variance = ((x[over] - mean) ** 2).sum() / (n + how.mean_eps)
    return mean, variance * ((n + how.ddof_eps) / (n + how.ddof_eps - how.ddof))


def divisor(variance: Tensor, how: Whitening) -> Tensor:
    """Returns what whitening divides by: a standard deviation that is kept from 0."""
    match how.form:
        case "rsqrt_var_plus":
            return (variance + how.eps).sqrt()
        case "clamp":
            return variance.clamp(min=how.eps).sqrt()
        case "std_plus":
            return variance.sqrt() + how.eps
        case _:
            return variance.sqrt().clamp(min=how.eps)


def whiten(x: Tensor, mean: Tensor, variance: Tensor, how: Whitening, add_mean: bool = False) -> Tensor:
    """Shifts and scales to mean 0, or the mean it had, and variance 1."""
    return (x - mean) / divisor(variance, how) + (mean if add_mean else 0.0)


def whitened_rewards(raw: Tensor, mean: Tensor, variance: Tensor, kept: Tensor, slots: Tensor, use: Options) -> Tensor:
    """Returns rewards of variance 1 that keep their mean; behind the response they are 0, but not in TRL 0.11.4."""
    return whiten(raw, mean, variance, use.whitening, add_mean=True).where(kept if use.rezero else slots, 0)


def whitened(advantages: Tensor, slots: Tensor, response: Tensor, use: Options) -> Tensor:
    """Returns the advantages that the loss uses; OpenAI and trlX whiten those of each minibatch anew."""
    if use.whiten_advantages != "off":
        of = moments(advantages, slots if use.whitening.over_pads else response, use.whitening)
        advantages = whiten(advantages, *of, use.whitening, add_mean=use.whiten_advantages == "keep_mean")
    return advantages.where(response, 0)


def gae(rewards: Tensor, values: Tensor, over: Tensor, gamma: float, lam: float) -> tuple[Tensor, Tensor]:
    """Returns surprises and advantages A_t = Σ_l (γλ)^l δ_{t+l} (GAE, eq. 16), each place followed by the next that counts.

    A place that does not count has no surprise, and the advantage of the next one that does, as in verl's loop.
    """
    order = (~over).to(torch.int8).argsort(dim=1, stable=True)  # the places that count first, each in its order
    r, v = (each.where(over, 0).gather(1, order) for each in (rewards, values))
    deltas = r + gamma * torch.nn.functional.pad(v[:, 1:], (0, 1)) - v
    step = torch.arange(r.shape[1], device=r.device)
    discounts = ((gamma * lam) ** (step[:, None] - step).clamp(min=0).to(r.dtype)).tril()
    before = over.cumsum(1) - over.long()  # how many count before each place; behind all of them, packed rows are 0
    return deltas.gather(1, before).where(over, 0), (deltas @ discounts).gather(1, before)


def counts(counted: Tensor, slots: Tensor, dtype: torch.dtype) -> Counts:
    """Returns what losses of the tokens that count are divided by."""
    lengths = counted.sum(1).to(dtype)
    return Counts(lengths, lengths.sum(), (lengths > 0).sum().to(dtype), slots.sum(1).amax().to(dtype))


def average(x: Tensor, counted: Tensor, of: Counts, how: str, use: Options) -> Tensor:
    """Averages losses of tokens, in the words of verl's `agg_loss`; a response without a token does not count."""
    sums, rows = x.where(counted, 0).sum(1), of.rows + use.agg_eps
    match how:
        case "token-mean":
            return sums.sum() / (of.words + use.agg_eps)
        case "token-sum":
            return sums.sum()
        case "seq-mean-token-sum":
            return sums.sum() / rows
        case "seq-mean-token-sum-norm":
            return sums.sum() / rows / of.longest
        case "seq-mean-token-mean":
            wrote = of.lengths > 0
            return (sums[wrote] / (of.lengths[wrote] + use.seq_eps)).sum() / rows
    raise ValueError(how)


@torch.no_grad()
def rewarded(rollout: Rollout, use: Options) -> Rewarded:
    """Returns the reward: the KL on every token, the score where it lands."""
    slots, response = rollout.slots, rollout.slots if use.all_slots else rollout.mask
    kl = estimate(rollout.logp - rollout.logp_ref, rollout.exact_kl, use.reward_kl)
    paying = response | widened(rollout.mask, slots, 1) if use.kl_behind else response
    # What is not paid is not looked at: it may have no number.
    penalty = (-use.reward_kl.coef * kl).where(paying, 0) if use.reward_kl.coef else torch.zeros_like(kl)
    scores = placed = rollout.scores
    if scores.dim() == 1:
        scores, last, end = corrected(rollout, use), last_of(rollout.mask, slots), last_of(slots, slots)
        landing = {"last": last, "one_past": (last + 1).minimum(end), "two_past": (last + 2).minimum(end), "end": end}
        place = torch.arange(slots.shape[1], device=slots.device)
        placed = scores[:, None].where(slots & (place == landing[use.score_slot]), 0)
    kept = response | widened(rollout.mask, slots, use.values_behind)
    return Rewarded(response, kept, kl, penalty, scores, placed, penalty + placed)


@torch.no_grad()
def experience(rollout: Rollout, use: Options) -> Experience:
    """Returns rewards, advantages and returns."""
    paid, slots = rewarded(rollout, use), rollout.slots
    rewards, values = paid.rewards_raw, rollout.values.where(paid.kept, 0)
    if use.whiten_rewards:
        of = moments(rewards, slots if use.whitening.over_pads else paid.kept, use.whitening)
        rewards = whitened_rewards(rewards, *of, paid.kept, slots, use)
    deltas, advantages = gae(rewards, values, paid.kept if use.carry else slots, use.gamma, use.lam)
    advantages = advantages.where(slots, 0)
    used = whitened(advantages, slots, paid.response, use)
    return Experience(
        **vars(paid),
        rewards=rewards,
        values=values,
        deltas=deltas,
        advantages=advantages,
        returns=advantages + values,
        used=used,
    )


def tokens(rollout: Rollout, before: Experience, update: Update, use: Options, of: Tensor | None = None) -> Tokens:
    """Returns the losses of the tokens. of: [B], the responses of a minibatch, which alone count; None: all."""
    slots, response = rollout.slots, before.response
    seen = response if of is None else response & of[:, None]
    counted = seen & rollout.ended[:, None] if use.only_ended else seen

    # The clipped surrogate as a loss; of a bad token never more than c·|Â| (Ye et al. 2020, eq. 5).
    log_ratio_free = (update.logp - rollout.logp).where(response, 0)
    log_ratio = log_ratio_free.clamp(-use.log_ratio_clamp, use.log_ratio_clamp)
    ratio = log_ratio.exp()
    ratio_clipped = ratio.clamp(max=1 + use.clip_high).clamp(min=max(0.0, 1 - use.clip_low))
    free, clipped = -before.used * ratio, -before.used * ratio_clipped
    policy_losses = torch.max(free, clipped)
    if use.dual_clip < inf:
        held = policy_losses.minimum(-before.used * use.dual_clip)
        policy_losses = held.where(before.used < 0, policy_losses)

    # The squared error of the critic, and that of its value held near the old one.
    value_counted = seen
    if use.value_behind:
        behind = widened(rollout.mask, slots, 1)
        value_counted = seen | (behind if of is None else behind & of[:, None])
    near = update.values.clamp(before.values - use.value_clip, before.values + use.value_clip)
    value_free, value_clipped = (update.values - before.returns) ** 2, (near - before.returns) ** 2
    value_losses = use.value_factor * (value_clipped if use.only_clipped else torch.max(value_free, value_clipped))

    kl = estimate((update.logp - rollout.logp_ref).where(response, 0), update.exact_kl, use.loss_kl)
    return Tokens(
        counted, value_counted, log_ratio_free, log_ratio, ratio, ratio_clipped, free, clipped, policy_losses, value_free,
        value_clipped, value_losses, kl,
    )  # fmt: skip


def loss(rollout: Rollout, before: Experience, update: Update, use: Options, of: Tensor | None = None) -> Loss:
    """Returns the loss of the new policy and the new critic: means over tokens, and their weighted sum. of: as in `tokens`."""
    each = tokens(rollout, before, update, use, of)
    policy, value = (counts(counted, rollout.slots, each.ratio.dtype) for counted in (each.counted, each.value_counted))
    mean_ratio = each.ratio[before.response if of is None else before.response & of[:, None]].mean()
    learns = (mean_ratio <= use.most_mean_ratio).to(each.ratio.dtype)  # TRL 0.11.4 skips a batch whose ratios ran away
    policy_loss = learns * average(each.policy_losses, each.counted, policy, use.how, use)
    value_loss = learns * average(each.value_losses, each.value_counted, value, use.value_how, use)
    entropy = average(update.entropy, each.counted, policy, use.entropy_how, use)
    policy_kl = average(update.policy_kl, each.counted, policy, use.entropy_how, use)
    kl_loss = average(each.kl, each.counted, policy, use.how, use)
    total = summed(use, policy_loss, value_loss, entropy, policy_kl, kl_loss)
    return Loss(
        **vars(each),
        mean_ratio=mean_ratio,
        policy_loss=policy_loss,
        value_loss=value_loss,
        entropy=entropy,
        policy_kl=policy_kl,
        kl_loss=kl_loss,
        total=total,
    )


def summed(use: Options, policy: Tensor, value: Tensor, entropy: Tensor, policy_kl: Tensor, kl: Tensor) -> Tensor:
    """Returns the total; what has no weight is not in it, and may be no number."""
    weights = use.value_coef, -use.entropy_coef, use.policy_kl_coef, use.loss_kl.coef
    total = policy
    for weight, part in zip(weights, (value, entropy, policy_kl, kl), strict=True):
        if weight != 0:
            total = total + weight * part
    return total


def ppo(rollout: Rollout, update: Update, use: Options) -> tuple[Experience, Loss]:
    """Returns what the loss learns from, and the loss."""
    before = experience(rollout, use)
    return before, loss(rollout, before, update, use)
