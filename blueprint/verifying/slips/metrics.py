"""Slips in the entropy, in the KL, and in what is watched: means over words and shares of words."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from torch import Tensor

from blueprint.verifying.formulas import Named, metrics, rewards
from blueprint.verifying.slips.critic import value_rows
from blueprint.verifying.slips.policy import FOR_RATIO, LOW_FOR_LESS, RATIOS, low_for_less, surrogates
from blueprint.verifying.slips.slip import Number, Own, Read, Slip, Words, altered, counted, masks

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
