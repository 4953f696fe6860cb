"""Mistakes by name, each one line: an equation of the definitions that is another one, a row that is another, or a tensor of the
file that was read from elsewhere. Where people made one and told of it, that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from blueprint.dumps import Array, Minibatch, require
from blueprint.inputs.catalogue import OFF
from blueprint.language import exp, less, maximum, minimum, where
from blueprint.misconceptions import Change, Names, equation, times, without
from blueprint.verifying import Settings, Try
from blueprint.verifying.settings import number_of
from blueprint.workbooks.rlhf_ppo.verifying.feeding import Fed


@dataclass(frozen=True)
class Own:
    """A file's own rows before a quantity, and what the definitions make of them, by name, [B, T]; and its tensors, pads and all."""

    fed: Fed
    batch: Minibatch

    def __getitem__(self, name: str) -> Array:
        """Returns a row or a number; where the file has its own, that."""
        return self.fed.values((name,))[name]

    @property
    def slots(self) -> Array:
        """1 in each slot that a response may fill, [B, T]."""
        return np.asarray(self.fed.known["slots"])[:, :-1]

    def number(self, key: str) -> float:
        """Returns a setting as a number; a limit that is off is infinite."""
        return number_of(key, self.fed.settings[key])

    def file(self, name: str) -> Array:
        """Returns a tensor as it is; 0 where it is not finite. Raises MinibatchError where the file does not have it."""
        require(name in self.batch.tensors, f"{self.batch.path} has no {name}")
        return np.nan_to_num(np.asarray(self.batch.tensors[name], np.float64), posinf=0.0, neginf=0.0)


Made = Callable[[Own], Array]


def across(row: Array, by: int, around: bool = False) -> Array:
    """Returns a row [B, T] so many columns to the right; what comes in at the edge is 0, or, around, what went out at the other."""
    found = np.roll(row, by, axis=1)
    if by and not around:
        found[:, slice(0, by) if by > 0 else slice(by, None)] = 0
    return found


BEFORE = "of the position before (shifted by one column to the right)"
BEHIND = "of the position behind (shifted by one column to the left)"
BESIDE: Mapping[str, tuple[Callable[[Array], Array], ...]] = {
    BEFORE: (lambda row: across(row, 1), lambda row: across(row, 1, around=True)),
    BEHIND: (lambda row: across(row, -1), lambda row: across(row, -1, around=True)),
    "of the row before": (lambda row: np.roll(row, 1, axis=0),), "of the row behind": (lambda row: np.roll(row, -1, axis=0),),
}  # fmt: skip
"""Where else a tensor may have been read; with roll, what goes out at one edge comes in at the other."""


def _sum(row: Array) -> Array:
    return row.sum(axis=1, keepdims=True)


def _words(own: Own) -> Array:
    return np.maximum(_sum(own["response"]), 1)


def _paying(kl: Made, over: str = "kl.support") -> Made:
    """The reward with another KL, or over other words."""
    return lambda own: own["score.placed"] - own["kl_coef.reward"] * own[over] * kl(own)


def _between(one: str, other: str) -> Made:
    """The reward with the KL between two policies, log π of one minus log π of the other."""
    return _paying(lambda own: own.file(one) - own.file(other))


def _scored(score: Made) -> Made:
    """The reward with another score."""
    return lambda own: own["reward.penalty"] + score(own)


def _placed(by: int, own: Own) -> Array:
    """The score so many columns away from its place, at the edge in the last column there is."""
    place = own["score.place"]
    slots = own["response.slots"][:, None]
    column = np.arange(place.shape[1])
    at = np.minimum(np.maximum(_sum(place * column) + by, 0), slots - 1)
    return np.asarray((column == at) * _sum(own["score.placed"]) * (_sum(place) > 0))


def _first(own: Own) -> Array:
    return own["response"] * (np.cumsum(own["response"], axis=1) == 1)


