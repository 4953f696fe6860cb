"""Slips in the policy loss: in the ratio, the clip, the advantages, and the mask; in the value loss: in the clip, the target, and
the mask; in the entropy, in the KL, and in what is watched: means over words and shares of words.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from blueprint.verifying.formulas import Named, losses, metrics, rewards, with_end
from blueprint.verifying.slips.slip import Number, Own, Read, Slip, Words, altered, beside, counted, masks, read


def surrogates(own: Own) -> Named:
    """Returns ratio and surrogates."""
    found = own.rows | losses.ratio_rows(own.texts, own.rows, own.options) | own.altered
    high = 1 + own.options.number("loss.clip_range_high")
    found |= {"ratio.clipped": losses.between(found["ratio"], losses.lowest_ratio(own.options), high)} | own.altered
    return found | losses.surrogate_rows(found, own.options)


def policy_words(own: Own) -> Words:
    """Returns the words of the policy loss."""
    return Words(-surrogates(own)["surrogate"], counted(own))


def _cooled(name: str, temperature: float) -> Read:
    return lambda own: own.file(name) / temperature


TEMPERATURES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.2, 1.5, 2.0)
SIDES = (("old_logprobs", "logprobs_old"), ("logprobs", "logprobs_new"))

RATIOS: tuple[tuple[str, Mapping[str, Read]], ...] = (
    # openai/baselines #1218 and hill-a/stable-baselines #447 ask which is divided by which
    ("logprobs_old and logprobs_new swapped: the ratio is inverted",
     {"logprobs": read("logprobs_old"), "old_logprobs": read("logprobs_new")}),
    ("the ratio against the reference, not the old policy", {"old_logprobs": read("logprobs_ref")}),
    ("the ratio of the old policy to the reference", {"logprobs": read("logprobs_old"), "old_logprobs": read("logprobs_ref")}),
    # thu-ml/tianshou #745 and higgsfield-ai/higgsfield #20: old log-probs of the policy as it is now
    ("the new log-probs for the old ones: a ratio of 1", {"old_logprobs": read("logprobs_new")}),
    ("the log-probs of the generating engine for the old ones", {"old_logprobs": read("logprobs_rollout")}),
    # opendilab/LightRFT #53: log-probs gathered from other places than the words'
    *((said, {key: moved}) for key, name in SIDES for said, moved in beside(name)),
    *((f"{name} divided by a temperature of {each:g}", {key: _cooled(name, each)})
      for key, name in SIDES for each in TEMPERATURES),
)  # fmt: skip
"""What may have been read for the log-probs of the ratio."""


def _for_ratio(made: Read, own: Own) -> Words:
    """The policy loss with something else for the ratio, 1 outside the response; where it is below 0, so is the surrogate of a
    positive advantage, which the dual clip leaves alone."""
    rows = surrogates(own.having({"ratio": torch.where(own["response"] > 0, made(own), 1.0)}))
    used = torch.where(rows["advantages_used"] < 0, rows["surrogate"], rows["surrogate.pessimistic"])
    return Words(-used, counted(own))


def _for_surrogate(made: Callable[[Own, Named], Tensor]) -> Number:
    return lambda own: Words(-made(own, surrogates(own)), counted(own))


def _log_ratio(own: Own) -> Tensor:
    return losses.ratio_rows(own.texts, own.rows, own.options)["log_ratio"]


def _of_mean(own: Own) -> Tensor:
    words = own["response"].sum(dim=-1, keepdim=True).clamp(min=1)
    return (_log_ratio(own).sum(dim=-1, keepdim=True) / words).exp().expand_as(own["response"])


LOW_FOR_LESS = "ε, not 1 − ε, for the lower end of the clip"


def low_for_less(own: Own) -> Tensor:
    """The ratio within ε … 1 + ε."""
    return surrogates(own)["ratio"].clamp(own.number("clip_range"), 1 + own.number("loss.clip_range_high"))


def _swapped(own: Own) -> Words:
    """1 − ε_high … 1 + ε_low."""
    low, high = own.settings["clip_range"], own.settings["loss.clip_range_high"]
    return policy_words(own.under({"clip_range": high, "loss.clip_range_high": low}))


def _sunk(own: Own, rows: Named) -> Tensor:
    """Not above c·Â where Â is negative."""
    low = torch.minimum(rows["surrogate.pessimistic"], own.number("loss.dual_clip") * rows["advantages_used"])
    return torch.where(rows["advantages_used"] < 0, low, rows["surrogate.pessimistic"])


def _product_clipped(own: Own, rows: Named) -> Tensor:
    low, high = 1 - own.number("clip_range"), 1 + own.number("loss.clip_range_high")
    return torch.minimum(rows["surrogate.unclipped"], rows["surrogate.unclipped"].clamp(low, high))


FOR_RATIO: tuple[tuple[str, Read], ...] = (
    ("the log-ratio for the ratio, without exp", _log_ratio),
    ("the log-prob for the ratio", lambda own: own.texts.logprobs),
    ("the probability for the ratio", lambda own: own.texts.logprobs.exp()),
    ("one ratio for each response, of the mean of its log-ratios, as in GSPO", _of_mean),
    ("one ratio for each response, of the sum of its log-ratios",
     lambda own: _log_ratio(own).sum(dim=-1, keepdim=True).exp().expand_as(own["response"])),
)  # fmt: skip
"""What may have been taken for the ratio."""

POLICY: tuple[Slip, ...] = (
    # rllm-org/rllm #81: the clip is computed, and the mean taken of what was not clipped
    Slip("the surrogate without the clip", _for_surrogate(lambda own, rows: rows["surrogate.unclipped"])),
    Slip("the clipped surrogate alone, not the smaller of both", _for_surrogate(lambda own, rows: rows["surrogate.clipped"])),
    Slip("max for min: the larger surrogate, not the smaller",
         _for_surrogate(lambda own, rows: torch.maximum(rows["surrogate.unclipped"], rows["surrogate.clipped"]))),
    *(Slip(said, altered(policy_words, reading)) for said, reading in RATIOS),
    *(Slip(said, altered(policy_words, {"advantages_used": moved})) for said, moved in beside("advantages")),
    *(Slip(said, partial(_for_ratio, made)) for said, made in FOR_RATIO),
    Slip("the clip of the product ρ·Â, not of the ratio", _for_surrogate(_product_clipped)),
    Slip("the clip range around 0, for the log-ratio", altered(policy_words, {
        "ratio.clipped": lambda own: _log_ratio(own).clamp(-own.number("clip_range"), own.number("loss.clip_range_high")).exp()})),
    Slip("the two ends of the clip range swapped", _swapped),
    # ChenmienTan/RL2 #21
    Slip(LOW_FOR_LESS, altered(policy_words, {"ratio.clipped": low_for_less})),
    Slip("only the upper end of the clip", lambda own: policy_words(own.under({"clip_range": "off"}))),
    Slip("only the lower end of the clip", lambda own: policy_words(own.under({"loss.clip_range_high": "off"}))),
    Slip("the dual clip for positive advantages, too", _for_surrogate(
        lambda own, rows: torch.maximum(rows["surrogate.pessimistic"], own.number("loss.dual_clip") * rows["advantages_used"]))),
    Slip("min for max under the dual clip: the smaller of both", _for_surrogate(_sunk)),
    Slip("the returns for the advantages",
         altered(policy_words, {"advantages_used": lambda own: own["returns"]})),
    Slip("the rewards for the advantages",
         altered(policy_words, {"advantages_used": lambda own: own["rewards"]})),
    Slip("raw advantages, not whitened",
         altered(policy_words, {"advantages_used": lambda own: own["response"] * own["advantages"]})),
    Slip("advantages whitened twice",
         altered(policy_words, {
        "advantages_used": lambda own: (own["advantages_used"] - own.whole["advantage.mean"]) / own.whole["advantage.divisor"]})),
    # verl-project/verl #2506: response_mask=advantages
    Slip("the advantages passed for the mask", lambda own: replace(policy_words(own), counted=own["advantages_used"])),
    Slip("the advantages passed for the mask", lambda own: replace(policy_words(own.everywhere), counted=own.file("advantages"))),
    *masks(policy_words, "the policy loss"),
)  # fmt: skip


def value_words(own: Own) -> Words:
    """Returns the words of the value loss."""
    found = value_rows(own)
    return Words(found["value.word_loss"], found["value.counted"])


def value_rows(own: Own) -> Named:
    """Returns the squares and what they are made of."""
    found = own.rows | losses.counted_rows(own.rows, own.options) | own.altered
    return found | losses.value_rows(own.texts.values, found, own.options)


def _times_factor(own: Own, squares: Tensor) -> Words:
    return Words(own.number("value.factor") * squares, counted(own, "value.counted"))


def _square(made: Callable[[Named], Tensor]) -> Number:
    """f times something else than the larger square."""
    return lambda own: _times_factor(own, made(value_rows(own)))


def _held(own: Own, clipped: Tensor) -> Words:
    """f·max((V − R)², (V_c − R)²) with another V_c."""
    off, off_clipped = own.texts.values - own["returns"], clipped - own["returns"]
    return _times_factor(own, torch.maximum(off.square(), off_clipped.square()))


def _about(middle: Read, own: Own, low: str = "value_clip_range", high: str = "value_clip_range") -> Words:
    """The value loss whose clip is about something else than the old values, or has other ranges below and above it."""
    return _held(own, losses.between(own.texts.values, middle(own) - own.number(low), middle(own) + own.number(high)))


def _change(own: Own) -> Words:
    limit = own.number("value_clip_range")
    return _held(own, (own.texts.values - own["values.kept"]).clamp(-limit, limit))


def _of_old_values(square: str, other: str, own: Own) -> Words:
    """f·max of two squares, one of which has V_old for its target in place of R."""
    old = value_rows(own.having({"returns": own["values.kept"]}))
    return _times_factor(own, torch.maximum(old[square], value_rows(own)[other]))


def _old_values(own: Own) -> Tensor:
    return own["values.kept"]


VALUE: tuple[Slip, ...] = (
    Slip("min for max: the smaller square, not the larger",
         _square(lambda rows: torch.minimum(rows["value.square"], rows["value.square_clipped"]))),
    Slip("the square without the clip", _square(lambda rows: rows["value.square"])),
    Slip("the clipped square alone", _square(lambda rows: rows["value.square_clipped"])),
    # implementation-matters/code-for-paper #1
    Slip("the square of the larger error, not the larger square", lambda own: _times_factor(
        own, (torch.maximum(own.texts.values, value_rows(own)["value.clipped"]) - own["returns"]).square())),
    Slip("the policy's clip range for the upper end of the values'",
         partial(_about, _old_values, high="loss.clip_range_high")),
    Slip("the policy's clip range for the lower end of the values'", partial(_about, _old_values, low="clip_range")),
    Slip("the absolute error, not the square", _square(lambda rows: rows["value.error"].abs())),
    # ray-project/ray #19291 asks what the clip of values is about
    Slip("the clip of values around the returns", partial(_about, lambda own: own["returns"])),
    Slip("the clipped change of the value, without the old value", _change),
    Slip("the old values' error, not the new ones'", altered(value_words, {"values": _old_values})),
    Slip("values_old and values_new swapped",
         altered(value_words, {"values": _old_values, "values.kept": lambda own: with_end(own.texts.values)})),
    *(Slip(said, partial(_about, moved)) for said, moved in beside("values_old")),
    *(Slip(said, altered(value_words, {"values": moved})) for said, moved in beside("values_new")),
    *(Slip(said, altered(value_words, {"returns": moved})) for said, moved in beside("returns")),
    Slip("the advantages for the returns", altered(value_words, {"returns": lambda own: own["advantages_used"]})),
    Slip("the raw advantages for the returns", altered(value_words, {"returns": lambda own: own["advantages"]})),
    Slip("the old values for the returns", altered(value_words, {"returns": _old_values})),
    Slip("the old values for the returns in the free square alone",
         partial(_of_old_values, "value.square", "value.square_clipped")),
    Slip("the old values for the returns in the clipped square alone",
         partial(_of_old_values, "value.square_clipped", "value.square")),
    Slip("the rewards for the returns", altered(value_words, {"returns": lambda own: own["rewards"]})),
    Slip("whitened advantages plus V for the returns",
         altered(value_words, {"returns": lambda own: own["advantages_used"] + own["values.kept"]})),
    *masks(value_words, "the value loss"),
)  # fmt: skip


WEIGHTS = ("watch.slots.weight", "watch.words.weight", "watch.values.weight")


def _rows(own: Own) -> Named:
    """Returns the rows of metrics; their sums are taken elsewhere, so that their weights are none."""
    found = surrogates(own) | dict.fromkeys(WEIGHTS, own.texts.slots)
    found = value_rows(own.having(found))
    return found | metrics.update_rows(own.texts, found, own.options) | metrics.clip_rows(found, own.options)


OVER: Mapping[str, Read] = {
    "watched": lambda own: own.texts.slots if own.settings["metrics.over"] == "all" else own["response"],
    "response": lambda own: own["response"],
    "values": lambda own: counted(own, "value.counted"),
    "loss": counted,
}
"""The words that a metric is the mean over: those that are watched, or all slots; of the response; of the value loss; of a loss."""


def mean_of(row: str, over: str) -> Number:
    """Returns the mean of a row over some words."""
    return lambda own: Words(_rows(own)[row], OVER[over](own), "token-mean")


class Summed(NamedTuple):
    """A number that is added up from words. slips: what may be wrong in it. mode: the convention of how it is added up."""

    words: Number
    slips: tuple[Slip, ...]
    mode: str = "loss.aggregation"


def _metric(of: str, words: Number, *slips: Slip, mode: str = "loss.aggregation") -> Summed:
    """Returns a number with slips of its own, and those in its mask."""
    return Summed(words, (*slips, *masks(words, of)), mode)


def _by(own: Own) -> str:
    return "seq-mean-token-sum" if own.settings["metrics.kl_stat"] == "seq_sum" else "seq-mean-token-mean"


def _ratios(row: str, over: str) -> tuple[Slip, ...]:
    """Returns the slips of the ratio in a mean that is made of it, on the pads, too, if those count."""

    def under(reading: Mapping[str, Read], own: Own) -> Words:
        there = own.everywhere if OVER[over](own) is own.texts.slots else own
        rows = _rows(there.having({name: made(own) for name, made in reading.items()}))
        return Words(rows[row], OVER[over](own), "token-mean")

    of_ratio = FOR_RATIO if row in ("ratio", "clip_fraction.flag") else ()
    readings = [*RATIOS, *((said, {"ratio": made}) for said, made in of_ratio)]
    return tuple(Slip(said, partial(under, reading)) for said, reading in readings)


def _mean(made: Callable[[Own, Named], Tensor], over: str = "response") -> Number:
    return lambda own: Words(made(own, _rows(own)).to(own.texts.slots.dtype), OVER[over](own), "token-mean")


def _between(one: str, other: str, over: str, by: Callable[[Own], str]) -> Number:
    return lambda own: Words(own.file(one) - own.file(other), OVER[over](own), by(own))


_RATIO = _metric("the mean ratio", mean_of("ratio", "watched"), *_ratios("ratio", "watched"))

METRICS: Mapping[str, Summed] = {
    "kl.statistic": _metric(
        "the KL",
        lambda own: Words(rewards.kl_rows(own.texts, own.options)["kl.used"], own["response"], _by(own)),
        Slip("the KL of the new policy, not the old one", _between("logprobs_new", "logprobs_ref", "response", _by)),
        Slip("the KL between old and new policy, not to the reference",
             _between("logprobs_old", "logprobs_new", "response", _by)),
    ),
    "loss.mean_ratio": _RATIO._replace(words=mean_of("ratio", "response")),
    "ratio.mean": _RATIO,
    "approx_kl.used": _metric(
        "the approximate KL",
        mean_of("policy_kl.used", "watched"),
        *_ratios("policy_kl.used", "watched"),
        Slip("the KL to the reference, not to the old policy",
             _between("logprobs_new", "logprobs_ref", "watched", lambda own: "token-mean")),
        # Rolv-Arild/rocket-learn #12
        Slip("k3 with the ratio where its log belongs: e^ρ − 1 − ρ",
             _mean(lambda own, rows: rows["ratio"].expm1() - rows["ratio"], "watched")),
        Slip("the squared log-ratio, without its 1/2",
             _mean(lambda own, rows: rows["policy_kl.log_ratio"].square(), "watched")),
    ),
    "clip_fraction.used": _metric(
        "the clip fraction",
        mean_of("clip_fraction.flag", "response"),
        Slip("the share of ratios above the range alone",
             _mean(lambda own, rows: rows["ratio"] > 1 + own.number("loss.clip_range_high"))),
        Slip("the share of ratios below the range alone", _mean(lambda own, rows: rows["ratio"] < 1 - own.number("clip_range"))),
        Slip("the share of tokens that are not clipped", _mean(lambda own, rows: 1 - rows["clip_fraction.flag"])),
        Slip("the share of tokens for which the clip gives the larger surrogate",
             _mean(lambda own, rows: rows["surrogate.clipped"] > rows["surrogate.unclipped"])),
        Slip(LOW_FOR_LESS, altered(mean_of("clip_fraction.flag", "response"), {"ratio.clipped": low_for_less})),
        *_ratios("clip_fraction.flag", "response"),
    ),
    "clip_fraction.dual": _metric("the share under the dual clip", mean_of("clip_fraction.floored", "response")),
    "clip_fraction.value": _metric(
        "the share of clipped values",
        mean_of("value.held_counts", "values"),
        Slip("the share of values outside the range",
             _mean(lambda own, rows: (rows["value.counted"] > 0) & (rows["value.clipped"] != own.texts.values), "values")),
    ),
    "entropy": _metric(
        "the entropy",
        lambda own: Words(own.texts.entropy, counted(own)),
        Slip("minus the log-prob of the tokens written, not the entropy", lambda own: Words(-own.texts.logprobs, counted(own))),
        Slip("minus the old log-prob of the tokens written, not the entropy",
             lambda own: Words(-own.texts.old_logprobs, counted(own))),
        mode="loss.entropy_aggregation",
    ),
    "entropy.watched": _metric(
        "the entropy that is watched", lambda own: Words(own.texts.entropy, OVER["watched"](own), "token-mean")
    ),
    "kl_loss": _metric(
        "the KL in the loss",
        lambda own: Words(rewards.kl_rows(own.texts, own.options)["kl_new.used"], counted(own)),
        Slip("the KL of the old policy, not the new one", _between("logprobs_old", "logprobs_ref", "loss", lambda own: "")),
        Slip("the KL between new and old policy, not to the reference",
             _between("logprobs_new", "logprobs_old", "loss", lambda own: "")),
        Slip("the squared log-ratio for the KL, without its 1/2", lambda own: Words(own["kl_new.k1"].square(), counted(own))),
    ),
}  # fmt: skip
