"""Mistakes in a trainer of GRPO or RLOO, as data: what its code does otherwise, and what `verify` must then find.

Each is planted in one stage of TRL's formulas, on the files of a real run; all that comes after it follows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.hooks.trl_formulas import (
    Array,
    Formulas,
    Mistake,
    Use,
    Written,
    advantages,
    averaged,
    bonus,
    kl,
    objective,
    otherwise,
    ratio,
    weighted,
)


def scaled(by: float | None = None, ddof: int = 1, eps: float = 1e-4, inside: bool = False) -> Formulas:
    """Returns advantages over another deviation: a number, or that of the group with another ddof, or ε elsewhere."""

    def of(grouped: Array, use: Use) -> Array:
        centred, variance = grouped - grouped.mean(1, keepdims=True), grouped.var(1, ddof=ddof, keepdims=True)
        deviation = np.sqrt(variance + eps) if inside else np.sqrt(variance) + eps
        return np.asarray(centred / (by or deviation))

    return otherwise(advantages=of)


def baseline(of: str) -> Formulas:
    """Returns advantages over the group's deviation, less another baseline."""

    def less(grouped: Array, use: Use) -> Array:
        size = grouped.shape[1]
        others = (grouped.sum(1, keepdims=True) - grouped) / (size - 1)
        from_it = grouped - {"others": others, "none": 0.0, "batch": grouped.mean()}[of]
        return np.asarray(from_it / (grouped.std(1, ddof=1, keepdims=True) + 1e-4))

    return otherwise(advantages=less)


def in_other_groups(grouped: Array, use: Use) -> Array:
    """The responses stand prompt by prompt, and are taken for one of each prompt in turn."""
    mixed = grouped.ravel().reshape(grouped.shape[1], -1).T
    return advantages(mixed, use).T.reshape(grouped.shape)


def mask_by(more: int) -> Formulas:
    """Returns formulas whose mask ends some tokens later."""

    def of(t: Mapping[str, Array]) -> Mapping[str, Array]:
        mask, count = t["completion_mask"], t["completion_mask"].sum(1, keepdims=True) + more
        return {**t, "completion_mask": (np.arange(mask.shape[1]) < count).astype(float)}

    return otherwise(given=of)


def shifted(name: str, by: int) -> Formulas:
    """Returns formulas that read log-probs of the token before (1) or behind (-1)."""
    return otherwise(given=lambda t: {**t, name: np.roll(t[name], by, axis=1) * t["completion_mask"]})


def swapped(one: str, other: str) -> Formulas:
    return otherwise(given=lambda t: {**t, one: t[other], other: t[one]})


def no_clip(r: Array, of: Array, new: Array, use: Use) -> Array:
    return -r * of


def better_of_both(r: Array, of: Array, new: Array, use: Use) -> Array:
    return -np.maximum(r * of, r.clip(1 - use["epsilon_low"], 1 + use["epsilon_high"]) * of)


def with_settings(**more: float | str | bool | None) -> Formulas:
    """Returns formulas that lose a setting on the way, and use another."""
    return otherwise(
        objective=lambda r, of, new, use: objective(r, of, new, {**use, **more}),
        ratio=lambda apart, mask, use: ratio(apart, mask, {**use, **more}),
        advantages=lambda grouped, use: advantages(grouped, {**use, **more}),
        kl=lambda above, r, use: kl(above, r, {**use, **more}),
        averaged=lambda loss, mask, file: averaged(loss, mask, file._replace(settings={**file.settings, **more})),
    )


def summed_first(scores: Array, use: Use) -> Array:
    return advantages(weighted(scores, use).reshape(-1, use["num_generations"]), use).ravel()


def per_token(loss: Array, mask: Array, file: Written) -> float:
    return float((loss * mask).sum() / mask.sum())


