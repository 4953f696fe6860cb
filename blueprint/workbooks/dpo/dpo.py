"""DPO on one screen: from the log-probs of two responses to the loss of a pair, one equation a line, in the letters of the paper.

n is a response, t a position in it, m is 1 where a token of it is written; p is a pair, w its chosen response, l its rejected
one. The workbook has every library's losses and conventions as switches, and so more steps; a test holds it to this page.

Source: Rafailov et al. 2023, Direct Preference Optimization, 2305.18290: equation 7, and section 4 for the gradient.
"""

from typing import NamedTuple

from blueprint.language import Block, Expr, Sum, block, exp, less, log, maximum, size
from blueprint.workbooks.common import n, t
from blueprint.workbooks.common.preference_pairs import p


class Batch(NamedTuple):
    """m, logp and logp_ref [n, t]: of the policy and of the reference; w, l [p]: the places of the two responses, from 0."""

    m: Block
    logp: Block
    logp_ref: Block
    w: Block
    l: Block  # noqa: E741  (the paper's letter)


def dpo(batch: Batch, beta: Block) -> list[Block]:
    """Defines the loss of DPO and every step to it. Returns the blocks, in this order."""
    m, logp, logp_ref, w, l = batch  # noqa: E741

    # The log-prob of a whole response, and how much likelier the policy finds it than the reference does.
    S, S_ref, s = block("sum", (n,), "S"), block("sum_ref", (n,), "S_ref"), block("log_ratio", (n,), "s")
    S[n] = Sum(t, m[n, t] * logp[n, t])
    S_ref[n] = Sum(t, m[n, t] * logp_ref[n, t])
    s[n] = S[n] - S_ref[n]

    # The implicit rewards of a pair, and by how much the chosen one is ahead (section 4).
    r_w, r_l, u = block("chosen.reward", (p,), "r_w"), block("rejected.reward", (p,), "r_l"), block("margin", (p,), "u")
    ahead = block("ahead", (p,), "ahead")
    r_w[p] = beta * s[w[p]]
    r_l[p] = beta * s[l[p]]
    u[p] = r_w[p] - r_l[p]
    ahead[p] = less(r_l[p], r_w[p])

    # −log σ(u), kept in range, and its mean over pairs (equation 7).
    losses, L, accuracy = block("loss.sigmoid", (p,), "L_p"), block("total_loss", (), "L"), block("accuracy", (), "acc")
    losses[p] = -log_sigmoid(u[p])
    L[()] = Sum(p, losses[p]) / size(p)
    accuracy[()] = Sum(p, ahead[p]) / size(p)

    return [made for made in locals().values() if isinstance(made, Block) and made.definitions]


def log_sigmoid(x: Expr) -> Expr:
    """Writes log σ(x) so that no exponential is too large."""
    return -(maximum(0, -x) + log(1 + exp(-abs(x))))
