"""A rollout computed again in torch, in float64: advantages and returns of all steps, the loss of its minibatch; and everything
that a file logged compared with it.

The formulas are those of the witness, `blueprint.witness`; here is what they are fed with.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch

from blueprint.dumps import Array
from blueprint.verifying import (
    TOLERANCES,
    Axes,
    Compared,
    Settings,
    coarsest,
    compare_number,
    distance,
    first_spot,
    folded,
    last_digit,
)
from blueprint.verifying.formulas import losses, metrics, rewards
from blueprint.verifying.formulas.rewards import gae
from blueprint.workbooks.classic_ppo.dumps import Rollout, transposed

Given = Mapping[str, Array]
NOTHING: Given = MappingProxyType({})
Ways = Mapping[str, Any]
"""What is done otherwise than in every library: known mistakes, and conventions that no setting names.

gamma_of_next, gamma_of_sum, done_of_next, done_of_sum: False where γ or 1 − done is missing, at V(next) or at later advantages.
own_value_next: V(t) where V(t + 1) should stand. ddof: what the variance of the advantages is divided by, N less this, in place
of 1. centred: False where the mean is not taken off. over: "rollout" where that is normalised and not the minibatch.
moved: a row of steps that the minibatch reads so many steps later, around the end. transposed: a row of steps that it reads as
if the rollout were flattened in that order, "time" or "environment".
surrogate: the "larger" of both, or the "unclipped" or "clipped" one alone, in place of the "smaller". value_combine: "smaller" for
the smaller of the two distances. value_target: "advantages" where the value is trained towards these, not the returns.
returns_of: the normalised "advantages_used" in place of the advantages. bonus: −1 for the entropy with the other sign.
summed: losses are sums over the minibatch and no means. ratio: "inverted", old over new. kl: "k1" or "k2" where k3 is meant,
or "k3" where k1 is.
"""
PLAIN: Ways = MappingProxyType({})


@dataclass
class Replayed:
    """A rollout computed again, and what came of it.

    given: results of the file by neutral name, which later steps read in place of what was computed. known: what they read.
    rows: [N, T] of steps, [M] of the minibatch; numbers: of the minibatch; both as computed. sizes: by number, the mean size of
    the terms that it sums. lacks: by quantity, what the file has not that it takes. sigma: what normalised advantages were
    divided by.
    """

    batch: Rollout
    settings: Settings
    ways: Ways
    given: Given
    known: dict[str, torch.Tensor]
    rows: dict[str, Array] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    sigma: float = 1.0

    @property
    def clip(self) -> tuple[float, float]:
        """The lowest and the highest ratio that count."""
        return 1 - self.number("clip_range"), 1 + self.number("clip_range") + self.number("clip_more")

    def number(self, key: str) -> float:
        """Returns a setting that is a number."""
        return float(self.settings[key])

    def add_row(self, name: str, computed: torch.Tensor) -> None:
        """Takes a row; what is given of that name is read by later steps instead."""
        self.rows[name] = computed.numpy()
        self.known[name] = torch.from_numpy(np.asarray(self.given[name])) if name in self.given else computed

    def add_mean(self, name: str, terms: torch.Tensor, sign: float = 1.0) -> None:
        """Takes a number that is the mean of terms, [M], or their sum."""
        computed = terms.sum() if self.ways.get("summed") else terms.mean()
        self.add_number(name, sign * float(computed), float(terms.abs().mean()))

    def add_number(self, name: str, computed: float, size: float) -> None:
        """Takes a number, and the size of what it adds up."""
        self.numbers[name], self.sizes[name] = computed, size
        self.known[name] = torch.tensor(float(self.given.get(name, computed)), dtype=torch.float64)

    def of_minibatch(self, name: str) -> torch.Tensor:
        """Returns the entries of a row of steps that the minibatch has, [M]."""
        moved, turned = self.ways.get("moved", {}), self.ways.get("transposed", {})
        at = transposed(self.batch.at, self.batch.shape, turned[name]) if name in turned else self.batch.at
        row = self.known[name].roll(moved.get(name, 0), dims=1)
        return row[torch.from_numpy(at[:, 0]), torch.from_numpy(at[:, 1])]


FLOOR = 1e-12
"""Variance of the returns up to which the explained variance is 0."""
LOGPROBS = ("logprobs_old", "logprobs_new")


def recompute(
    rollout: Rollout, settings: Settings, ways: Ways = PLAIN, given: Given = NOTHING, until: str = ""
) -> Replayed:
    """Computes a rollout again under the values of a preset. until: the last result that is needed; none: all."""
    known = {name: torch.from_numpy(array) for name, array in rollout.tensors.items()}
    if bool((known["done"][:, -1] == 1).all()):
        known.setdefault("next_values", torch.zeros_like(known["done"][:, -1]))
    found = Replayed(rollout, settings, ways, given, known)
    with torch.no_grad():
        for names, needs, step in _steps(ways.get("value_target", "returns")):
            if lacking := [name for name in needs if name not in known]:
                found.lacks |= dict.fromkeys(names, " and ".join(lacking))
            else:
                step(found)
            if until in found.rows or until in found.numbers:
                break
    return found


Names = tuple[str, ...]


def _steps(target: str) -> tuple[tuple[Names, Names, Callable[[Replayed], None]], ...]:
    """Lists results, what they take, and how they are made. target: what the value is trained towards."""
    return (
        (("rewards",), ("rewards_env", "terminal_values"), _rewards),
        (("advantages",), ("values_old", "next_values"), _advantages),
        (("advantages_used",), ("advantages",), _normalised),
        (("returns",), ("advantages", "values_old"), _returns),
        (("policy_loss",), ("advantages_used", *LOGPROBS), _policy),
        (("value_loss",), (target, "values_old", "values_new"), _values),
        (("entropy",), ("entropy",), lambda found: found.add_mean("entropy", found.known["entropy"])),
        (("total_loss",), (), _total),
        (("approx_kl.k3", "approx_kl.k1", "clip_fraction"), LOGPROBS, _update),
        (("explained_variance.old",), ("returns", "values_old"), _explained),
    )


def _rewards(found: Replayed) -> None:
    """At a time limit the value of the last state is added to the reward (Stable-Baselines3, collect_rollouts)."""
    ours = found.known["rewards_env"] + found.number("gamma") * found.known["terminal_values"]
    found.rows["rewards"] = ours.numpy()


def _advantages(found: Replayed) -> None:
    known, ways, gamma = found.known, found.ways, found.number("gamma")
    values, rewards, done = known["values_old"], known["rewards"], known["done"]
    following = torch.cat([values[:, 1:], known["next_values"][:, None]], dim=1)
    stop = known.get("terminated", done) if found.settings["bootstrap"] == "terminated" else done
    if ways.get("own_value_next"):
        rewards = rewards + gamma * (values - following) * (1 - stop)
    # Without its 1 − done, V(next) and later advantages are those of the next episode.
    ahead = following * (1 - stop * ways.get("done_of_next", True))
    decay = (gamma if ways.get("gamma_of_sum", True) else 1.0) * found.number("gae_lambda")
    discount = gamma if ways.get("gamma_of_next", True) else 1.0
    made = gae(rewards, values, ahead, 1.0, discount, decay * (1 - done * ways.get("done_of_sum", True)))
    found.add_row("advantages", made["advantages"][:, :-1])


def _normalised(found: Replayed) -> None:
    """Normalises the advantages of the minibatch; a minibatch of one step is left as it is."""
    ours = found.of_minibatch("advantages")
    if found.settings["whiten_advantages"] == "on" and len(ours) > 1:
        base = found.known["advantages"] if found.ways.get("over") == "rollout" else ours
        spread, eps = float(base.std(correction=found.ways.get("ddof", 1))), found.number("whiten_eps")
        found.sigma = spread + eps if found.settings["whiten_form"] == "std_plus" else max(spread, eps)
        ours = (ours - (base.mean() if found.ways.get("centred", True) else 0.0)) / found.sigma
    found.add_row("advantages_used", ours)


def _returns(found: Replayed) -> None:
    advantages = found.known["advantages"]
    if "returns_of" in found.ways and found.batch.whole and "advantages_used" in found.known:
        rows, columns = torch.from_numpy(found.batch.at.T)
        advantages = advantages.index_put((rows, columns), found.known["advantages_used"])
    found.add_row("returns", advantages + found.known["values_old"])


def _log_ratio(found: Replayed) -> torch.Tensor:
    apart = found.known["logprobs_new"] - found.of_minibatch("logprobs_old")
    return -apart if "ratio" in found.ways else apart


def _policy(found: Replayed) -> None:
    ratio, ends = _log_ratio(found).exp(), torch.tensor(found.clip, dtype=torch.float64)
    made = losses.surrogates(ratio, losses.between(ratio, *ends), found.known["advantages_used"])
    free, held = made["surrogate.unclipped"], made["surrogate.clipped"]
    chosen = {"smaller": made["surrogate"], "larger": torch.maximum(free, held), "unclipped": free, "clipped": held}
    found.add_mean("policy_loss", chosen[found.ways.get("surrogate", "smaller")], sign=-1.0)


def _values(found: Replayed) -> None:
    old, target = found.of_minibatch("values_old"), found.of_minibatch(found.ways.get("value_target", "returns"))
    reach = torch.tensor(found.number("value_clip_range"), dtype=torch.float64)
    new, norm = found.known["values_new"], str(found.settings["value_norm"])
    free, held = (losses.distance(each - target, norm) for each in (new, rewards.within(new, reach, old)))
    forms = {"max": torch.maximum(free, held), "clipped_only": held, "smaller": torch.minimum(free, held)}
    distance = forms[found.ways.get("value_combine", found.settings["value_combine"])]
    found.add_mean("value_loss", found.number("value_factor") * distance)


def _total(found: Replayed) -> None:
    """Adds the parts; a part whose weight is 0 is not asked for."""
    bonus = found.ways.get("bonus", 1.0)
    weights = {"policy_loss": 1.0, "value_loss": found.number("vf_coef"), "entropy": -bonus * found.number("ent_coef")}
    parts = {
        name: (weight * float(found.known[name]), abs(weight) * found.sizes[name])
        for name, weight in weights.items()
        if name in found.numbers
    }
    for name in [each for each in parts if each != "policy_loss"]:
        found.add_number(f"adds.{name}", *parts[name])
    needed = [name for name, weight in weights.items() if weight]
    if lacking := [name for name in needed if name not in parts]:
        found.lacks["total_loss"] = " and ".join(lacking)
    else:
        found.add_number("total_loss", *(sum(each) for each in zip(*(parts[name] for name in needed), strict=True)))


def _update(found: Replayed) -> None:
    """Says how far the update moved the policy; of estimates, k1 and k2 may stand in for k3, and k3 for k1."""
    d, (low, high), instead = _log_ratio(found), found.clip, found.ways.get("kl", "")
    estimates, ratio = rewards.estimates(-d), d.exp()
    for name, others in (("k1", ("k3",)), ("k3", ("k1", "k2"))):
        found.add_mean(f"approx_kl.{name}", estimates[instead if instead in others else name])
    found.sizes["approx_kl.k3"] = float((ratio - 1).abs().mean() + d.abs().mean())
    found.add_number("clip_fraction", float(((ratio < low) | (ratio > high)).double().mean()), 1.0)
    found.rows["ratio"] = ratio.numpy()


def _explained(found: Replayed) -> None:
    returns = found.known["returns"]
    variance, residual = (each.var(unbiased=False) for each in (returns, returns - found.known["values_old"]))
    share = float(metrics.explained(residual, variance, FLOOR))
    found.add_number("explained_variance.old", share, 1.0 + abs(share))
    found.sizes["returns.variance"] = float(variance)


STEPS, ROWS_OF_MINIBATCH = Axes("environment", "step", "step"), Axes("row of the minibatch", "", "row")
OF_DIFFERENCES = 0.05
"""Of the tolerance: what estimates of a KL may be off. They are made of differences of log-probs, with nothing else to round."""
FIRST_RATIO = {"float64": 1e-9, "float32": 1e-4, "float16": 0.02, "bfloat16": 0.15}
"""By dtype, how far log-probs of the same policy are apart that were computed in batches of another size."""


class Quantity(NamedTuple):
    """A result. after: results that it is made of; made_of: tensors whose rounding it carries; scaled: divided by σ."""

    name: str
    after: tuple[str, ...] = ()
    made_of: tuple[str, ...] = ()
    scaled: bool = False


SIGNAL = ("rewards", "values_old")
FIRST = (
    Quantity("first.logprobs", made_of=LOGPROBS),
    Quantity("first.values", made_of=("values_old", "values_new")),
)
"""What must be alike before the first update of a rollout: new log-probs and old, new values and old."""

FIRST_CALLED = {"first.logprobs": "new log-probs against old", "first.values": "new values against old"}

ROWS = (
    Quantity("rewards", made_of=("rewards_env", "terminal_values")),
    Quantity("advantages", ("rewards",), SIGNAL),
    Quantity("returns", ("rewards", "advantages"), SIGNAL),
    Quantity("advantages_used", ("rewards", "advantages"), SIGNAL, scaled=True),
)
NUMBERS = (
    Quantity("policy_loss", ("rewards", "advantages", "advantages_used"), (*SIGNAL, *LOGPROBS), scaled=True),
    Quantity("value_loss", ("rewards", "advantages", "returns"), (*SIGNAL, "values_new")),
    Quantity("entropy", (), ("entropy",)),
    Quantity("adds.value_loss", ("rewards", "advantages", "returns", "value_loss"), (*SIGNAL, "values_new")),
    Quantity("adds.entropy", ("entropy",), ("entropy",)),
    Quantity(
        "total_loss",
        ("rewards", "advantages", "returns", "advantages_used", "policy_loss", "value_loss", "entropy"),
        (*SIGNAL, *LOGPROBS, "values_new", "entropy"),
        scaled=True,
    ),
    Quantity("approx_kl.k1", (), LOGPROBS),
    Quantity("approx_kl.k3", (), LOGPROBS),
    Quantity("clip_fraction", (), LOGPROBS),
    Quantity("explained_variance.old", ("rewards", "advantages", "returns"), SIGNAL),
)
ALL = {each.name: each for each in (*FIRST, *ROWS, *NUMBERS)}


class Judge:
    """Compares what a file logged with what was computed again. factor: multiplies every tolerance."""

    def __init__(self, rollout: Rollout, straight: Replayed, factor: float = 1.0) -> None:
        """Takes sizes from the straight recomputation, so that what is allowed does not depend on what is tried."""
        self.rollout, self.straight, self.factor = rollout, straight, factor
        self._dtypes = {name: dtype for name, dtype in rollout.dtypes.items() if dtype in TOLERANCES}

    def compared(self, found: Replayed) -> dict[str, Compared]:
        """Returns what each logged quantity comes to, in the order of derivation."""
        tensors, logged, place = self.rollout.tensors, self.rollout.logged, self.rollout.place
        first = FIRST if place is not None and place.before_first_update is True else ()
        both = [self.first_with(each, self.rollout) for each in first if tensors.keys() >= set(each.made_of)]
        both += [self._row(each, found) for each in ROWS if each.name in tensors and each.name in found.rows]
        both += [self._number(each, found) for each in NUMBERS if each.name in logged and each.name in found.numbers]
        return {each.name: each for each in both}

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity, or what it is called that must hold before the first update."""
        return FIRST_CALLED.get(name) or self.rollout.called.get(name, name)

    def uncompared(self) -> dict[str, str]:
        """Returns by what the file calls it what was logged and cannot be computed, and what that takes.

        Rewards are an input of others: a file has them whether or not it says what they are made of.
        """
        lacks, logged = self.straight.lacks, self.rollout.tensors.keys() | self.rollout.logged.keys()
        names = [each.name for each in (*ROWS[1:], *NUMBERS) if each.name in logged and each.name in lacks]
        return {self.rollout.called.get(name, name): lacks[name] for name in names}

    def _dtype(self, quantity: Quantity) -> str:
        return coarsest(self._dtypes, (quantity.name, *quantity.made_of))

    def _tolerance(self, quantity: Quantity) -> float:
        return self.factor * TOLERANCES[self._dtype(quantity)]

    def first_with(self, quantity: Quantity, rollout: Rollout) -> Compared:
        """Compares what is new with what is old, in a rollout as it is or as it may have been meant."""
        old, new = rollout.of_minibatch(quantity.made_of[0]), rollout.tensors[quantity.made_of[1]]
        allowed = self.factor * FIRST_RATIO[self._dtype(quantity)] * (1 + _largest(old))
        return self._compared(quantity, (new, old), allowed)

    def _row(self, quantity: Quantity, found: Replayed) -> Compared:
        rows, name = self.straight.rows, quantity.name
        scaled = _largest(rows.get("advantages", rows[name])) / self.straight.sigma if quantity.scaled else 0.0
        both = self.rollout.tensors[name], found.rows[name]
        return self._compared(quantity, both, self._tolerance(quantity) * (1 + max(_largest(rows[name]), scaled)))

    def _compared(self, quantity: Quantity, both: tuple[Array, Array], allowed: float) -> Compared:
        """Compares a tensor of the file, the first of both, with the row that was computed again."""
        name, axes = quantity.name, ROWS_OF_MINIBATCH if both[0].ndim == 1 else STEPS
        theirs, ours = (each[:, None] if each.ndim == 1 else each for each in both)
        apart = distance(theirs, ours)
        wrong = ~(apart <= allowed) | np.isinf(apart)
        spot = first_spot(self.rollout, wrong, theirs, ours, range(len(wrong)))
        counts = int(apart.size), int(wrong.sum()), float(apart.max(initial=0.0))
        size, dtype = float(np.abs(ours).mean()), self._dtype(quantity)
        return Compared(name, name, "", *counts, allowed, spot, size=size, dtype=dtype, axes=axes, ours=folded(ours))

    def _number(self, quantity: Quantity, found: Replayed) -> Compared:
        name, tolerance = quantity.name, self._tolerance(quantity)
        logged, size = self.rollout.logged[name], self.straight.sizes[name]
        extra = last_digit(logged) + (self._near_the_clip(tolerance) if name == "clip_fraction" else 0.0)
        allowed = tolerance * self._rounding(quantity, size) + extra
        both = compare_number(name, name, "", (logged, found.numbers[name]), allowed)
        return replace(both, size=size, extra=extra, dtype=self._dtype(quantity))

    def _rounding(self, quantity: Quantity, size: float) -> float:
        """Returns how many tolerances rounding could move a number: a mean of terms, each of which is off as its tensors are."""
        if quantity.name == "clip_fraction":
            return 1.0
        if quantity.name.startswith("approx_kl"):
            return OF_DIFFERENCES * (1 + size)
        if quantity.name == "explained_variance.old":
            spread, largest = self.straight.sizes["returns.variance"], _largest(self.straight.rows["returns"])
            return size * max(1.0, (1 + largest) / spread if spread else 1.0)
        return size + max(size, 1.0) * (max(1.0, 1 / self.straight.sigma) if quantity.scaled else 1.0)

    def _near_the_clip(self, tolerance: float) -> float:
        """Returns the share of the minibatch whose clip rounding decides."""
        ratio, (low, high) = self.straight.rows["ratio"], self.straight.clip
        return float((np.minimum(abs(ratio - low), abs(ratio - high)) <= tolerance).mean())


def _largest(array: Array) -> float:
    return float(np.abs(array).max(initial=0.0))


def given_of(rollout: Rollout) -> Given:
    """Returns the results that a file has, to go on with in place of what was computed."""
    rows = {each.name: rollout.tensors[each.name] for each in ROWS[1:] if each.name in rollout.tensors}
    parts = ("policy_loss", "value_loss", "entropy")
    return rows | {name: np.asarray(rollout.logged[name]) for name in parts if name in rollout.logged}
