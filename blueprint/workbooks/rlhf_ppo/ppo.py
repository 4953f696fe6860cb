"""RLHF PPO on one screen: the whole loss, one equation a line, in the order and the letters of the papers.

n is a response, t a position in it, m is 1 where a token of the response is written, and N is how many of these there are.
The plain workbook has its equations from here; a workbook in which conventions can be chosen (`preset=`) computes
these quantities in more steps, and gets the same numbers as long as every convention has its default value.

Sources: Ziegler et al. 2019, Fine-Tuning Language Models from Human Preferences, 1909.08593 (FT); Schulman 2020, Approximating KL
Divergence (KL); Schulman et al. 2016, High-Dimensional Continuous Control Using Generalized Advantage Estimation, 1506.02438 (GAE);
Schulman et al. 2017, Proximal Policy Optimization Algorithms, 1707.06347 (PPO).
"""

from typing import NamedTuple

from blueprint.language import Block, Expr, Sum, exp, less, maximum, minimum, sqrt, weighed
from blueprint.workbooks.common import ROWS, Switch, n, t


class Batch(NamedTuple):
    """What the models say of every token of a batch, all [n, t]; V has an end column: behind the last token it is 0.

    logp, logp_old, logp_ref: the log-probs of the token written. V, V_old: the critic's values. H: the entropy. KL_exact: the
    KL of the old policy to the new one. score: the reward model's, on the last token.
    """

    m: Block
    logp: Block
    logp_old: Block
    logp_ref: Block
    V_new: Block
    V: Block
    H: Block
    KL_exact: Block
    score: Block


class Settings(NamedTuple):
    """The numbers that one chooses, and two switches.

    gamma, lam: γ and λ. beta: the price of the KL. eps, eps_V: how far ratio and value may go. c1, c2, c3: the weights of value
    loss, entropy and policy KL. eps_w: what is added to a variance. estimator: k1, k2 or k3. whiten: on or off.
    """

    gamma: Block
    lam: Block
    beta: Block
    eps: Block
    eps_V: Block
    c1: Block
    c2: Block
    c3: Block
    eps_w: Block
    estimator: Switch
    whiten: Switch


def ppo(of: Batch, use: Settings) -> list[Block]:
    """Defines the loss of PPO and every step to it. Returns the blocks, in this order."""
    m, logp, logp_old, logp_ref, V_new, V, H, KL_exact, score = of
    gamma, lam, beta, eps, eps_V, c1, c2, c3, eps_w, estimator, whiten = use
    N = ROWS.one("response.words")
    N[()] = maximum(Sum((n, t), m[n, t]), 1)

    def mean(x: Block) -> Expr:
        return Sum((n, t), m[n, t] * x[n, t]) / N

    def clip(x: Expr, low: Expr, high: Expr) -> Expr:
        return maximum(low, minimum(high, x))

    # The reward: on every token a price for leaving the reference, on the last one the score (FT, equation 2; KL).
    k1, k2, k3, kl, penalty, r = ROWS.rows("kl.k1", "kl.k2", "kl.k3", "kl.used", "reward.penalty", "rewards")
    k1[n, t] = logp_old[n, t] - logp_ref[n, t]
    k2[n, t] = k1[n, t] * k1[n, t] / 2
    k3[n, t] = exp(-k1[n, t]) - 1 + k1[n, t]
    kl[n, t] = estimator.choose(k1=k1[n, t], k2=k2[n, t], k3=k3[n, t])
    penalty[n, t] = -weighed(beta, kl[n, t])  # β·KL; with β = 0 no KL is read
    r[n, t] = penalty[n, t] + score[n, t]

    # What a token was worth: surprises, summed backwards in time; and what the critic should have said (GAE, equations 11 and 16).
    delta, A, R = ROWS.rows("td_errors", "advantages", "returns")
    delta[n, t] = m[n, t] * (r[n, t] + gamma * V[n, t + 1] - V[n, t])
    A[n, t.last + 1] = 0
    A[n, t] = delta[n, t] + m[n, t] * gamma * lam * A[n, t + 1]
    R[n, t] = A[n, t] + V[n, t]

    # The same with mean 0 and variance 1 over the batch.
    mu, var = ROWS.one("advantage.mean"), ROWS.one("advantage.variance")
    A_centred, A_white, A_hat = ROWS.rows("advantage.centred", "advantage.whitened", "advantages_used")
    mu[()] = mean(A)
    A_centred[n, t] = m[n, t] * (A[n, t] - mu)
    var[()] = Sum((n, t), A_centred[n, t] * A_centred[n, t]) / maximum(N - 1, 1)
    A_white[n, t] = A_centred[n, t] / sqrt(var + eps_w)
    A_hat[n, t] = whiten.choose(on=A_white[n, t], off=A[n, t])

    # How much likelier a token has become, and what it may gain by that: the smaller of free and clipped (PPO, equations 6 and 7).
    d, rho, rho_clipped = ROWS.rows("log_ratio", "ratio", "ratio.clipped")
    U, U_clipped, U_min = ROWS.rows("surrogate.unclipped", "surrogate.clipped", "surrogate")
    d[n, t] = logp[n, t] - logp_old[n, t]
    rho[n, t] = exp(d[n, t])
    rho_clipped[n, t] = clip(rho[n, t], 1 - eps, 1 + eps)
    U[n, t] = rho[n, t] * A_hat[n, t]
    U_clipped[n, t] = rho_clipped[n, t] * A_hat[n, t]
    U_min[n, t] = minimum(U[n, t], U_clipped[n, t])

    # The critic's squared error, and the same with its value held near the old one: the larger counts, by half.
    error, square, V_clipped = ROWS.rows("value.error", "value.square", "value.clipped")
    error_clipped, square_clipped, value_losses = ROWS.rows(
        "value.error_clipped", "value.square_clipped", "value.word_loss"
    )
    error[n, t] = V_new[n, t] - R[n, t]
    square[n, t] = error[n, t] * error[n, t]
    V_clipped[n, t] = clip(V_new[n, t], V[n, t] - eps_V, V[n, t] + eps_V)
    error_clipped[n, t] = V_clipped[n, t] - R[n, t]
    square_clipped[n, t] = error_clipped[n, t] * error_clipped[n, t]
    value_losses[n, t] = m[n, t] * maximum(square[n, t], square_clipped[n, t]) / 2

    # The loss (PPO, equation 9, with the sign of what is made smaller).
    L_policy, L_value, bonus, L_kl, L = map(
        ROWS.one, ("policy_loss", "value_loss", "entropy", "policy_kl", "total_loss")
    )
    L_policy[()] = -mean(U_min)
    L_value[()] = mean(value_losses)
    bonus[()] = mean(H)
    L_kl[()] = mean(KL_exact)
    L[()] = L_policy + c1 * L_value - c2 * bonus + c3 * L_kl

    # What one watches: how far the policy has moved (KL), and how many tokens the clip holds.
    moved, clipped = ROWS.rows("policy_kl.k3", "clip_fraction.changed")
    approx_kl, clip_fraction = ROWS.one("approx_kl.k3"), ROWS.one("clip_fraction.loss")
    moved[n, t] = exp(d[n, t]) - 1 - d[n, t]
    clipped[n, t] = less(U_clipped[n, t], U[n, t])
    approx_kl[()] = mean(moved)
    clip_fraction[()] = mean(clipped)

    return [made for made in locals().values() if isinstance(made, Block) and made.definitions]
