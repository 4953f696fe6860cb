"""Mistakes by name in the rewards, r = −β·kl + score, in the advantages, in how they are whitened, and in the returns, each one
line: a row that is another one. Where people made one and told of it, that is named.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from blueprint.dumps import Array
from blueprint.misconceptions import Change, times, without
from blueprint.workbooks.rlhf_ppo.verifying.own_rows import BESIDE, MASKS, Made, Own, across, summed, words_of


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
    at = np.minimum(np.maximum(summed(place * column) + by, 0), slots - 1)
    return np.asarray((column == at) * summed(own["score.placed"]) * (summed(place) > 0))


def _first(own: Own) -> Array:
    return np.asarray(own["response"] * (np.cumsum(own["response"], axis=1) == 1))


def _moved(row: str, move: Callable[[Array], Array], own: Own) -> Array:
    return move(own[row])


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
    "the score paid on every token": _scored(lambda own: own["response"] * summed(own["score.placed"])),
    "the score in place of the KL of its position": lambda own: np.where(
        own["score.place"] > 0, own["score.placed"], own["reward.penalty"]),
    "the score on the first token": _scored(lambda own: _first(own) * summed(own["score.placed"])),
    **{f"rewards clipped to ±{limit:g}, not the score alone": partial(
        lambda limit, own: np.clip(own["reward.penalty"] + own["score.placed"], -limit, limit), limit)
       for limit in (0.2, 0.5, 1, 2, 3, 5, 10)},
    "negative scores cut to 0": _scored(lambda own: np.maximum(own["score.placed"], 0)),
    "positive scores cut to 0": _scored(lambda own: np.minimum(own["score.placed"], 0)),
    "the score paid twice": _scored(lambda own: 2 * own["score.placed"]),
    "the score with the wrong sign": _scored(lambda own: -own["score.placed"]),
    "the KL of the whole response paid in the position of the score":
        _paying(lambda own: summed(own["kl.support"] * own["kl.used"]), "score.place"),
    "the KL divided by the number of tokens": lambda own: own["score.placed"] + own["reward.penalty"] / words_of(own),
    "the squared log-ratio for the KL, without its 1/2": _paying(lambda own: own["kl.k1"] ** 2),
    "the KL of the new policy, not the old one": _between("logprobs_new", "logprobs_ref"),
    **{f"the KL {place}": _paying(partial(_moved, "kl.used", moves[-1])) for place, moves in BESIDE.items()},
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
    counted, words = own["response"], words_of(own)
    centred = counted * (own["advantages"] - summed(counted * own["advantages"]) / words)
    variance = summed(centred**2) / np.maximum(words - ddof, 1)
    return np.asarray(centred / np.sqrt(variance + own.number("whiten_eps")))


def _about_mean_of_slots(about_it: bool, own: Own) -> Array:
    """(A − μ)/σ, μ the sum over the words divided by all B·T slots; about_it: σ² is Σ(A − μ)²/N over the words with that μ."""
    apart = own["advantage.mean"] * (1 - own["advantage.count"] / own["advantages"].size)
    more = own["advantage.bessel"] * apart**2 if about_it else 0.0
    return np.asarray((_centred(own) + apart) / np.sqrt(own["advantage.divisor"] ** 2 + more))


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