OF_REWARDS: Mapping[str, Made] = {
    # huggingface/trl #3750 and #5338, microsoft/DeepSpeedExamples #672: on which word the score belongs is argued about
    "the score one column early": _scored(partial(_placed, -1)),
    "the score one column late": _scored(partial(_placed, 1)),
    "the KL with the wrong sign": lambda own: own["score.placed"] - own["reward.penalty"],
    "the KL paid twice": lambda own: own["score.placed"] + 2 * own["reward.penalty"],
    # natolambert/rlhf-book #216: the KL of pads leaks into what comes before
    "the KL of the pads paid, too": lambda own: own["score.placed"] - own["kl_coef.reward"] * own.slots * (
        own.file("logprobs_old") - own.file("logprobs_ref")),
    # wyf3/llm_related #37: the score lands one past the mask, and is masked out
    "the score left out": lambda own: own["reward.penalty"],
    # microsoft/DeepSpeedExamples #751 takes it to be paid on every word
    "the score paid on every token": _scored(lambda own: own["response"] * _sum(own["score.placed"])),
    "the score in place of the KL of its position": lambda own: np.where(
        own["score.place"] > 0, own["score.placed"], own["reward.penalty"]),
    "the score on the first token": _scored(lambda own: _first(own) * _sum(own["score.placed"])),
    **{f"rewards clipped to ±{limit:g}, not the score alone": partial(
        lambda limit, own: np.clip(own["reward.penalty"] + own["score.placed"], -limit, limit), limit)
       for limit in (0.2, 0.5, 1, 2, 3, 5, 10)},
    "negative scores cut to 0": _scored(lambda own: np.maximum(own["score.placed"], 0)),
    "positive scores cut to 0": _scored(lambda own: np.minimum(own["score.placed"], 0)),
    "the score paid twice": _scored(lambda own: 2 * own["score.placed"]),
    "the score with the wrong sign": _scored(lambda own: -own["score.placed"]),
    "the KL of the whole response paid in the position of the score":
        _paying(lambda own: _sum(own["kl.support"] * own["kl.used"]), "score.place"),
    "the KL divided by the number of tokens": lambda own: own["score.placed"] + own["reward.penalty"] / _words(own),
    "the squared log-ratio for the KL, without its 1/2": _paying(lambda own: own["kl.k1"] ** 2),
    "the KL of the new policy, not the old one": _between("logprobs_new", "logprobs_ref"),
    "negative KL cut to 0": _paying(lambda own: np.maximum(own["kl.used"], 0)),
    "positive KL cut to 0": _paying(lambda own: np.minimum(own["kl.used"], 0)),
    "the KL between old and new policy, not to the reference": _between("logprobs_old", "logprobs_new"),
}  # fmt: skip
"""Of the reward before it is whitened."""


def _ahead(own: Own) -> Array:
    """V_{t+1}, with what stands behind the last position."""
    return np.asarray(own.fed.with_edges(("gae.ahead",))["gae.ahead"][:, 1:])


def _delta(own: Own, ahead: Array | None = None, values: Array | None = None, rewards: Array | None = None) -> Array:
    """δ_t = r_t + γ·V_{t+1} − V_t, where there is one."""
    rewards = own["rewards"] if rewards is None else rewards
    ahead = _ahead(own) if ahead is None else ahead
    values = own["values.kept"] if values is None else values
    inside = own.slots - own["gae.over"]
    return np.asarray(inside * (rewards + own.number("gamma") * ahead - values))


def _fading(own: Own) -> float:
    return own.number("gamma") * own.number("gae_lambda")


def _ahead_at_end(columns: int, there: Callable[[Own], Array | float], own: Own) -> Array:
    """δ with something else for V_{t+1} in the last columns."""
    ahead = _ahead(own).copy()
    ahead[:, -columns:] = there(own)
    return _delta(own, ahead)


def _with_last(own: Own) -> Array:
    deltas = _delta(own)
    deltas[:, -1] += _fading(own) * own.file("values_old")[:, -1]
    return deltas


