"""A file of the bandit for the page of `papers`: what arms pay, and a uniform and a normal draw for every pull."""

import torch
from torch.nn.functional import one_hot, pad

from blueprint.papers.bandit import Rules, looks_best, play, policy, regrets
from blueprint.witness.raw import Named, Page, Raw


def results(raw: Raw) -> Named:
    """Return the named results of a file."""
    means, taus = raw.tensor("arm.mean"), raw.tensor("tau.value")
    rules = Rules(
        raw.number("epsilon"),
        raw.number("tau") if raw.word("strategy") == "softmax" else None,
        raw.number("alpha") if raw.word("step") == "constant" else None,
        raw.number("start"),
        raw.number("noise"),
        raw.number("tie"),
    )
    done = play(means, raw.tensor("pull.uniform"), raw.tensor("pull.noise"), rules)
    lost, awaited = regrets(means, done.policies, done.arms)
    last, best = done.after[-1], looks_best(done.after[-1], rules.tie)
    at_tau = torch.stack([policy(last, Rules(tau=float(tau))) for tau in taus])  # [S, K]
    alone = one_hot(best, len(means)).to(means.dtype)
    return {
        "arm.best": means.max(),
        "greedy.id": done.greedy.to(means.dtype),
        "arm.p": done.policies,
        "pull.id": done.arms.to(means.dtype),
        "pull.reward": done.rewards,
        "estimate.before": done.before,
        "estimate": torch.cat([done.before[:1], done.after]),
        "arm.pulls": torch.cat([torch.zeros_like(means)[None], done.counts]),
        "regret.pull": lost,
        "regret.expected": awaited,
        "regret.total": pad(lost.cumsum(0), (1, 0)),
        "regret.awaited": pad(awaited.cumsum(0), (1, 0)),
        "regret.mean": lost.mean(),
        "regret.sum": lost.sum(),
        "regret.mean_expected": awaited.mean(),
        "pull.mean": done.rewards.mean(),
        "share.best": (lost == 0).to(means.dtype).mean(),
        "share.explored": (done.arms != done.greedy).to(means.dtype).mean(),
        "last.estimate": last,
        "last.share": done.counts[-1] / len(done.arms),
        "last.greedy.is": alone,
        "tau.p": at_tau,
        "tau.to_greedy": (at_tau - alone).abs().amax(-1),
        "tau.to_uniform": (at_tau - 1 / len(means)).abs().amax(-1),
        "tau.entropy": torch.special.entr(at_tau).sum(-1),
        "tau.regret": means.max() - at_tau @ means,
    }


PAGE = Page(results)
