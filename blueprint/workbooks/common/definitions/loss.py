"""The loss: how far the new policy and critic have come, and how good that was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from blueprint.language import Block, Sum, block, maximum, minimum
from blueprint.workbooks.common import sources
from blueprint.workbooks.common.axes import n, t


class ValueLoss(NamedTuple):
    """The squared errors of the new value, free and held near the old one, and half the larger of them; all (n, t)."""

    error: Block
    square: Block
    held: Block
    held_error: Block
    held_square: Block
    loss: Block


class Total(NamedTuple):
    """The parts of the loss and their weighted sum, which training makes smaller; no axes."""

    policy_loss: Block
    value_loss: Block
    entropy: Block
    policy_kl: Block
    total: Block


def value_loss(V_new: Block, V_old: Block, R: Block, m: Block, value_clip_range: Block) -> ValueLoss:
    """Squares the distance of the new value from the return, free and held near the old value; takes the larger."""
    error = block("value.error", (n, t), "e", "value error V − R")
    square = block("value.square", (n, t), "e²", "squared error", unit="≥ 0")
    held = block("value.clipped", (n, t), "V_c", "V clipped to V_old ± ε_V")
    held_error = block("value.error_clipped", (n, t), "e_c", "error of the clipped value")
    held_square = block("value.square_clipped", (n, t), "e_c²", "squared error of V_c", unit="≥ 0")
    loss = block(
        "value.word_loss",
        (n, t),
        "v_loss",
        "value loss of the word: half the larger",
        unit="≥ 0",
        source=sources.VALUE_CLIP,
    )
    error[n, t] = V_new[n, t] - R[n, t]
    square[n, t] = error[n, t] * error[n, t]
    held[n, t] = V_old[n, t] + maximum(-value_clip_range, minimum(value_clip_range, V_new[n, t] - V_old[n, t]))
    held_error[n, t] = held[n, t] - R[n, t]
    held_square[n, t] = held_error[n, t] * held_error[n, t]
    loss[n, t] = m[n, t] * maximum(square[n, t], held_square[n, t]) / 2
    return ValueLoss(error, square, held, held_error, held_square, loss)


def mean_over_words(name: str, symbol: str, meaning: str, x: Block, m: Block, words: Block, source: str = "") -> Block:
    """Averages a row over all response words of the batch."""
    mean = block(name, (), symbol, meaning, source=source)
    mean[()] = Sum((n, t), m[n, t] * x[n, t]) / words
    return mean


class LossParts(NamedTuple):
    """The rows (n, t) of which the loss is made."""

    surrogate: Block
    value_loss: Block
    entropy: Block
    policy_kl: Block


def total_loss(parts: LossParts, use: Mapping[str, Block], m: Block, words: Block) -> Total:
    """Adds the parts up. The surrogate and the entropy are to grow, so they enter with a minus.

    use: the settings by key, of which vf_coef, ent_coef and policy_kl_coef are read.
    """
    L = block("policy_loss", (), "L_policy", "policy loss: minus the mean of U_min", source=sources.CLIP)
    L[()] = -(Sum((n, t), m[n, t] * parts.surrogate[n, t]) / words)
    V = mean_over_words(
        "value_loss", "L_value", "value loss: mean of v_loss", parts.value_loss, m, words, sources.VALUE_CLIP
    )
    H = mean_over_words("entropy", "H_mean", "entropy: mean over the response words", parts.entropy, m, words)
    told = "policy KL: mean of the exact KL"
    kl = mean_over_words("policy_kl", "KL_pol", told, parts.policy_kl, m, words, sources.PENALISED)
    total = block("total_loss", (), "L", "total loss, which training makes smaller", source=sources.TOTAL)
    total[()] = L + use["vf_coef"] * V - use["ent_coef"] * H + use["policy_kl_coef"] * kl
    return Total(L, V, H, kl, total)


def weighted_parts(total: Total, use: Mapping[str, Block]) -> tuple[Block, Block, Block]:
    """Shows what each part adds to the total, after the policy loss, which has no coefficient."""
    value = block("adds.value_loss", (), "value_part", "value loss times vf_coef")
    entropy = block("adds.entropy", (), "entropy_part", "entropy bonus: −ent_coef times entropy")
    kl = block("adds.policy_kl", (), "KL_part", "policy KL times policy_kl_coef")
    value[()] = use["vf_coef"] * total.value_loss
    entropy[()] = -(use["ent_coef"] * total.entropy)
    kl[()] = use["policy_kl_coef"] * total.policy_kl
    return value, entropy, kl


def word_shares(parts: LossParts, use: Mapping[str, Block], m: Block, words: Block) -> Block:
    """Splits the total loss over the response words: what each of them adds to it."""
    share = block("share", (n, t), "share", "what the word adds to the total")
    cost = use["vf_coef"] * parts.value_loss[n, t] - parts.surrogate[n, t] - use["ent_coef"] * parts.entropy[n, t]
    share[n, t] = m[n, t] * (cost + use["policy_kl_coef"] * parts.policy_kl[n, t]) / words
    return share