def _summed(own: Own, deltas: Array) -> Array:
    """A_t = δ_t + γλ·A_{t+1} over all slots, whatever the mask is."""
    found, later = np.zeros_like(deltas), np.zeros(len(deltas))
    for column in reversed(range(deltas.shape[1])):
        later = deltas[:, column] + own.slots[:, column] * _fading(own) * later
        found[:, column] = later
    return found


def _of_pads(own: Own) -> Array:
    """A that runs through the pads, whose δ have V subtracted that follows no word."""
    deltas = own["rewards"] + own.number("gamma") * _ahead(own) - own.file("values_old")
    return _summed(own, own.slots * deltas)


def _forward(own: Own) -> Array:
    return _summed(own, _delta(own)[:, ::-1])[:, ::-1]


OF_DELTAS: Mapping[str, Made] = {
    "V_t for V_{t+1} in δ": lambda own: _delta(own, own["values.kept"]),
    "γ missing in δ": lambda own: _delta(own, _ahead(own) / own.number("gamma") if own.number("gamma") else None),
    "λ for γ in δ: the two exchanged": lambda own: _delta(
        own, _ahead(own) * own.number("gae_lambda") / own.number("gamma") if own.number("gamma") else None),
    "γ times V_t, too, in δ": lambda own: _delta(own, values=own.number("gamma") * own["values.kept"]),
    "V_{t+1} missing in δ": lambda own: _delta(own, 0 * _ahead(own)),
    "V_t missing in δ": lambda own: _delta(own, values=0 * _ahead(own)),
    # verl-project/verl #50 and alibaba/ROLL #447: values that are not masked before the loop
    "V of the pads not set to 0": lambda own: _delta(own, across(own.file("values_old"), -1), own.file("values_old")),
    "V of the position behind the last token follows it":
        lambda own: own["response"] * _delta(own, across(own.file("values_old"), -1)),
    # tensorflow/agents #953: the last V is passed for the one behind it
    "the last V for the one behind it": partial(_ahead_at_end, 1, lambda own: own["values.kept"][:, -1:]),
    "the last V left out: the loop ends one step early": partial(_ahead_at_end, 2, lambda own: 0.0),
    "the sum begins with the last V, not 0": _with_last,
    # openai/spinningup #50: each slot holds the reward of the one before
    "the rewards of the position before": lambda own: _delta(own, rewards=across(own["rewards"], 1)),
    "the rewards of the position before, the last first":
        lambda own: _delta(own, rewards=own["response"] * across(own["rewards"], 1, around=True)),
    "the rewards of the position before, the last first, on pads, too":
        lambda own: _delta(own, rewards=across(own["rewards"], 1, around=True)),
    "the rewards of the position behind": lambda own: _delta(own, rewards=across(own["rewards"], -1)),
}  # fmt: skip
OF_ADVANTAGES: Mapping[str, Made] = {
    # natolambert/rlhf-book #216: rewards taken for returns
    "A = r − V, nothing of what comes later": lambda own: own["rewards"] - own["values.kept"],
    "δ of the pads in the sum": _of_pads,
    "the loop over t in the wrong direction": _forward,
    "the columns in reverse: what the loop collected from the end was not turned round":
        lambda own: own["advantages"][:, ::-1],
}  # fmt: skip
"""Of A before it is whitened; the returns are that plus V."""
OF_DECAY: Mapping[str, Change] = {"γ missing in γλ": without("gamma"), "γ twice in γλ": times("gamma", "gamma")}
"""Of the equation A_t = δ_t + γλ·A_{t+1}."""


def _centred(own: Own) -> Array:
    return np.asarray(own["advantages"] - own["advantage.mean"])


def _white_by_response(ddof: int, own: Own) -> Array:
    """(A − μ)/σ with the moments of each response, σ² = Σ(A − μ)²/(n − ddof)."""
    counted, words = own["response"], _words(own)
    centred = counted * (own["advantages"] - _sum(counted * own["advantages"]) / words)
    variance = _sum(centred**2) / np.maximum(words - ddof, 1)
    return np.asarray(centred / np.sqrt(variance + own.number("whiten_eps")))


