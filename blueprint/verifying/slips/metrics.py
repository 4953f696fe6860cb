"""Slips in the entropy, in the KL, and in what is watched: means over words and shares of words."""

from collections.abc import Callable, Mapping
from functools import partial

from torch import Tensor

from blueprint.verifying.slips.critic import value_rows
from blueprint.verifying.slips.own import Own, Read
from blueprint.verifying.slips.policy import FOR_RATIO, LOW_FOR_LESS, RATIOS, low_for_less, surrogates
from blueprint.verifying.slips.slip import Slip, Words, altered, counted, masks
from blueprint.witness import Named, metrics, rewards

WEIGHTS = ("watch.slots.weight", "watch.words.weight", "watch.values.weight")


def _rows(own: Own) -> Named:
    """Returns the rows of metrics; their sums are taken elsewhere, so that their weights are none."""
    found = surrogates(own) | dict.fromkeys(WEIGHTS, own.texts.slots)
    found = value_rows(own.having(found))
    return found | metrics.update_rows(own.texts, found, own.options) | metrics.clip_rows(found, own.options)


def over_watched(own: Own) -> Tensor:
    """Returns the words that are watched, or all slots."""
    return own.texts.slots if own.settings["metrics.over"] == "all" else own["response"]


def over_response(own: Own) -> Tensor:
    """Returns the words of the response."""
    return own["response"]


def over_values(own: Own) -> Tensor:
    """Returns the words of the value loss."""
    return counted(own, "value.counted")


def mean_of(row: str, over: Read) -> Callable[[Own], Words]:
    """Returns the mean of a row over some words."""
    return lambda own: Words(_rows(own)[row], over(own), "token-mean")


def entropy(own: Own) -> Words:
    """Returns the words of the entropy in the loss."""
    return Words(own.texts.entropy, counted(own))


def entropy_watched(own: Own) -> Words:
    """Returns the words of the entropy that is watched."""
    return Words(own.texts.entropy, over_watched(own), "token-mean")


def kl_loss(own: Own) -> Words:
    """Returns the words of the KL in the loss."""
    return Words(rewards.kl_rows(own.texts, own.options)["kl_new.used"], counted(own))


def kl_statistic(own: Own) -> Words:
    """Returns the words of the KL that a controller is fed with."""
    return Words(rewards.kl_rows(own.texts, own.options)["kl.used"], own["response"], _by(own))


def _by(own: Own) -> str:
    return "seq-mean-token-sum" if own.settings["metrics.kl_stat"] == "seq_sum" else "seq-mean-token-mean"


def _ratios(row: str, over: Read) -> tuple[Slip, ...]:
    """Returns the slips of the ratio in a mean that is made of it, on the pads, too, if those count."""

    def under(reading: Mapping[str, Read], own: Own) -> Words:
        there = own.everywhere if over(own) is own.texts.slots else own
        rows = _rows(there.having({name: made(own) for name, made in reading.items()}))
        return Words(rows[row], over(own), "token-mean")

    of_ratio = FOR_RATIO if row in ("ratio", "clip_fraction.flag") else ()
    readings = [*RATIOS, *((said, {"ratio": made}) for said, made in of_ratio)]
    return tuple(Slip(said, partial(under, reading)) for said, reading in readings)


def _mean(made: Callable[[Own, Named], Tensor], over: Read = over_response) -> Callable[[Own], Words]:
    return lambda own: Words(made(own, _rows(own)).to(own.texts.slots.dtype), over(own), "token-mean")


def _between(one: str, other: str, over: Read, by: Callable[[Own], str]) -> Callable[[Own], Words]:
    return lambda own: Words(own.file(one) - own.file(other), over(own), by(own))


RATIO = (*_ratios("ratio", over_watched), *masks(mean_of("ratio", over_watched), "the mean ratio"))

APPROX_KL = (
    *_ratios("policy_kl.used", over_watched),
    Slip("the KL to the reference, not to the old policy",
         _between("logprobs_new", "logprobs_ref", over_watched, lambda own: "token-mean")),
    # Rolv-Arild/rocket-learn #12
    Slip("k3 with the ratio where its log belongs: e^ρ − 1 − ρ",
         _mean(lambda own, rows: rows["ratio"].expm1() - rows["ratio"], over_watched)),
    Slip("the squared log-ratio, without its 1/2",
         _mean(lambda own, rows: rows["policy_kl.log_ratio"].square(), over_watched)),
    *masks(mean_of("policy_kl.used", over_watched), "the approximate KL"),
)  # fmt: skip

CLIPPED = (
    Slip("the share of ratios above the range alone",
         _mean(lambda own, rows: rows["ratio"] > 1 + own.number("loss.clip_range_high"))),
    Slip("the share of ratios below the range alone", _mean(lambda own, rows: rows["ratio"] < 1 - own.number("clip_range"))),
    Slip("the share of words that are not clipped", _mean(lambda own, rows: 1 - rows["clip_fraction.flag"])),
    Slip("the share of words for which the clip gives the larger surrogate",
         _mean(lambda own, rows: rows["surrogate.clipped"] > rows["surrogate.unclipped"])),
    Slip(LOW_FOR_LESS, altered(mean_of("clip_fraction.flag", over_response), {"ratio.clipped": low_for_less})),
    *_ratios("clip_fraction.flag", over_response),
    *masks(mean_of("clip_fraction.flag", over_response), "the clip fraction"),
)  # fmt: skip

FLOORED = masks(mean_of("clip_fraction.floored", over_response), "the share under the dual clip")

HELD = (
    Slip("the share of values outside the range",
         _mean(lambda own, rows: (rows["value.counted"] > 0) & (rows["value.clipped"] != own.texts.values), over_values)),
    *masks(mean_of("value.held_counts", over_values), "the share of clipped values"),
)  # fmt: skip

KL = (
    Slip("the KL of the new policy, not the old one", _between("logprobs_new", "logprobs_ref", over_response, _by)),
    Slip("the KL between old and new policy, not to the reference",
         _between("logprobs_old", "logprobs_new", over_response, _by)),
    *masks(kl_statistic, "the KL"),
)  # fmt: skip

ENTROPY = (
    Slip(
        "minus the log-prob of the words written, not the entropy", lambda own: Words(-own.texts.logprobs, counted(own))
    ),
    Slip(
        "minus the old log-prob of the words written, not the entropy",
        lambda own: Words(-own.texts.old_logprobs, counted(own)),
    ),
    *masks(entropy, "the entropy"),
)

ENTROPY_WATCHED = masks(entropy_watched, "the entropy that is watched")

KL_LOSS = (
    Slip("the KL of the old policy, not the new one", _between("logprobs_old", "logprobs_ref", counted, lambda own: "")),
    Slip("the KL between new and old policy, not to the reference",
         _between("logprobs_new", "logprobs_old", counted, lambda own: "")),
    Slip("the squared log-ratio for the KL, without its 1/2", lambda own: Words(own["kl_new.k1"].square(), counted(own))),
    *masks(kl_loss, "the KL in the loss"),
)  # fmt: skip
