"""Say in words what a convention does, shortly: "score one past the last word"."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.inputs.setting import OFF

_NUMBERS = {
    "gamma": "γ = {}",
    "gae_lambda": "λ = {}",
    "kl_coef": "KL price β = {}",
    "clip_range": "ratio clipped below 1 − {}",
    "loss.clip_range_high": "ratio clipped above 1 + {}",
    "value_clip_range": "value clip ±{}",
    "vf_coef": "value loss times {}",
    "ent_coef": "entropy times {}",
    "policy_kl_coef": "policy KL times {}",
    "whiten_eps": "ε of whitening {}",
    "reward.kl_clamp_in": "log-ratio to the reference held within ±{}",
    "reward.kl_clamp_out": "KL held within ±{}",
    "loss.kl_coef": "KL price in the loss {}",
    "loss.kl_clamp_in": "log-ratio to the reference held within ±{} in the loss",
    "loss.kl_clamp_out": "KL held within ±{} in the loss",
    "reward.score_clip": "score clipped at ±{}",
    "advantage.tail_slots": "{} more behind the last word kept in GAE",
    "advantage.ddof": "variance by N − {}",
    "advantage.mean_eps": "N + {} in the means of whitening",
    "advantage.ddof_eps": "N + {} in the variance",
    "loss.log_ratio_clamp": "log-ratio held within ±{}",
    "loss.dual_clip": "dual clip at {}",
    "loss.ratio_threshold": "losses 0 if the mean ratio passes {}",
    "loss.agg_eps": "N + {} in the token mean",
    "loss.seq_eps": "n + {} in the response mean",
    "value.factor": "squares of the value loss times {}",
    "value.tail": "value loss over {} slot more",
    "metrics.ev_eps": "{} added to a variance that is watched",
}
_WORDS = {
    ("kl_estimator", "abs"): "KL by its size, |k1|",
    ("kl_estimator", "full"): "KL over the whole vocabulary",
    ("whiten_advantages", "off"): "advantages not whitened",
    ("whiten_advantages", "keep_mean"): "mean added back after whitening",
    ("batch.response_mask", "all"): "no mask, so pads count as words",
    ("reward.kl_in", "none"): "no KL",
    ("reward.kl_in", "loss"): "KL in the loss",
    ("reward.kl_in", "both"): "KL in the reward and in the loss",
    ("reward.kl_clamp_of", "k3"): "only k3 clamped",
    ("loss.kl_clamp_of", "k3"): "only k3 clamped in the loss",
    ("loss.kl_estimator", "abs"): "KL in the loss by its size, |k1|",
    ("loss.kl_estimator", "full"): "KL in the loss over the whole vocabulary",
    ("reward.kl_at_first_pad", "on"): "the first pad pays its KL",
    ("reward.score_slot", "end"): "score in the very last slot",
    ("reward.score_slot", "one_past"): "score one past the last word",
    ("reward.score_slot", "two_past"): "score two past the last word",
    ("reward.whiten", "on"): "rewards whitened",
    ("reward.whiten_rezero", "off"): "whitened rewards not set to 0 at pads",
    ("advantage.gae_holes", "carry"): "GAE passes over holes",
    ("advantage.stats", "all"): "whitening counts the pads",
    ("advantage.eps_form", "clamp"): "σ² not below ε",
    ("advantage.eps_form", "std_plus"): "σ + ε",
    ("advantage.eps_form", "std_max"): "σ not below ε",
    ("loss.sample_filter", "ended"): "responses without an end word dropped",
    ("loss.joint", "off"): "critic trained apart",
    ("loss.entropy_aggregation", "token-mean"): "entropy always by token mean",
    ("value.combine", "clipped_only"): "clipped square alone",
    ("value.aggregation", "token-mean"): "value loss always by token mean",
    ("metrics.over", "all"): "pads counted in what is watched",
}
_ZERO = {
    "ent_coef": "no entropy bonus",
    "vf_coef": "no value loss",
    "kl_coef": "KL price β = 0",
    "advantage.ddof": "variance by N",
}
_PLAIN = {
    "kl_estimator": "KL by {}",
    "loss.kl_estimator": "KL in the loss by {}",
    "loss.aggregation": "mean: {}",
    "metrics.kl": "approximate KL by {}",
    "metrics.log_ratio": "approximate KL of the {} log-ratio",
    "metrics.clip_fraction": "clip fraction by {}",
    "metrics.explained": "explained variance by {}",
    "metrics.kl_stat": "KL to the reference watched by {}",
}
_SCORED = {"set": "set to", "subtract": "less"}
_UNENDED = {"token": "no end word was written", "has_padding": "no pad follows"}
_SETTINGS = ("gamma", "gae_lambda", "kl_coef", "clip_range", "loss.clip_range_high", "value_clip_range", "vf_coef")
TUNED = frozenset({*_SETTINGS, "ent_coef", "policy_kl_coef", "loss.kl_coef"})
"""What every user of any library sets anew: γ, λ and the coefficients. All else is a rule of the library's code."""


def said(key: str, values: Mapping[str, float | str]) -> str:
    """Says what a convention does; one that has no words of its own is given as a numbers file spells it."""
    value, spelled = values[key], f"{key if '.' in key else f'ppo.{key}'} = {{}}"
    if key == "reward.missing_eos" and value in _SCORED:
        test = _UNENDED[str(values["reward.missing_eos_test"])]
        return f"score {_SCORED[str(value)]} {_spelled(float(values['reward.missing_eos_value']))} where {test}"
    if isinstance(value, str):
        return _WORDS.get((key, value)) or _PLAIN.get(key, spelled).format(value)
    if value == OFF:
        return spelled.format("off")
    return _ZERO[key] if value == 0 and key in _ZERO else _NUMBERS.get(key, spelled).format(_spelled(value))


def _spelled(value: float) -> str:
    return f"{value:g}".replace("-", "−")