def _about_mean_of_slots(about_it: bool, own: Own) -> Array:
    """(A − μ)/σ, μ the sum over the words divided by all B·T slots; about_it: σ² is Σ(A − μ)²/N over the words with that μ."""
    apart = own["advantage.mean"] * (1 - own["advantage.count"] / own["advantages"].size)
    more = own["advantage.bessel"] * apart**2 if about_it else 0.0
    return np.asarray((_centred(own) + apart) / np.sqrt(own["advantage.divisor"] ** 2 + more))


MASKS: Mapping[str, Callable[[Array], Array]] = {
    # mll-lab-nu/VAGEN #8: the mask of the critic shifted against that of the actor
    "a mask that covers one position more behind each token": lambda mask: mask | across(mask, 1),
    "a mask that ends one token earlier": lambda mask: mask & (np.cumsum(mask[:, ::-1], axis=1)[:, ::-1] > 1),
    "a mask that begins one token later": lambda mask: mask & (np.cumsum(mask, axis=1) > 1),
    "a mask shifted by one column to the right": lambda mask: across(mask, 1),
    "a mask shifted by one column to the left": lambda mask: across(mask, -1),
}  # fmt: skip


def _white_over(mask: Callable[[Array], Array], own: Own) -> Array:
    """(A − μ)/σ with the moments over other words."""
    slots = own.slots
    counted = mask(own["response"] > 0) * slots
    some = own.fed.with_rows({"advantage.counted": counted}).values(("advantage.mean", "advantage.divisor"))
    return np.asarray((own["advantages"] - some["advantage.mean"]) / some["advantage.divisor"])


OF_WHITENED: Mapping[str, Made] = {
    "the returns in place of advantages": lambda own: own["returns"],
    "the opposite sign": lambda own: -own["advantages"],
    "whitening without subtracting the mean": lambda own: own["advantages"] / own["advantage.divisor"],
    "whitening without dividing by the deviation": _centred,
    "whitening by the variance, not its root": lambda own: _centred(own) / own["advantage.variance"],
    "whitening each response by itself": partial(_white_by_response, 0),
    "whitening each response by itself, with n − 1": partial(_white_by_response, 1),
    "whitening with the mean over all B·T positions, the deviation over the tokens": partial(_about_mean_of_slots, False),
    "whitening with the mean over all B·T positions, the deviation of the tokens from it": partial(_about_mean_of_slots, True),
    **{f"whitening over {said}": partial(_white_over, mask) for said, mask in MASKS.items()},
}  # fmt: skip
OF_RETURNS: Mapping[str, Made] = {
    "returns made after whitening: the whitened advantages plus V": lambda own: own["advantage.whitened"] + own["values.kept"],
    "the new values added, not the old ones": lambda own: own["advantages"] + own["kept"] * own.file("values_new"),
    # vwxyzjn/cleanrl #337: advantages that were still zero
    "V alone, the advantages still 0": lambda own: own["values.kept"],
    "the advantages alone, V not added": lambda own: own["advantages"],
    "the whitened advantages alone, V not added": lambda own: own["advantage.whitened"],
    "the rewards added, not V": lambda own: own["advantages"] + own["rewards"],
    "the sum of rewards, without γ, λ and V": lambda own: np.cumsum(own["rewards"][:, ::-1], axis=1)[:, ::-1],
}  # fmt: skip
NEW_VALUES = "the new values, not the old ones"


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
            _sum(own["log_ratio"]) / _words(own)
        ),
        "one ratio for each response, of the sum of its log-ratios": lambda own: _sum(own["log_ratio"]),
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
    return np.minimum(own["surrogate.unclipped"], np.clip(own["surrogate.unclipped"], low, high))


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
        "the KL of the new policy, not the old one": {"kl.used": lambda own: own.file("logprobs_new") - own.file("logprobs_ref")},
        "the KL between old and new policy, not to the reference":
            {"kl.used": lambda own: own.file("logprobs_old") - own.file("logprobs_new")},
    },
    "kl_loss": {
        "the KL of the old policy, not the new one": {"kl_new.used": lambda own: own.file("logprobs_old") - own.file("logprobs_ref")},
        "the KL between new and old policy, not to the reference":
            {"kl_new.used": lambda own: own.file("logprobs_new") - own.file("logprobs_old")},
        "the squared log-ratio for the KL, without its 1/2": {"kl_new.used": lambda own: own["kl_new.k1"] ** 2},
    },
    "approx_kl.used": {
        "the KL to the reference, not to the old policy":
            {"policy_kl.used": lambda own: own.file("logprobs_new") - own.file("logprobs_ref")},
        # Rolv-Arild/rocket-learn #12
        "k3 with the ratio where its log belongs: e^ρ − 1 − ρ": {"policy_kl.used": lambda own: np.expm1(own["ratio"]) - own["ratio"]},
        "the squared log-ratio, without its 1/2": {"policy_kl.used": lambda own: own["policy_kl.log_ratio"] ** 2},
    },
    "clip_fraction.used": {
        "the share of ratios above the range alone":
            {"clip_fraction.flag": lambda own: own["ratio"] > 1 + own.number("loss.clip_range_high")},
        "the share of ratios below the range alone": {"clip_fraction.flag": lambda own: own["ratio"] < 1 - own.number("clip_range")},
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
    "the sum over the tokens divided by the number of responses": lambda counted: counted / max(1, (_sum(counted) > 0).sum()),
    "the mean over the responses of their means":
        lambda counted: counted / np.maximum(_sum(counted), 1) / max(1, (_sum(counted) > 0).sum()),
    "the mean over all tokens": lambda counted: counted / max(1.0, counted.sum()),
    "the sum over the tokens divided by all B·T positions": lambda counted: counted / counted.size,
}  # fmt: skip