def with_prompt(loss: Array, mask: Array, file: Written) -> float:
    """Divides by the tokens of prompt and response."""
    prompt = (file.tensors["prompt_ids"] > 0).sum(1)
    return float(((loss * mask).sum(1) / (mask.sum(1) + prompt)).mean())


def padded(loss: Array, mask: Array, file: Written) -> float:
    return float((loss * mask).mean())


def summed(apart: Array, mask: Array, use: Use) -> Array:
    return np.asarray(np.exp((apart * mask).sum(1, keepdims=True)))


def kl_by(estimate: str) -> Formulas:
    ways = {
        "k1": lambda x: -x,
        "k2": lambda x: x * x / 2,
        "swapped": lambda x: np.exp(-x) + x - 1,
        "plus": lambda x: np.exp(x) - x,
    }
    return otherwise(kl=lambda above, r, use: np.asarray(ways[estimate](above)))


def first_function(scores: Array, use: Use) -> Array:
    return np.asarray(np.nansum(scores, axis=1))


def negative(grouped: Array, use: Use) -> Array:
    return -advantages(grouped, use)


def shares(loss: Array, mask: Array, file: Written) -> float:
    """Averages over a microbatch's own tokens, and divides by how many microbatches there are."""
    return per_token(loss, mask, file) / 2


def less_than_mean(grouped: Array, use: Use) -> Array:
    return np.asarray(grouped - grouped.mean(1, keepdims=True))


