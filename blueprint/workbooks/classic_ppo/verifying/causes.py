"""Causes: what is known to go wrong in a loop of classic PPO, tried one after the other on what deviates first."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array
from blueprint.inputs.setting import OFF
from blueprint.verifying import Settings, shown
from blueprint.workbooks.classic_ppo.dumps.rollout import ENVIRONMENT, TIME, Rollout, transposed
from blueprint.workbooks.classic_ppo.schema import CLASSIC
from blueprint.workbooks.classic_ppo.verifying.replayed import PLAIN, Ways


class Try(NamedTuple):
    """Something that may have been done otherwise: how a report puts it, and what is computed then."""

    label: str
    rollout: Rollout
    settings: Settings
    ways: Ways = PLAIN


COMMON: dict[str, tuple[float, ...]] = {
    "gamma": (0.9, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995, 0.997, 0.999, 1.0, 0.0),
    "gae_lambda": (0.8, 0.9, 0.92, 0.95, 0.97, 0.98, 0.99, 1.0, 0.0),
    "clip_range": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4),
    "value_clip_range": (OFF, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 1.0, 10.0),
    "value_factor": (0.25, 0.5, 1.0, 2.0),
    "vf_coef": (0.0, 0.25, 0.5, 0.75, 1.0, 2.0),
    "ent_coef": (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 1.0),
    "whiten_eps": (1e-8, 1e-6, 1e-5, 1e-4, 1e-3),
}
"""Numbers that people use, by setting."""

WAYS: dict[str, Ways] = {
    "γ missing in the TD error: V(next) undiscounted": {"gamma_of_next": False},
    "γ missing in the sum of the TD errors: they fade by λ alone": {"gamma_of_sum": False},
    "1 − done missing at V(next) in the TD error": {"done_of_next": False},
    "1 − done missing in the sum of the TD errors": {"done_of_sum": False},
    "V(t) in the place of V(t + 1) in the TD error": {"own_value_next": True},
    "the variance of the advantages divided by N and not by N − 1 (numpy's std)": {"ddof": 0},
    "the advantages divided by σ without their mean taken off": {"centred": False},
    "the advantages normalised over the whole rollout and not over the minibatch": {"over": "rollout"},
    "the advantages normalised over the whole rollout, by N": {"over": "rollout", "ddof": 0},
    "the larger of the two surrogates in the place of the smaller (max for min)": {"surrogate": "larger"},
    "the surrogate not clipped": {"surrogate": "unclipped"},
    "the clipped surrogate alone": {"surrogate": "clipped"},
    "the smaller of the two value losses in the place of the larger (min for max)": {"value_combine": "smaller"},
    "the value trained towards the advantages in the place of the returns": {"value_target": "advantages"},
    "returns made of the normalised advantages": {"returns_of": "advantages_used"},
    "the entropy added to the loss, where it is taken off (sign)": {"bonus": -1.0},
    "sums over the minibatch in the place of means": {"summed": True},
    "the ratio upside down, old over new": {"ratio": "inverted"},
    "k1, the mean of log π_old − log π_new": {"kl": "k1"},
    "k2, half the mean square of the log-ratio": {"kl": "k2"},
    "k3, the mean of ρ − 1 − log ρ": {"kl": "k3"},
}


OF_SIGNAL = {"gamma", "gae_lambda", "bootstrap"}, {"gamma_of_next", "gamma_of_sum", "done_of_next", "done_of_sum",
             "own_value_next", "returns_of"}  # fmt: skip
"""Settings, and ways, on which rewards, advantages and returns depend; on all others only a minibatch does."""


def tries(rollout: Rollout, settings: Settings, signal: bool) -> Iterator[Try]:
    """Yields everything that may have been done otherwise, what people get wrong most often first.

    signal: whether only rewards, advantages or returns are asked about.
    """
    yield from _rollouts(rollout, settings)
    ways = {label: way for label, way in WAYS.items() if not signal or way.keys() <= OF_SIGNAL[1]}
    yield from (Try(label, rollout, settings, way) for label, way in ways.items())
    if not signal:
        yield from _readings(rollout, settings)
    yield from _settings(rollout, settings, signal)


def _settings(rollout: Rollout, settings: Settings, signal: bool) -> Iterator[Try]:
    """Yields the other words of switches, and numbers that people use."""
    for key in (each for each in CLASSIC if not signal or each in OF_SIGNAL[0]):
        values: tuple[float | str, ...] = CLASSIC[key].words or COMMON.get(key, ())
        also = (settings["clip_range"],) if key == "value_clip_range" else ()
        for value in dict.fromkeys(each for each in (*values, *also) if each != settings[key]):
            missing = " (λ missing in the sum of the TD errors)" if (key, value) == ("gae_lambda", 1.0) else ""
            label = f"ppo.{key} = {shown(value)} instead of {shown(settings[key])}{missing}"
            yield Try(label, rollout, {**settings, key: value})


def _rollouts(rollout: Rollout, settings: Settings) -> Iterator[Try]:
    """Yields rollouts in which something stands elsewhere, or is not looked at."""
    for label, needs, change in MOVED:
        if all(each in rollout.tensors for each in needs.split()):
            yield Try(label, replace(rollout, tensors={**rollout.tensors, **change(rollout, settings)}), settings)
    for order, way in _orders(rollout):
        at = transposed(rollout.at, rollout.shape, order)
        yield Try(f"the rollout flattened the other way: rows count {way}", replace(rollout, at=at), settings)


def _orders(rollout: Rollout) -> list[tuple[str, str]]:
    """Lists the ways in which the rollout may have been flattened; none where they come to the same."""
    orders = [(TIME, "step by step over all environments"), (ENVIRONMENT, "environment by environment")]
    return orders if rollout.shape[0] > 1 and not rollout.whole else []


def _later(array: Array) -> Array:
    """Moves every number one step on, and puts 0 first."""
    return np.concatenate([np.zeros_like(array[:, :1]), array[:, :-1]], axis=1)


def _earlier(array: Array) -> Array:
    """Moves every number one step back, and puts 0 last."""
    return np.concatenate([array[:, 1:], np.zeros_like(array[:, :1])], axis=1)


def _without_last(array: Array) -> Array:
    return np.concatenate([array[:, :-1], np.zeros_like(array[:, :1])], axis=1)


Change = Callable[[Rollout, Settings], dict[str, Array]]


def _each(change: Callable[[Array], Array], *names: str) -> Change:
    return lambda rollout, _: {name: change(rollout.tensors[name]) for name in names if name in rollout.tensors}


def _undiscounted(rollout: Rollout, settings: Settings) -> dict[str, Array]:
    gamma = float(settings["gamma"])
    return {"terminal_values": rollout.tensors["terminal_values"] / gamma} if gamma else {}


ENDS = ("done", "terminated")
MOVED: tuple[tuple[str, str, Change], ...] = (
    ("done one step late: dones[t] where dones[t + 1] belongs (the start of an episode taken for its end)", "done",
     _each(_later, *ENDS)),
    ("done one step early", "done", _each(_earlier, *ENDS)),
    ("ends of episodes not looked at (no 1 − done)", "done", _each(np.zeros_like, *ENDS)),
    ("the end of the last step not looked at (next_done)", "done", _each(_without_last, *ENDS)),
    ("no value behind the last step (V(next) = 0)", "next_values", _each(np.zeros_like, "next_values")),
    ("the value of the last step itself for V(next)", "next_values values_old",
     lambda r, _: {"next_values": r.tensors["values_old"][:, -1]}),
    ("the rewards one step late", "rewards", _each(_later, "rewards")),
    ("the rewards one step early", "rewards", _each(_earlier, "rewards")),
    ("the old values one step late", "values_old", _each(_later, "values_old")),
    ("the old values one step early", "values_old", _each(_earlier, "values_old")),
    ("the old log-probs one step late", "logprobs_old", _each(lambda each: np.roll(each, 1, axis=1), "logprobs_old")),
    ("the old log-probs one step early", "logprobs_old", _each(lambda each: np.roll(each, -1, axis=1), "logprobs_old")),
    ("the rewards before γ·V(terminal) was added at time limits", "rewards_env",
     lambda r, _: {"rewards": r.tensors["rewards_env"]}),
    ("nothing added to the rewards at time limits", "terminal_values", _each(np.zeros_like, "terminal_values")),
    ("the old values in the place of the new ones", "values_new values_old",
     lambda r, _: {"values_new": r.of_minibatch("values_old")}),
    ("V(terminal) added to the rewards at time limits without γ", "terminal_values", _undiscounted),
)  # fmt: skip
"""How a report puts it, what a file needs for it, and the tensors that are then others."""

READ = {"advantages": "advantages", "returns": "returns", "values_old": "old values", "logprobs_old": "old log-probs"}
"""Rows of steps that a minibatch reads."""


def _readings(rollout: Rollout, settings: Settings) -> Iterator[Try]:
    """Yields a minibatch that reads a row of steps elsewhere than the others."""
    for name, row in READ.items():
        for moved, by in (("late", 1), ("early", -1)) if name != "logprobs_old" else ():  # those are moved as a whole
            yield Try(f"the {row} that the minibatch reads one step {moved}", rollout, settings, {"moved": {name: by}})
        for order, _ in _orders(rollout):
            label = f"the {row} flattened the other way than the rest, by {order}"
            yield Try(label, rollout, settings, {"transposed": {name: order}})