def _averaged(by: Callable[[Array], Array], counted: str, own: Own) -> Array:
    return by(own[counted])


def _advantages_counted(own: Own) -> Array:
    A = own["advantages_used"]
    return np.asarray(A / (A.sum() + own.number("loss.agg_eps")))


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
            for where, moves in BESIDE.items():
                yield from (
                    Try(f"{result} {where}", settings, {"stands": {row: partial(_read, result, move)}})
                    for move in moves
                )
    if name in WEIGHED:
        everywhere = {**settings, "batch.response_mask": "all", "metrics.over": "all"}
        for numbers in (LOSSES[:2], LOSSES, (*WEIGHED,)) if name in LOSSES else ((*WEIGHED,),):
            yield Try("no mask: the mean over all B·T positions", everywhere, {"only": numbers})
            for said, by in AVERAGED.items():
                weights = {row: partial(_averaged, by, there) for row, there in (WEIGHED[each] for each in numbers)}
                yield Try(said, settings, {"stands": weights})
    if name == "policy_loss":  # verl-project/verl #2506: response_mask=advantages
        for use in (settings, {**settings, "batch.response_mask": "all"}):
            yield Try("the advantages passed for the mask", use, {"stands": {"policy.weight.row": _advantages_counted}})


Altered = Callable[[Minibatch], Minibatch]


def _with(batch: Minibatch, **tensors: Array) -> Minibatch:
    return replace(batch, tensors={**batch.tensors, **tensors})


def _moved(name: str, move: Callable[[Array], Array], batch: Minibatch) -> Minibatch:
    """Returns a batch with a tensor that was read from elsewhere; what comes in is finite."""
    row = np.asarray(batch.tensors[name])
    return _with(batch, **{name: move(np.nan_to_num(row, posinf=0, neginf=0) if row.dtype.kind == "f" else row)})


def _taken(name: str, other: str, batch: Minibatch) -> Minibatch:
    return _with(batch, **{name: batch.tensors[other]})