GRPO, DAPO, DR, GSPO = "trl_grpo/grpo", "trl_grpo/dapo", "trl_grpo/dr_grpo", "trl_grpo/sequence"
MISTAKES = {
    "the advantage has the wrong sign": Mistake(GRPO, "advantages", "the opposite sign", otherwise(advantages=negative)),
    "std of the population": Mistake(GRPO, "advantages", "group.ddof = 0", scaled(ddof=0)),
    "ε under the root": Mistake(GRPO, "advantages", "", scaled(inside=True)),
    "ε of 1e-6": Mistake(GRPO, "advantages", "group.eps = 1e-06", scaled(eps=1e-6)),
    "ε of 0.1": Mistake(GRPO, "advantages", "", scaled(eps=0.1)),
    "no std": Mistake(GRPO, "advantages", "group.std = none", scaled(by=1.0)),
    "std kept in Dr. GRPO": Mistake(DR, "advantages", "group.std = group", scaled()),
    "std of the batch": Mistake(DAPO, "advantages", "group.std = batch", with_settings(scale_rewards="batch")),
    "mean of the others": Mistake(GRPO, "advantages", "group.baseline = others", baseline("others")),
    "no baseline": Mistake(GRPO, "advantages", "group.baseline = none", baseline("none")),
    "mean of the batch": Mistake(GRPO, "advantages", "group.baseline = batch", baseline("batch")),
    "groups mixed up": Mistake(GRPO, "advantages", "groups that are interleaved", otherwise(advantages=in_other_groups)),
    "weights of rewards forgotten": Mistake("trl_grpo/functions", "advantages", "", otherwise(weighted=first_function)),
    "RLOO less the mean of all": Mistake("trl_rloo/kl", "advantages", "group.baseline = mean",
                                         otherwise(advantages=less_than_mean)),
    "the last token left out": Mistake(GRPO, "kl.mean_new", "the last token of each response left out", mask_by(-1)),
    "a token behind the end": Mistake(DAPO, "total_loss", "", mask_by(1)),
    "tokens of the prompt counted": Mistake(GRPO, "total_loss", "", otherwise(averaged=with_prompt)),
    "mean over padded length": Mistake(GRPO, "total_loss", "", otherwise(averaged=padded)),
    "mean over tokens": Mistake(GRPO, "total_loss", "loss.aggregation = token_mean", otherwise(averaged=per_token)),
    "a mean of each microbatch": Mistake(DAPO, "total_loss", "", otherwise(averaged=shares)),
    "the ratio is inverted": Mistake(DAPO, "total_loss", "the ratio the other way round",
                                     swapped("per_token_logps", "old_per_token_logps")),
    "old log-probs of the token before": Mistake(DAPO, "total_loss", "the old log-probs one position late",
                                                 shifted("old_per_token_logps", 1)),
    "new log-probs of the token behind": Mistake(DAPO, "total_loss", "the new log-probs one position early",
                                                 shifted("per_token_logps", -1)),
    "reference's log-probs of the token before": Mistake(GRPO, "kl.mean_new", "the reference's log-probs one position late",
                                                         shifted("ref_per_token_logps", 1)),
    "ε_high forgotten": Mistake(DAPO, "total_loss", "loss.clip_high = 0.2", with_settings(epsilon_high=0.2)),
    "both ε swapped": Mistake(DAPO, "total_loss", "", with_settings(epsilon_low=0.28, epsilon_high=0.2)),
    "no clip": Mistake(DAPO, "total_loss", "loss.objective = ratio", otherwise(objective=no_clip)),
    "the better of both instead of the worse": Mistake(DAPO, "total_loss", "the better of both surrogates",
                                                       otherwise(objective=better_of_both)),
    "the cap on the ratio forgotten": Mistake(DR, "total_loss", "loss.delta = off", with_settings(delta=None)),
    "CISPO's cap taken for 1 + ε": Mistake("trl_grpo/cispo", "total_loss", "loss.clip_high = 1.1", with_settings(epsilon_high=2.1)),
    "GSPO's ratio of each token": Mistake(GSPO, "kl.mean_new", "ratio.level = token",
                                          with_settings(importance_sampling_level="token")),
    "GSPO's ratio without 1/n": Mistake(GSPO, "kl.mean_new", "ratio.level = product", otherwise(ratio=summed)),
    "KL times no ratio": Mistake(GSPO, "kl.mean_new", "kl.weight = none", with_settings(use_bias_correction_kl=False)),
    "KL times the ratio": Mistake(GRPO, "kl.mean_new", "kl.weight = ratio", with_settings(use_bias_correction_kl=True)),
    "k1 for k3": Mistake(GRPO, "kl.mean_new", "kl.estimator = k1", kl_by("k1")),
    "k2 for k3": Mistake(GRPO, "kl.mean_new", "kl.estimator = k2", kl_by("k2")),
    "the KL the other way round": Mistake(GRPO, "kl.mean_new", "the KL the other way round", kl_by("swapped")),
    "k1 for k3, where a microbatch splits its groups unevenly": Mistake(
        "trl_grpo/uneven", "kl.mean_new", "kl.estimator = k1", otherwise(kl=lambda above, r, use: -above * r)),
    "the ratio is inverted, where a microbatch splits its groups unevenly": Mistake(
        "trl_grpo/uneven", "kl.mean_new", "", swapped("per_token_logps", "old_per_token_logps")),
    "the quantile of the entropy forgotten": Mistake("trl_grpo/quantile", "total_loss", "loss.entropy_least = off",
                                                     otherwise(unsure=lambda t, use: t["completion_mask"])),
    "k1 for k3, among tokens of most entropy": Mistake("trl_grpo/quantile", "kl.mean_new", "kl.estimator = k1",
                                                       otherwise(kl=lambda above, r, use: -above * r)),
    "the bonus of entropy added": Mistake("trl_grpo/bonus", "total_loss", "the entropy added to the loss, not taken off",
                                          otherwise(bonus=lambda file: -bonus(file))),
    "the bonus of entropy forgotten": Mistake("trl_grpo/bonus", "total_loss", "loss.ent_coef = 0",
                                              otherwise(bonus=lambda file: 0.0)),
    "functions added up before they are normalised": Mistake(
        "trl_grpo/apart", "advantages", "", otherwise(each_normalised=summed_first)),
    "k3 without − 1": Mistake(GRPO, "kl.mean_new", "", kl_by("plus")),
}  # fmt: skip
