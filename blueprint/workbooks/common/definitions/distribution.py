"""A soft-max over words or actions: log-probabilities, entropy, and how far one distribution is from another, exactly."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Max, Sum, exp, log
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, ROWS, Choices, Row


class Distribution(NamedTuple):
    """A soft-max over the last axis of its logits, in the steps in which a person computes it."""

    logits: Block
    top: Block
    exponentials: Block
    logsumexp: Block
    logp: Block
    p: Block
    p_log_p: Block


def softmax(name: str, z: Block, use: Choices = ROWS) -> Distribution:
    """Turns logits into log-probabilities; the largest logit is taken off before EXP. name: of the policy."""
    *at, v = z.axes
    row, each = tuple(at), z.axes
    top, lse, p_log_p = (use.along(f"{name}.{step}", row) for step in ("top", "logsumexp", "p_log_p"))
    e, logp, p = (use.along(f"{name}.{step}", each) for step in ("exponentials", "log_p", "p"))
    top[row] = Max(v, z[each])
    e[each] = exp(z[each] - top[row])
    lse[row] = top[row] + log(Sum(v, e[each]))
    logp[each] = z[each] - lse[row]
    p[each] = exp(logp[each])
    p_log_p[row] = Sum(v, p[each] * logp[each])
    return Distribution(z, top, e, lse, logp, p, p_log_p)


def chosen_logprobs(name: str, logp: Block, chosen: Block, m: Row = EVERYWHERE, use: Choices = ROWS) -> Block:
    """Looks up the log-probability of what was chosen, by its id; 0 where m is 0."""
    at = chosen.axes
    logprobs = use.along(f"{name}.logprobs", at)
    logprobs[at] = m[at] * logp[*at, chosen[at]]
    return logprobs


def entropy(name: str, p_log_p: Block, m: Row = EVERYWHERE, use: Choices = ROWS) -> Block:
    """Measures how undecided a policy is; 0 where m is 0."""
    at = p_log_p.axes
    made = use.along(f"{name}.entropy", at)
    made[at] = -(m[at] * p_log_p[at])
    return made


class ExactKL(NamedTuple):
    """Σ p log q, and the exact KL."""

    cross: Block
    exact: Block


def exact_kl(name: str, p: Block, p_log_p: Block, log_q: Block, m: Row = EVERYWHERE, use: Choices = ROWS) -> ExactKL:
    """Sums over all alternatives, exactly, how far q is from p: Σ p log p − Σ p log q; 0 where m is 0."""
    *at, v = p.axes
    row = tuple(at)
    cross, exact = use.along(f"{name}.cross", row), use.along(f"{name}.exact", row)
    cross[row] = Sum(v, p[p.axes] * log_q[p.axes])
    exact[row] = m[row] * (p_log_p[row] - cross[row])
    return ExactKL(cross, exact)
