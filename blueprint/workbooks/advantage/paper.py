"""A file of the advantage for the page of `papers`: traces, a row of λ, and one long trace."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from blueprint.papers.advantage import first_exactly, gae, gradients, returns, spread, td_errors, weights
from blueprint.witness.raw import Named, Page, Raw


def results(raw: Raw) -> Named:
    """Return the named results of a file."""
    actions, rewards = raw.tensor("trace.action"), raw.tensor("trace.reward")
    values, gamma, theta = pad(raw.tensor("trace.value"), (0, 1)), raw.number("gamma"), raw.number("theta")
    by = weights(rewards, values, gamma, raw.number("gae_lambda"))
    whole, to_go, less_mean, less_value, smoothed = by
    g = gradients(theta, actions, by)
    by_whole, by_to_go, by_mean, by_value, by_gae = g
    over = spread(g)
    share = over.variance / over.variance[0] if over.variance[0] > 0 else torch.ones_like(over.variance)
    return {
        "trace.return": pad(to_go, (0, 1)),
        "trace.mean": to_go.mean(0),
        "weight.whole": whole,
        "weight.less_mean": less_mean,
        "weight.less_value": less_value,
        "trace.delta": td_errors(rewards, values, gamma),
        "weight.gae": pad(smoothed, (0, 1)),
        "gradient.whole": by_whole,
        "gradient.to_go": by_to_go,
        "gradient.less_mean": by_mean,
        "gradient.less_value": by_value,
        "gradient.gae": by_gae,
        "gradient.each": g,
        "gradient.mean": over.mean,
        "gradient.variance": over.variance,
        "gradient.share": share,
        "gradient.error": (over.variance / len(rewards)).sqrt(),
        "gradient.left": share[-1],
        **_lambdas(raw, actions, rewards, values),
        **_long(raw),
    }


def _lambdas(raw: Raw, actions: Tensor, rewards: Tensor, values: Tensor) -> Named:
    """Return what a row of λ makes of the first step's advantage, and of the gradient."""
    gamma = raw.number("gamma")
    A = torch.stack([gae(rewards, values, gamma, float(lam)) for lam in raw.tensor("sweep.lambda")])  # [B, N, T]
    first, g = A[:, :, 0], gradients(raw.number("theta"), actions, A)
    fair = (returns(rewards, gamma) - values[:, :-1])[:, 0].mean()
    over, pulls = spread(first), spread(g)
    return {
        "sweep.first": first,
        "sweep.first.mean": over.mean,
        "sweep.first.variance": over.variance,
        "sweep.first.sd": over.variance.sqrt(),
        "sweep.first.bias": over.mean - fair,
        "trace.fair": fair,
        "sweep.gradient": g,
        "sweep.gradient.mean": pulls.mean,
        "sweep.gradient.variance": pulls.variance,
    }


def _long(raw: Raw) -> Named:
    """Return what each λ makes of the long trace, and exactly of all that it might have been."""
    gamma, m, sd = raw.number("gamma"), raw.number("reward_mean"), raw.number("reward_sd")
    rewards, values = (
        raw.tensor("long.reward"),
        torch.cat([raw.tensor("long.value"), raw.tensor("long.last_value").reshape(1)]),
    )
    lams = [float(lam) for lam in raw.tensor("sweep.lambda")]
    A = torch.stack([gae(rewards, values, gamma, lam) for lam in lams], -1)  # [S, D]
    means, sds = map(torch.stack, zip(*(first_exactly(values, gamma, lam, m, sd) for lam in lams), strict=True))
    fair = first_exactly(values, gamma, 1.0, m, sd)[0]
    bias = means - fair
    return {
        "long.gae": pad(A, (0, 0, 0, 1)),
        "long.mean": A.mean(0),
        "long.variance": A.var(0, correction=0),
        "long.first": A[0],
        "long.end": A[-1],
        "long.first_mean": means,
        "long.fair": fair,
        "long.first_bias": bias,
        "long.first_sd": sds,
        "long.first_error": bias**2 + sds**2,
    }


PAGE = Page(results)
