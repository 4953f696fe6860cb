"""GRPO on one screen: from the rewards of a group to the loss, one equation a line, in the letters of the paper.

q is a prompt, i a response to it; n is a response of the batch, t a position in it, m is 1 where a token of it is written.
The workbook has every library's conventions as switches, and so more steps; a test holds it to this page, with the preset of
the paper.

Source: Shao et al. 2024, DeepSeekMath, 2402.03300: equations 3 and 4, and section 4.1.2. Dr. GRPO (2503.20783) leaves out the
division by the deviation and by the length; DAPO (2503.14476) takes the mean over all tokens of the batch and drops the KL.
"""

from typing import NamedTuple

from blueprint.language import Block, Sum, block, exp, maximum, minimum, size, sqrt
from blueprint.workbooks.common import n, t
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import i, q


class Batch(NamedTuple):
    """What is known of responses: m, logp, logp_old, logp_ref [n, t]; the reward R [q, i]; of [q, i, n], 1 where i is n."""

    m: Block
    logp: Block
    logp_old: Block
    logp_ref: Block
    R: Block
    of: Block


class Settings(NamedTuple):
    """eps: how far a ratio may go. beta: the price of the KL. eps_std: what is added to a deviation."""

    eps: Block
    beta: Block
    eps_std: Block


def grpo(batch: Batch, use: Settings) -> list[Block]:
    """Defines the loss of GRPO and every step to it. Returns the blocks, in this order."""
    m, logp, logp_old, logp_ref, R, of = batch
    eps, beta, eps_std = use

    # How much better a response is than the others to its prompt (section 4.1.2); std as torch has it, by G − 1.
    mu, sigma = block("group.mean", (q,), "μ"), block("group.deviation", (q,), "σ")
    R_centred, A_group = block("group.centred", (q, i), "R_c"), block("group.advantage", (q, i), "A_qi")
    A = block("advantage", (n,), "A")
    mu[q] = Sum(i, R[q, i]) / size(i)
    R_centred[q, i] = R[q, i] - mu[q]
    sigma[q] = sqrt(Sum(i, R_centred[q, i] * R_centred[q, i]) / maximum(size(i) - 1, 1))
    A_group[q, i] = R_centred[q, i] / (sigma[q] + eps_std)
    A[n] = Sum((q, i), A_group[q, i] * of[q, i, n])

    # How much likelier a token has become, and the smaller of free and clipped (equation 3).
    d, rho, rho_clipped = (
        block("log_ratio", (n, t), "d"),
        block("ratio", (n, t), "ρ"),
        block("ratio.clipped", (n, t), "ρ_c"),
    )
    U, U_clipped = block("surrogate.unclipped", (n, t), "U"), block("surrogate.clipped", (n, t), "U_c")
    U_min = block("surrogate", (n, t), "U_min")
    d[n, t] = m[n, t] * (logp[n, t] - logp_old[n, t])
    rho[n, t] = exp(d[n, t])
    rho_clipped[n, t] = maximum(1 - eps, minimum(1 + eps, rho[n, t]))
    U[n, t] = rho[n, t] * A[n]
    U_clipped[n, t] = rho_clipped[n, t] * A[n]
    U_min[n, t] = minimum(U[n, t], U_clipped[n, t])

    # The price of leaving the reference, on every token (equation 4).
    x, k3 = block("kl_new.free", (n, t), "x"), block("kl_new.k3", (n, t), "k3")
    x[n, t] = m[n, t] * (logp[n, t] - logp_ref[n, t])
    k3[n, t] = exp(-x[n, t]) - 1 + x[n, t]

    # A mean over the tokens of each response, and over responses (equation 3).
    length, U_mean, k3_mean = (
        block("length", (n,), "|o|"),
        block("of_response", (n,), "Ū"),
        block("kl.of_response", (n,), "k̄3"),
    )
    L_policy, KL, L = block("policy_loss", (), "L_π"), block("kl_loss", (), "KL"), block("total_loss", (), "L")
    length[n] = Sum(t, m[n, t])
    U_mean[n] = Sum(t, m[n, t] * U_min[n, t]) / length[n]
    k3_mean[n] = Sum(t, m[n, t] * k3[n, t]) / length[n]
    L_policy[()] = -(Sum(n, U_mean[n]) / size(n))
    KL[()] = Sum(n, k3_mean[n]) / size(n)
    L[()] = L_policy + beta * KL

    return [made for made in locals().values() if isinstance(made, Block) and made.definitions]
