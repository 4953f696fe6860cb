"""From scores of the actions to the log-probability of the action taken, and the entropy."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Max, Sum, block, exp, log, typed
from blueprint.workbooks.classic_ppo import sources
from blueprint.workbooks.classic_ppo.axes import a, n, t


class Policy(NamedTuple):
    """A policy over the actions: rows (n, t, a) and (n, t), and the log-probability of the action taken (n, t)."""

    logits: Block
    top: Block
    exponentials: Block
    logsumexp: Block
    logp: Block
    p: Block
    p_log_p: Block
    logprobs: Block


def policy(name: str, whose: str, sign: str, actions: Block) -> Policy:
    """Makes a soft-max of typed scores; the largest score is taken off before EXP. actions: ids (n, t), from 0."""
    z = typed(f"{name}.logits", (n, t, a), "z", f"score of the action, {whose}", decimals=2)
    top = block(f"{name}.top", (n, t), "z_max", "largest score")
    e = block(f"{name}.exponentials", (n, t, a), "ez", "exp(score − largest score)", unit="0 … 1")
    lse = block(f"{name}.logsumexp", (n, t), "lse", "ln of the sum of all exp(z)", source=sources.SOFTMAX)
    logp = block(
        f"{name}.log_p", (n, t, a), "log p", "log-probability of the action", unit="≤ 0", source=sources.SOFTMAX
    )
    p = block(f"{name}.p", (n, t, a), "p", "probability of the action", unit="0 … 1")
    p_log_p = block(f"{name}.p_log_p", (n, t), "plogp", "Σ p log p (the entropy is −plogp)", unit="−ln(actions) … 0")
    meaning = f"log-prob of the action taken, {whose}"
    logprobs = block(f"{name}.logprobs", (n, t), f"log {sign}", meaning, unit="≤ 0", source=sources.LOGPROBS)
    top[n, t] = Max(a, z[n, t, a])
    e[n, t, a] = exp(z[n, t, a] - top[n, t])
    lse[n, t] = top[n, t] + log(Sum(a, e[n, t, a]))
    logp[n, t, a] = z[n, t, a] - lse[n, t]
    p[n, t, a] = exp(logp[n, t, a])
    p_log_p[n, t] = Sum(a, p[n, t, a] * logp[n, t, a])
    logprobs[n, t] = logp[n, t, actions[n, t]]
    return Policy(z, top, e, lse, logp, p, p_log_p, logprobs)
