"""The loss: how far the new policy and critic have come, and how good that was."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, block, exp, maximum, minimum
from blueprint.ppo import sources
from blueprint.ppo.axes import n, t, v


class Surrogate(NamedTuple):
    """Ratio times advantage, the same with the ratio clipped, and the smaller of the two, all over the ratio's axes."""

    unclipped: Block
    clipped_ratio: Block
    clipped: Block
    smaller: Block


class ValueLoss(NamedTuple):
    """The squared errors of the new value, free and held near the old one, and half the larger of them; all (n, t)."""

    error: Block
    square: Block
    held: Block
    held_error: Block
    held_square: Block
    loss: Block


class PolicyKL(NamedTuple):
    """How far the update moved the policy: log-ratio d and the estimates −d and e^d − 1 − d; all (n, t)."""

    k1: Block
    k3: Block


class Total(NamedTuple):
    """The parts of the loss and their weighted sum, which training makes smaller; no axes."""

    policy_loss: Block
    value_loss: Block
    entropy: Block
    policy_kl: Block
    total: Block


def policy_ratio(logp_new: Block, logp_old: Block) -> tuple[Block, Block]:
    """Compares the new policy with the old one on the word written; the ratio is 1 outside the response."""
    d = block("log_ratio", (n, t), "d", "log π_θ − log π_old")
    ratio = block("ratio", (n, t), "ρ", "how much more likely the word has become", unit="> 0", source=sources.RATIO)
    d[n, t] = logp_new[n, t] - logp_old[n, t]
    ratio[n, t] = exp(d[n, t])
    return d, ratio


def surrogate(ratio: Block, advantages: Block, clip_range: Block) -> Surrogate:
    """Clips the ratio so that a word is not pushed farther than clip_range from where it was; takes the worse outcome.

    ratio, advantages: over any axes, the same for both.
    """
    at = ratio.axes
    free = block("surrogate.unclipped", at, "U", "ratio times advantage")
    near = block("ratio.clipped", at, "ρ_c", "ratio, held within 1 ± ε")
    held = block("surrogate.clipped", at, "U_c", "clipped ratio times advantage")
    smaller = block("surrogate", at, "U_min", "the smaller of the two", source=sources.CLIP)
    free[at] = ratio[at] * advantages[at]
    near[at] = maximum(1 - clip_range, minimum(1 + clip_range, ratio[at]))
    held[at] = near[at] * advantages[at]
    smaller[at] = minimum(free[at], held[at])
    return Surrogate(free, near, held, smaller)


def value_loss(V_new: Block, V_old: Block, R: Block, m: Block, value_clip_range: Block) -> ValueLoss:
    """Squares the distance of the new value from the return, free and held near the old value; takes the larger."""
    error = block("value.error", (n, t), "e", "error of the new value")
    square = block("value.square", (n, t), "e²", "its square", unit="≥ 0")
    held = block("value.clipped", (n, t), "V_c", "new value, held near the old one")
    held_error = block("value.error_clipped", (n, t), "e_c", "error of the held value")
    held_square = block("value.square_clipped", (n, t), "e_c²", "its square", unit="≥ 0")
    loss = block("value.word_loss", (n, t), "l_V", "half the larger square", unit="≥ 0", source=sources.VALUE_CLIP)
    error[n, t] = V_new[n, t] - R[n, t]
    square[n, t] = error[n, t] * error[n, t]
    held[n, t] = V_old[n, t] + maximum(-value_clip_range, minimum(value_clip_range, V_new[n, t] - V_old[n, t]))
    held_error[n, t] = held[n, t] - R[n, t]
    held_square[n, t] = held_error[n, t] * held_error[n, t]
    loss[n, t] = m[n, t] * maximum(square[n, t], held_square[n, t]) / 2
    return ValueLoss(error, square, held, held_error, held_square, loss)


def exact_kl(
    name: str, symbol: str, meaning: str, m: Block, p: Block, p_log_p: Block, log_q: Block
) -> tuple[Block, Block]:
    """Sums over the vocabulary, exactly, how far q is from p: Σ p log p − Σ p log q; 0 outside the response."""
    cross = block(f"{name}.cross", (n, t), "plogq", "Σ p log q: p of π_old, q this policy")
    exact = block(f"{name}.exact", (n, t), symbol, meaning, unit="≥ 0", source=sources.EXACT_KL)
    cross[n, t] = Sum(v, p[n, t, v] * log_q[n, t, v])
    exact[n, t] = m[n, t] * (p_log_p[n, t] - cross[n, t])
    return cross, exact


def word_entropy(m: Block, p_log_p: Block) -> Block:
    """Measures how undecided the new policy is before each word of the response."""
    entropy = block(
        "policy.entropy", (n, t), "H", "entropy of the new policy", unit="0 … ln(words)", source=sources.ENTROPY
    )
    entropy[n, t] = -(m[n, t] * p_log_p[n, t])
    return entropy


def policy_kl_estimates(d: Block) -> PolicyKL:
    """Estimates KL(π_old ‖ π_θ) from the log-ratio d of the sampled word."""
    k1 = block("policy_kl.k1", (n, t), "pk1", "estimate k1 of the policy KL", source=sources.KL_ESTIMATES)
    k3 = block("policy_kl.k3", (n, t), "pk3", "estimate k3 of the policy KL", unit="≥ 0", source=sources.KL_ESTIMATES)
    k1[n, t] = -d[n, t]
    k3[n, t] = exp(d[n, t]) - 1 - d[n, t]
    return PolicyKL(k1, k3)


def mean_over_words(name: str, symbol: str, meaning: str, x: Block, m: Block, words: Block, source: str = "") -> Block:
    """Averages a row over all response words of the batch."""
    mean = block(name, (), symbol, meaning, source=source)
    mean[()] = Sum((n, t), m[n, t] * x[n, t]) / words
    return mean


def total_loss(parts: dict[str, Block], coefficients: dict[str, Block], m: Block, words: Block) -> Total:
    """Adds the parts up. The surrogate and the entropy are to grow, so they enter with a minus.

    parts: the rows surrogate, value_loss, entropy, policy_kl. coefficients: vf_coef, ent_coef, policy_kl_coef.
    """
    L = block("policy_loss", (), "L_π", "minus the mean clipped surrogate", source=sources.CLIP)
    L[()] = -(Sum((n, t), m[n, t] * parts["surrogate"][n, t]) / words)
    V = mean_over_words("value_loss", "L_V", "mean of the words' value losses", parts["value_loss"], m, words)
    H = mean_over_words("entropy", "H_mean", "mean entropy of the response words", parts["entropy"], m, words)
    kl = mean_over_words("policy_kl", "KL_mean", "mean exact KL(π_old ‖ π_θ)", parts["policy_kl"], m, words)
    total = block("total_loss", (), "L", "the total loss, which training makes smaller", source=sources.TOTAL)
    total[()] = L + coefficients["vf_coef"] * V - coefficients["ent_coef"] * H + coefficients["policy_kl_coef"] * kl
    return Total(L, V, H, kl, total)


def word_shares(parts: dict[str, Block], coefficients: dict[str, Block], m: Block, words: Block) -> Block:
    """Splits the total loss over the response words: what each of them adds to it."""
    share = block("share", (n, t), "share", "what the word adds to the total loss")
    value, entropy, kl = parts["value_loss"][n, t], parts["entropy"][n, t], parts["policy_kl"][n, t]
    cost = coefficients["vf_coef"] * value - parts["surrogate"][n, t] - coefficients["ent_coef"] * entropy
    share[n, t] = m[n, t] * (cost + coefficients["policy_kl_coef"] * kl) / words
    return share