def _swapped(one: str, other: str, batch: Minibatch) -> Minibatch:
    return _with(batch, **{one: batch.tensors[other], other: batch.tensors[one]})


def _masked(mask: Callable[[Array], Array], batch: Minibatch) -> Minibatch:
    there = np.arange(batch.mask.shape[1]) < np.asarray(batch.slots)[:, None]
    return _with(batch, response_mask=mask(np.asarray(batch.mask, bool)) & there)


TEMPERATURES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.2, 1.5, 2.0)
TAKEN = (
    ("the ratio against the reference, not the old policy", "logprobs_old", "logprobs_ref"),
    ("the ratio of the old policy to the reference", "logprobs_new", "logprobs_ref"),
    # thu-ml/tianshou #745 and higgsfield-ai/higgsfield #20: old log-probs of the policy as it is now
    ("the new log-probs for the old ones: a ratio of 1", "logprobs_old", "logprobs_new"),
    ("the log-probs of the generating engine for the old ones", "logprobs_old", "logprobs_rollout"),
    (NEW_VALUES, "values_old", "values_new"),
)  # fmt: skip
SWAPPED = {
    # openai/baselines #1218 and hill-a/stable-baselines #447 ask which is divided by which
    ("logprobs_old", "logprobs_new"): ": the ratio is inverted",
    ("logprobs_old", "logprobs_ref"): "",
    ("values_old", "values_new"): "",
}
"""Pairs of tensors that may have been swapped, and what that means."""
SCOPES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(("policy_loss", "ratio.mean", "loss.mean_ratio", "approx_kl.used", "clip_fraction.used"), (("log_ratio.free", "log_ratio"),)),
    "rewards": (("rewards.raw",),), "value_loss": (("value.clipped",), ("value.word_loss",)),
    "advantages": (("advantages",), ("advantages", "returns")), "returns": (("returns",), ("advantages", "returns")),
}  # fmt: skip
"""By quantity the rows that alone may be made of a tensor as it was read; all else is of the tensor as it is."""


def of_tensors(batch: Minibatch, settings: Settings, name: str, read: Collection[str]) -> Iterator[Try]:
    """Yields tensors that were read from elsewhere: of another column or row, tempered, swapped, of another model, wherever they are
    read or for some rows alone; and masks that are longer or shorter. read: those that a quantity is made of."""
    uses = [settings]
    if settings["metrics.over"] == "all" and name in ("ratio.mean", "approx_kl.used"):  # then pads are read, too
        uses.append({**settings, "batch.response_mask": "all"})
    for said, altered in _altered(batch, read):
        for use in uses:
            for only in SCOPES.get(name, ()):
                yield Try(said, use, {"batch": altered, "only": only})
        yield Try(said, settings, {"batch": altered})
    numbers = name in WEIGHED
    for said, mask in MASKS.items():
        yield from [Try(said, settings, {"batch": partial(_masked, mask), "only": (name,)})] if numbers else ()
        yield Try(said, settings, {"batch": partial(_masked, mask)})


def _altered(batch: Minibatch, read: Collection[str]) -> Iterator[tuple[str, Altered]]:
    """Yields how a report puts it, and the batch with a tensor that was read from elsewhere."""
    there = [name for name in read if name in batch.tensors and np.ndim(batch.tensors[name]) == 2 and name != "scores"]
    for name in there:
        for where, moves in BESIDE.items():
            yield from ((f"{name} {where}", partial(_moved, name, move)) for move in moves)
        for each in TEMPERATURES if name in ("logprobs_old", "logprobs_new") else ():
            said = f"{name} divided by a temperature of {each:g}"
            yield said, partial(_moved, name, partial(lambda by, row: row / by, each))
    for said, name, other in TAKEN:
        if name in there and other in batch.tensors:
            yield said, partial(_taken, name, other)
    for (one, other), means in SWAPPED.items():
        if {one, other} & {*there} and {one, other} <= batch.tensors.keys():
            yield f"{one} and {other} swapped{means}", partial(_swapped, one, other)
