"""Mistakes by name in the losses, and in what is watched, each one line: an equation of the definitions that is another one, or a
row; and all mistakes by the quantity in which they show first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from blueprint.dumps import Array
from blueprint.inputs.catalogue import OFF
from blueprint.language import exp, less, maximum, minimum, where
from blueprint.misconceptions import Change, Names, equation
from blueprint.verifying import Settings, Try
from blueprint.workbooks.rlhf_ppo.verifying.mistakes_in_signal import (
    OF_ADVANTAGES,
    OF_DECAY,
    OF_DELTAS,
    OF_RETURNS,
    OF_REWARDS,
    OF_WHITENED,
)
from blueprint.workbooks.rlhf_ppo.verifying.own_rows import BESIDE, Made, Own, summed, words_of


def _value_held(low: Callable[[Names], Any], high: Callable[[Names], Any]) -> Change:
    return equation(lambda b: maximum(low(b), minimum(high(b), b("critic.values"))))


def _changed(row: str, made: Callable[[Names], Any]) -> Mapping[str, Change]:
    return {row: equation(made)}


def _below_0(expr: Any, b: Names) -> Any:
    """The surrogate where a ratio may be below 0: the dual clip leaves that of a positive advantage alone."""
    return where(less(b("advantages_used"), 0), expr, b("surrogate.pessimistic"))


def _for_ratio(made: Callable[[Names], Any], dual: bool) -> Mapping[str, Change]:
    return {
        "ratio": equation(lambda b: where(less(0, b("response")), made(b), 1)),
        **({"surrogate": _below_0} if dual else {}),
    }


def _for_response(counted: str, row: Made, own: Own) -> Array:
    where_it_is = own.slots if counted == "slots" else own["response"]
    return np.where(where_it_is > 0, np.exp(row(own)), 1.0)


def of_ratio(settings: Settings) -> Iterator[Try]:
    """Yields what may have been taken for the ratio."""
    dual = settings["loss.dual_clip"] != OFF and settings["loss.dual_clip"] != "off"
    for said, made in {
        "the log-ratio for the ratio, without exp": lambda b: b("log_ratio"),
        "the log-prob for the ratio": lambda b: b("policy.logprobs"),
        "the probability for the ratio": lambda b: exp(b("policy.logprobs")),
    }.items():
        yield Try(said, settings, {"equations": _for_ratio(made, dual)})
    for said, row in {
        "one ratio for each response, of the mean of its log-ratios, as in GSPO": lambda own: (
            summed(own["log_ratio"]) / words_of(own)
        ),
        "one ratio for each response, of the sum of its log-ratios": lambda own: summed(own["log_ratio"]),
    }.items():
        for counted in ("response", "slots"):  # pads, too, where they are watched
            stands = {"ratio": partial(_for_response, counted, row)}
            yield Try(said, settings, {"stands": stands})


OF_SURROGATE: Mapping[str, Mapping[str, Change]] = {
    # rllm-org/rllm #81: the clip is computed, and the mean taken of what was not clipped
    "the surrogate without the clip": _changed("surrogate", lambda b: b("surrogate.unclipped")),
    "the clipped surrogate alone, not the smaller of both": _changed("surrogate", lambda b: b("surrogate.clipped")),
    "max for min: the larger surrogate, not the smaller":
        _changed("surrogate", lambda b: maximum(b("surrogate.unclipped"), b("surrogate.clipped"))),
    "the clip range around 0, for the log-ratio": _changed("ratio.clipped", lambda b: exp(
        maximum(-b("clip_range"), minimum(b("loss.clip_range_high"), b("log_ratio"))))),
    "the two ends of the clip range swapped": _changed("ratio.clipped", lambda b: maximum(
        1 - b("loss.clip_range_high"), minimum(1 + b("clip_range"), b("ratio")))),
    # ChenmienTan/RL2 #21
    "ε, not 1 − ε, for the lower end of the clip": _changed("ratio.clipped", lambda b: maximum(
        b("clip_range"), minimum(1 + b("loss.clip_range_high"), b("ratio")))),
    "only the upper end of the clip": _changed("ratio.clipped", lambda b: minimum(1 + b("loss.clip_range_high"), b("ratio"))),
    "only the lower end of the clip": _changed("ratio.clipped", lambda b: maximum(1 - b("clip_range"), b("ratio"))),
    "the dual clip for positive advantages, too": _changed("surrogate", lambda b: maximum(
        b("surrogate.pessimistic"), b("loss.dual_clip") * b("advantages_used"))),
    "min for max under the dual clip: the smaller of both": _changed("surrogate", lambda b: where(
        less(b("advantages_used"), 0), minimum(b("surrogate.pessimistic"), b("surrogate.floor")), b("surrogate.pessimistic"))),
    "raw advantages, not whitened": _changed("advantages_used", lambda b: b("response") * b("advantages")),
}  # fmt: skip
OF_VALUE: Mapping[str, Mapping[str, Change]] = {
    "min for max: the smaller square, not the larger":
        _changed("value.larger", lambda b: minimum(b("value.square"), b("value.square_clipped"))),
    "the square without the clip": _changed("value.larger", lambda b: b("value.square")),
    "the clipped square alone": _changed("value.larger", lambda b: b("value.square_clipped")),
    # implementation-matters/code-for-paper #1
    "the square of the larger error, not the larger square": _changed("value.larger", lambda b: (
        maximum(b("value.error"), b("value.error_clipped")) * maximum(b("value.error"), b("value.error_clipped")))),
    "the policy's clip range for the upper end of the values'": {"value.clipped": _value_held(
        lambda b: b("values.kept") - b("value_clip_range"), lambda b: b("values.kept") + b("loss.clip_range_high"))},
    "the policy's clip range for the lower end of the values'": {"value.clipped": _value_held(
        lambda b: b("values.kept") - b("clip_range"), lambda b: b("values.kept") + b("value_clip_range"))},
    "the absolute error, not the square": _changed("value.larger", lambda b: abs(b("value.error"))),
    # ray-project/ray #19291 asks what the clip of values is about
    "the clip of values around the returns": {"value.clipped": _value_held(
        lambda b: b("returns") - b("value_clip_range"), lambda b: b("returns") + b("value_clip_range"))},
    "the clipped change of the value, without the old value": _changed("value.clipped", lambda b: maximum(
        -b("value_clip_range"), minimum(b("value_clip_range"), b("critic.values") - b("values.kept")))),
    "the old values' error, not the new ones'":
        _changed("value.error", lambda b: b("value.counted") * (b("values.kept") - b("returns"))),
    "the old values for the returns in the free square alone":
        _changed("value.error", lambda b: b("value.counted") * (b("critic.values") - b("values.kept"))),
    "the old values for the returns in the clipped square alone":
        _changed("value.error_clipped", lambda b: b("value.counted") * (b("value.clipped") - b("values.kept"))),
}  # fmt: skip


def _again(own: Own) -> Array:
    return np.asarray(own["response"] * (own["advantages_used"] - own["advantage.mean"]) / own["advantage.divisor"])


def _read(name: str, move: Callable[[Array], Array], own: Own) -> Array:
    return move(own.file(name))


def _product_clipped(own: Own) -> Array:
    low, high = 1 - own.number("clip_range"), 1 + own.number("loss.clip_range_high")
    return np.asarray(np.minimum(own["surrogate.unclipped"], np.clip(own["surrogate.unclipped"], low, high)))


def _apart(one: str, other: str) -> Made:
    """The log-probs of one policy less those of another."""
    return lambda own: own.file(one) - own.file(other)


INSTEAD: Mapping[str, Mapping[str, Mapping[str, Made]]] = {
    "policy_loss": {
        "the clip of the product ρ·Â, not of the ratio": {"surrogate": _product_clipped},
        "the returns for the advantages": {"advantages_used": lambda own: own["returns"]},
        "the rewards for the advantages": {"advantages_used": lambda own: own["rewards"]},
        "advantages whitened twice": {"advantages_used": _again},
    },
    "value_loss": {
        "the advantages for the returns": {"returns": lambda own: own["advantages_used"]},
        "the raw advantages for the returns": {"returns": lambda own: own["advantages"]},
        "the old values for the returns": {"returns": lambda own: own["values.kept"]},
        "the rewards for the returns": {"returns": lambda own: own["rewards"]},
        "whitened advantages plus V for the returns": {"returns": lambda own: own["advantages_used"] + own["values.kept"]},
    },
    "kl.statistic": {
        "the KL of the new policy, not the old one": {"kl.used": _apart("logprobs_new", "logprobs_ref")},
        "the KL between old and new policy, not to the reference":
            {"kl.used": _apart("logprobs_old", "logprobs_new")},
    },
    "kl_loss": {
        "the KL of the old policy, not the new one": {"kl_new.used": _apart("logprobs_old", "logprobs_ref")},
        "the KL between new and old policy, not to the reference":
            {"kl_new.used": _apart("logprobs_new", "logprobs_old")},
        "the squared log-ratio for the KL, without its 1/2": {"kl_new.used": lambda own: own["kl_new.k1"] ** 2},
    },
    "approx_kl.used": {
        "the KL to the reference, not to the old policy":
            {"policy_kl.used": _apart("logprobs_new", "logprobs_ref")},
        # Rolv-Arild/rocket-learn #12
        "k3 with the ratio where its log belongs: e^ρ − 1 − ρ":
            {"policy_kl.used": lambda own: np.expm1(own["ratio"]) - own["ratio"]},
        "the squared log-ratio, without its 1/2": {"policy_kl.used": lambda own: own["policy_kl.log_ratio"] ** 2},
    },
    "clip_fraction.used": {
        "the share of ratios above the range alone":
            {"clip_fraction.flag": lambda own: own["ratio"] > 1 + own.number("loss.clip_range_high")},
        "the share of ratios below the range alone":
            {"clip_fraction.flag": lambda own: own["ratio"] < 1 - own.number("clip_range")},
        "the share of tokens that are not clipped": {"clip_fraction.flag": lambda own: 1 - own["clip_fraction.flag"]},
        "the share of tokens for which the clip gives the larger surrogate":
            {"clip_fraction.flag": lambda own: own["surrogate.clipped"] > own["surrogate.unclipped"]},
    },
    "clip_fraction.value": {
        "the share of values outside the range":
            {"value.held_counts": lambda own: own["value.counted"] * (own["value.clipped"] != own["critic.values"])},
    },
    "entropy": {
        "minus the log-prob of the tokens written, not the entropy": {"policy.entropy": lambda own: -own["policy.logprobs"]},
        "minus the old log-prob of the tokens written, not the entropy": {"policy.entropy": lambda own: -own["old.logprobs"]},
    },
}  # fmt: skip
"""By number the rows that stand for others."""


def _adds(part: str, more: Callable[[Own], float]) -> Made:
    return lambda own: own["total_loss"] + more(own) * (own[part] if part == "policy_loss" else own[f"adds.{part}"])


def _coefficient(part: str, own: Own) -> float:
    return abs(float(own[f"adds.{part}"]) / float(own[part])) if float(own[part]) else 0.0


PARTS = {"value_loss": "the value loss", "entropy": "the entropy", "kl_loss": "the KL"}
OF_TOTAL: Mapping[str, Made] = {
    **{said.format(called): _adds(part, partial(lambda times, own: times, times)) for part, called in PARTS.items()
       for said, times in (("{} with the wrong sign in the total", -2.0), ("{} left out of the total", -1.0),
                           ("{} twice in the total", 1.0), ("half of {} in the total", -0.5))},
    **{f"{called} without its coefficient": _adds(part, partial(
        lambda part, own: 1 / _coefficient(part, own) - 1 if _coefficient(part, own) else -1.0, part))
       for part, called in PARTS.items()},
    **{f"{called} with its coefficient twice": _adds(part, partial(lambda part, own: _coefficient(part, own) - 1, part))
       for part, called in PARTS.items()},
    "the policy loss with the wrong sign in the total": _adds("policy_loss", lambda own: -2.0),
    "the policy loss left out of the total": _adds("policy_loss", lambda own: -1.0),
}  # fmt: skip
WEIGHED = {
    "policy_loss": ("policy.weight.row", "loss.counted"), "kl_loss": ("policy.weight.row", "loss.counted"),
    "value_loss": ("value.weight.row", "value.counted"), "entropy": ("entropy.weight.row", "loss.counted"),
    "entropy.watched": ("watch.slots.weight", "watch.over"), "approx_kl.used": ("watch.slots.weight", "watch.over"),
    "ratio.mean": ("watch.slots.weight", "watch.over"), "clip_fraction.used": ("watch.words.weight", "response"),
    "clip_fraction.dual": ("watch.words.weight", "response"), "clip_fraction.value": ("watch.values.weight", "value.counted"),
}  # fmt: skip
"""By number the weights of tokens, and where these count."""
LOSSES = ("policy_loss", "value_loss", "entropy", "kl_loss")
AVERAGED: Mapping[str, Callable[[Array], Array]] = {
    "the sum over the tokens, divided by nothing": lambda counted: counted,
    "the sum over the tokens divided by the number of responses": lambda counted: counted / max(1, (summed(counted) > 0).sum()),
    "the mean over the responses of their means":
        lambda counted: counted / np.maximum(summed(counted), 1) / max(1, (summed(counted) > 0).sum()),
    "the mean over all tokens": lambda counted: counted / max(1.0, counted.sum()),
    "the sum over the tokens divided by all B·T positions": lambda counted: counted / counted.size,
}  # fmt: skip


def _averaged(by: Callable[[Array], Array], counted: str, own: Own) -> Array:
    return by(own[counted])


def _advantages_counted(own: Own) -> Array:
    A = own["advantages_used"]
    return np.asarray(A / (A.sum() + own.number("loss.agg_eps")))


def _laid(row: str, move: Callable[[Array], Array], own: Own) -> Array:
    return move(own[row])


def of_rows(settings: Settings, name: str) -> Iterator[Try]:
    """Yields rows that are others, and equations that are, by the quantity in which they show first."""
    tables: Mapping[str, tuple[tuple[str, Mapping[str, Made]], ...]] = {
        "rewards": (("rewards.raw", OF_REWARDS),),
        "advantages": (("td_errors", OF_DELTAS), ("advantages", OF_ADVANTAGES), ("advantages_used", OF_WHITENED)),
        "returns": (("returns", OF_RETURNS), ("td_errors", OF_DELTAS), ("advantages", OF_ADVANTAGES)),
        "total_loss": (("total_loss", OF_TOTAL),),
    }
    for row, table in tables.get(name, ()):
        yield from (Try(said, settings, {"stands": {row: made}}) for said, made in table.items())
    for row in {"rewards": ("rewards",), "advantages": ("advantages_used",), "returns": ("returns",)}.get(name, ()):
        for place, moves in BESIDE.items():
            yield Try(f"{name} {place}", settings, {"stands": {row: partial(_laid, row, moves[-1])}})
    if name in ("advantages", "returns"):
        yield from (Try(said, settings, {"equations": {"advantages": change}}) for said, change in OF_DECAY.items())
    ratio = {"policy_loss", "ratio.mean", "loss.mean_ratio", "approx_kl.used", "clip_fraction.used"}
    changes = OF_VALUE if name == "value_loss" else OF_SURROGATE if name in ratio else {}
    yield from (Try(said, settings, {"equations": made}) for said, made in changes.items())
    yield from of_ratio(settings) if name in ratio else ()
    yield from (Try(said, settings, {"stands": rows}) for said, rows in INSTEAD.get(name, {}).items())
    for result, row in (
        (("advantages", "advantages_used"), ("returns", "returns")) if name in ("policy_loss", "value_loss") else ()
    ):
        if (result == "advantages") == (name == "policy_loss"):
            for place, moves in BESIDE.items():
                yield from (
                    Try(f"{result} {place}", settings, {"stands": {row: partial(_read, result, move)}})
                    for move in moves
                )
    if name in WEIGHED:
        everywhere = {**settings, "batch.response_mask": "all", "metrics.over": "all"}
        for numbers in ((name,), *((LOSSES[:2], LOSSES) if name in LOSSES else ()), (*WEIGHED,)):
            yield Try("no mask: the mean over all B·T positions", everywhere, {"only": numbers})
            for said, by in AVERAGED.items():
                weights = {row: partial(_averaged, by, there) for row, there in (WEIGHED[each] for each in numbers)}
                yield Try(said, settings, {"stands": weights})
    if name == "policy_loss":  # verl-project/verl #2506: response_mask=advantages
        for use in (settings, {**settings, "batch.response_mask": "all"}):
            yield Try("the advantages passed for the mask", use, {"stands": {"policy.weight.row": _advantages_counted}})
