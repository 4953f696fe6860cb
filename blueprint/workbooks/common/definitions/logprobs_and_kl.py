"""From logits to log-probs: a soft-max over tokens or actions, its entropy, and how far two of these distributions are
apart, exactly and by the estimates k1, k2 and k3.
"""

from typing import NamedTuple

from blueprint.language import Block, Max, Sum, exp, less, log, maximum, where
from blueprint.workbooks.common.definitions.writing_rows import (
    EVERYWHERE,
    ROWS,
    Choices,
    Row,
    clamped,
    rows,
)


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
    top = use.along(f"{name}.top", row, Max(v, z[each]))
    e = use.along(f"{name}.exponentials", each, exp(z[each] - top[row]))
    lse = use.along(f"{name}.logsumexp", row, top[row] + log(Sum(v, e[each])))
    logp = use.along(f"{name}.log_p", each, z[each] - lse[row])
    p = use.along(f"{name}.p", each, exp(logp[each]))
    return Distribution(z, top, e, lse, logp, p, use.along(f"{name}.p_log_p", row, Sum(v, p[each] * logp[each])))


def chosen_logprobs(name: str, logp: Block, chosen: Block, m: Row = EVERYWHERE, use: Choices = ROWS) -> Block:
    """Looks up the log-probability of what was chosen, by its id; 0 where m is 0."""
    at = chosen.axes
    return use.along(f"{name}.logprobs", at, m[at] * logp[*at, chosen[at]])


def entropy(name: str, p_log_p: Block, m: Row = EVERYWHERE, use: Choices = ROWS) -> Block:
    """Measures how undecided a policy is; 0 where m is 0."""
    at = p_log_p.axes
    return use.along(f"{name}.entropy", at, -(m[at] * p_log_p[at]))


def exact_kl(name: str, p: Block, p_log_p: Block, log_q: Block, m: Row = EVERYWHERE) -> tuple[Block, Block]:
    """Sums over all alternatives, exactly, how far q is from p: Σ p log p − Σ p log q; 0 where m is 0.

    Returns Σ p log q, and the KL.
    """
    *at, v = p.axes
    row = tuple(at)
    cross = ROWS.along(f"{name}.cross", row, Sum(v, p[p.axes] * log_q[p.axes]))
    return cross, ROWS.along(f"{name}.exact", row, m[row] * (p_log_p[row] - cross[row]))


class Drifting(NamedTuple):
    """Who drifts, and by which settings that is estimated.

    name: what the names of the blocks begin with. held_in, held_out, held_of: the settings of its clamps.
    """

    name: str
    estimator: str
    held_in: str
    held_out: str
    held_of: str


OLD = Drifting("kl", "kl_estimator", "reward.kl_clamp_in", "reward.kl_clamp_out", "reward.kl_clamp_of")
"""The policy that wrote, whose KL the reward pays."""
NEW = Drifting("kl_new", "loss.kl_estimator", "loss.kl_clamp_in", "loss.kl_clamp_out", "loss.kl_clamp_of")
"""The policy in training, whose KL a loss pays."""


class Estimates(NamedTuple):
    """KL estimates on the sampled word, all rows: those on the way, in order, and the one in use.

    Where its clamps are fixed there is no bare and no clamped log-ratio: k1 is the log-ratio.
    """

    steps: tuple[Block, ...]
    k1: Block
    k2: Block
    k3: Block
    used: Block


def kl_estimates(who: Drifting, logp: Block, logp_ref: Block, exact: Block | None, use: Choices) -> Estimates:
    """Estimates how far a policy is from the reference; 0 outside the response, where both log-probs are 0.

    k3 is always made of the clamped log-ratio, the others are where the clamps are of all. logp, logp_ref, exact: (n, t);
    without an exact KL there is no word for it to choose.
    """
    name, n, t, at, estimator, of = who.name, use.n, use.t, use.at, use.switch[who.estimator], use.switch[who.held_of]
    clamps = not use.is_fixed(who.held_in, who.held_out, who.held_of)
    free = use.step(clamps, f"{name}.free", logp[n, t] - logp_ref[n, t])
    held = use.step(clamps, f"{name}.held", clamped(free.cell, use.used[who.held_in]))
    k1 = use.row(f"{name}.k1", of.choose(all=held.cell, k3=free.cell))
    size = use.step("abs" in estimator.words, f"{name}.abs", abs(k1[at]))
    k = held.cell if clamps else k1[at]
    k2 = use.row(f"{name}.k2", k1[at] * k1[at] / 2)
    k3 = use.row(f"{name}.k3", exp(-k) - 1 + k)
    each = {"k1": k1[at], "k2": k2[at], "k3": k3[at], "abs": size.cell}
    if exact is not None:
        each["full"] = exact[n, t]
    chosen = use.step(clamps, f"{name}.chosen", estimator.choose(**{word: each[word] for word in estimator.words}))
    clipped = use.step(clamps, f"{name}.clamped", clamped(chosen.cell, use.used[who.held_out]))
    holds = use.step(clamps, f"{name}.holds", maximum(of.says("all"), estimator.says("k3")), use.lead)
    used = use.row(f"{name}.used", where(less(0, holds.cell), clipped.cell, chosen.cell) if clamps else chosen.cell)
    return Estimates(rows(free, held, k1, size, k2, k3, chosen, holds, clipped), k1, k2, k3, used)
