"""A file of REINFORCE for the page of `papers`: a policy over a few tokens, their rewards, and uniform draws."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from blueprint.papers.reinforce import Estimates, baselines, drawn, exact, reinforce, reused, scores, variance
from blueprint.witness.raw import Named, Page, Raw


def results(raw: Raw) -> Named:
    """Returns the named results of a file."""
    z, r, kind = raw.tensor("policy.logits"), raw.tensor("reward.scores"), raw.word("baseline")
    whole, tokens = exact(z, r), drawn(z, raw.tensor("draws.uniform"))
    typed = z.new_tensor(raw.number("baseline_value"))
    fixed = {"typed": typed, "optimal": whole.best_baseline}.get(kind, whole.expected)
    rewards = r[tokens]
    own = baselines(rewards, kind) if kind in ("leave_one_out", "batch") else fixed.expand_as(rewards)
    found = {
        "policy.p": z.softmax(0),
        "slope": scores(z),
        "expected_reward": whole.expected,
        "gradient": whole.gradient,
        "baseline.optimal": whole.best_baseline,
        "baseline.fixed": fixed,
        "draws.token": tokens.to(z.dtype),
        "draws.reward": rewards,
        "draws.reward_mean": rewards.mean(),
        "draws.baseline": own,
        "draws.share": tokens.bincount(minlength=len(z)).to(z.dtype) / len(tokens),
        "least.variance": variance(z, r - whole.best_baseline),
        "variance.without": variance(z, r),
    }
    found |= _with_baseline(z, r, fixed, kind, len(tokens))
    found |= _estimates("without", reinforce(z, tokens, rewards, torch.zeros_like(rewards)))
    found |= _estimates("with", reinforce(z, tokens, rewards, own))
    return {name: each for name, each in (found | _elsewhere(raw, z, r - fixed)).items() if name in raw}


def _with_baseline(z: Tensor, r: Tensor, fixed: Tensor, kind: str, count: int) -> Named:
    """Returns the mean and the variance of one draw's estimate with a baseline.

    One that is made of other draws varies itself, by Var(r)/(N − 1); that of all draws holds 1/N of the own reward.
    """
    p, slope = z.softmax(0), scores(z)
    keeps = 1 - 1 / count if kind == "batch" else 1.0
    spread = (p * (r - p @ r) ** 2).sum() / (count - 1) if kind in ("batch", "leave_one_out") else p.new_zeros(())
    with_ = keeps**2 * (variance(z, r - fixed) + spread * (p * (slope**2).sum(-1)).sum())
    return {
        "gradient.with": keeps * exact(z, r).gradient,
        "baseline.varies": spread,
        "variance.with": with_,
        "variance.share": with_ / variance(z, r),
    }


def _estimates(name: str, found: Estimates) -> Named:
    return {
        f"{name}.estimate": found.each,
        f"{name}.running": pad(found.running, (0, 0, 1, 0)),
        f"{name}.mean": found.mean,
        f"{name}.variance": found.variance,
    }


def _elsewhere(raw: Raw, z: Tensor, advantage: Tensor) -> Named:
    """Returns what the policies some steps away earn, and what fresh and old draws say of them."""
    far = z + raw.tensor("moved.step")[:, None] * raw.tensor("moved.direction")
    p, ratio = far.softmax(-1), (far.log_softmax(-1) - z.log_softmax(-1)).exp()
    return {
        "moved.p": p,
        "moved.reward": p @ raw.tensor("reward.scores"),
        "moved.ratio": ratio,
        "moved.ratio_largest": ratio.amax(-1),
        "moved.effective": 1 / (z.softmax(0) * ratio**2).sum(-1),
        "fresh.gradient": torch.stack([exact(each, advantage).gradient for each in far]),
        "fresh.variance": torch.stack([variance(each, advantage) for each in far]),
        "reused.gradient": torch.stack([reused(each, z, advantage) for each in far]),
        "reused.variance": torch.stack(
            [variance(each, by * advantage, z.softmax(0)) for each, by in zip(far, ratio, strict=True)]
        ),
    }


PAGE = Page(results)
