"""A file of classic PPO for the page of `papers`: rewards and ends, logits of the actions, and values."""

import torch
from torch.nn.functional import pad

from blueprint.papers import metrics
from blueprint.papers.libraries.classic_ppo import Found, Options, Rollout, classic_ppo
from blueprint.papers.libraries.ppo import Whitening, divisor, moments
from blueprint.papers.models import distribution
from blueprint.witness.raw import Named, Page, Raw


def results(raw: Raw) -> Named:
    """Returns the named results of a file."""
    actions = raw.ids("actions")
    logits, values = raw.tensor("policy.logits").requires_grad_(), raw.tensor("values.new").requires_grad_()
    old, new = distribution(raw.tensor("old.logits"), actions), distribution(logits, actions)
    rollout = Rollout(
        raw.tensor("rewards"), raw.mask("done"), raw.mask("terminated"), old.logp, raw.tensor("values.old")
    )
    whitening = Whitening(eps=raw.number("whiten_eps"), form=raw.word("whiten_form"))
    use = _options(raw, whitening)
    found = classic_ppo(rollout, new.logp, values, new.entropy, use)
    mean, variance = moments(found.advantages, torch.ones_like(rollout.done), whitening)
    by = {"policy.logits": logits, "values.new": values, "policy.logprobs": new.logp, "policy.entropy": new.entropy}
    slopes = torch.autograd.grad(found.total, list(by.values()), allow_unused=True, materialize_grads=True)
    rows = {
        "old.logprobs": old.logp,
        "policy.logprobs": new.logp,
        "policy.entropy": new.entropy,
        "td_errors": found.deltas,
        "advantages": pad(found.advantages, (0, 1)),
        "returns": found.returns,
        "advantages_used": found.used,
        "advantage.mean": mean,
        "advantage.divisor": divisor(variance, whitening),
        "log_ratio": found.log_ratio,
        "ratio": found.ratio,
        "ratio.clipped": found.ratio_clipped,
        "surrogate": -found.policy_losses,
        "value.clipped": found.values_clipped,
        "value.distance": found.value_errors,
        "value.clipped.distance": found.value_errors_clipped,
        "value.step_loss": found.value_losses,
        "policy_loss": found.policy_loss,
        "value_loss": found.value_loss,
        "adds.value_loss": use.value_coef * found.value_loss,
        "entropy": found.entropy,
        "adds.entropy": -use.entropy_coef * found.entropy,
        "total_loss": found.total,
    }
    rows |= _metrics(raw, rollout, found, values, use)
    rows |= {f"{name}.grad": slope for name, slope in zip(by, slopes, strict=True)}
    return {name: each.detach() for name, each in rows.items() if name in raw}


def _options(raw: Raw, whitening: Whitening) -> Options:
    """Returns the options that the settings of a file stand for; the norm of the value loss is that of its formulas."""
    low = raw.number("clip_range")
    return Options(
        gamma=raw.number("gamma"),
        lam=raw.number("gae_lambda"),
        only_terminated=raw.word("bootstrap") == "terminated",
        whitening=whitening if raw.word("whiten_advantages") == "on" else None,
        clip_low=low,
        clip_high=low + raw.number("clip_more"),
        value_clip=raw.number("value_clip_range"),
        only_clipped=raw.word("value_combine") == "clipped_only",
        smooth=raw.words("value_norm.built")[0] == "smooth_l1",
        value_factor=raw.number("value_factor"),
        value_coef=raw.number("vf_coef"),
        entropy_coef=raw.number("ent_coef"),
    )


def _metrics(raw: Raw, rollout: Rollout, found: Found, values: torch.Tensor, use: Options) -> Named:
    """Returns what the libraries log; a difference that is mere rounding does not count as clipped."""
    every, tiny, old = torch.ones_like(rollout.done), float(raw.tensor("rounding")), rollout.values[:, :-1]
    kls, ratio = metrics.approx_kls(found.log_ratio, every), found.ratio
    moved = (values - found.values_clipped).abs() > tiny
    return {
        "approx_kl.k1": kls.k1,
        "approx_kl.k3": kls.k3,
        "clip_fraction": metrics.outside_fraction(ratio, 1 - use.clip_low - tiny, 1 + use.clip_high + tiny, every),
        "value_fraction": moved.to(ratio.dtype).mean(),
        "ratio.mean": ratio.mean(),
        "ratio.largest": ratio.max(),
        "ratio.effective": metrics.effective_share(found.log_ratio),
        "returns.mean": found.returns.mean(),
        "returns.variance": found.returns.var(correction=0),
        "explained_variance.old": metrics.explained_variance(old, found.returns, every),
        "explained_variance.new": metrics.explained_variance(values, found.returns, every),
        "mean.rewards": rollout.rewards.mean(),
        "mean.td_errors": found.deltas.mean(),
    }


PAGE = Page(results)
