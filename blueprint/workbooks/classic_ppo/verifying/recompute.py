"""A rollout computed again by the definitions: advantages and returns of all its steps, then the loss of its minibatch.

The definitions are evaluated twice: along environments and steps, and along the rows of the minibatch, each of them a row of one
step, behind which stands what follows that step in the rollout. What was done otherwise is in `Ways`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array
from blueprint.language import Axis, Block, Expr, Op, Ref, block, rebuilt
from blueprint.misconceptions import Change, Names
from blueprint.verifying import (
    NO_RESULTS,
    PLAIN,
    TOLERANCES,
    Again,
    Axes,
    Definitions,
    Given,
    Quantity,
    Settings,
    Ways,
    changed,
    coarsest,
    factor_of,
)
from blueprint.workbooks.classic_ppo.dumps import Rollout
from blueprint.workbooks.classic_ppo.rollout import CLASSIC, choices_of, n, t
from blueprint.workbooks.classic_ppo.rollout import PLAIN as ALONG
from blueprint.workbooks.classic_ppo.workbook import derived
from blueprint.workbooks.common import Choices, Rows, rows_on
from blueprint.workbooks.common import Settings as Chosen

OF_STEPS = {
    "rewards": "rewards", "done": "done", "terminated": "terminated", "old.logprobs": "logprobs_old", "actions": "actions",
    "rewards.environment": "rewards_env", "terminal.values": "terminal_values",
}  # fmt: skip
"""By block the tensor of steps that stands in it; `values.old` has an end column, too."""
OF_MINIBATCH = {"policy.logprobs": "logprobs_new", "values.new": "values_new", "policy.entropy": "entropy"}
"""By block the tensor of the minibatch that stands in it."""
PAID, STEP, BEHIND = "rewards.paid", "advantages.step", "advantages.behind"
TYPED = {
    **dict.fromkeys((*OF_STEPS, "policy.logprobs", "values.new", "values.old", "policy.p_log_p", BEHIND), (n, t)),
    **dict.fromkeys(("count", "rounding"), ()),
}  # fmt: skip
FLOOR = 1e-12
"""Variance of the returns up to which the explained variance is 0."""


def _derived(given: Rows, use: Choices) -> Rows:
    """Makes the rows of the workbook, and the reward that is paid at a time limit (Stable-Baselines3, collect_rollouts)."""
    norm = use.switch["value_norm"].words[0]
    chosen = choices_of(Chosen(dict(use.used), dict(use.switch)), norm)  # type: ignore[arg-type]  # settled, not typed
    paid = block(PAID, (n, t), "r", "reward, at a time limit with γ·V(terminal)")
    paid[n, t] = given["rewards.environment"][n, t] + use.used["gamma"] * given["terminal.values"][n, t]
    rows = rows_on(*derived(given, norm, chosen).sheets)
    step = block(STEP, (n, t), "A", "advantage, of that behind it")
    step[n, t] = _from_behind(rows["advantages"].definitions[-1].expr, rows["advantages"], given[BEHIND])
    return {**rows, PAID: paid, STEP: step}


def _from_behind(expr: Expr, A: Block, behind: Block) -> Expr:
    """Returns the equation of an advantage of which the next one stands in a row of its own."""
    if isinstance(expr, Ref) and expr.block is A:
        return behind[n, t]
    return rebuilt(expr, lambda inner: _from_behind(inner, A, behind)) if isinstance(expr, Op) else expr


EQUATIONS = Definitions(CLASSIC, ALONG.labels, TYPED, _derived, {"values.old": (t.last + 1,)})
LOGPROBS = ("logprobs_old", "logprobs_new")
SIGNAL = ("rewards", "values_old")
STEPS, ROWS_OF_MINIBATCH = Axes("environment", "step", "step"), Axes("row of the minibatch", "", "row")
FIRST_CALLED = {"first.logprobs": "new log-probs against old", "first.values": "new values against old"}
"""What must be alike before the first update of a rollout."""
FIRST = (
    Quantity("first.logprobs", made_of=LOGPROBS, axes=ROWS_OF_MINIBATCH),
    Quantity("first.values", made_of=("values_old", "values_new"), axes=ROWS_OF_MINIBATCH),
)
ROWS = (
    Quantity("rewards", made_of=("rewards_env", "terminal_values"), axes=STEPS),
    Quantity("advantages", ("rewards",), SIGNAL, axes=STEPS),
    Quantity("returns", ("rewards", "advantages"), SIGNAL, axes=STEPS),
    Quantity("advantages_used", ("rewards", "advantages"), SIGNAL, axes=ROWS_OF_MINIBATCH),
)
OF_POLICY, OF_VALUE = ("rewards", "advantages", "advantages_used"), ("rewards", "advantages", "returns")
NUMBERS = (
    Quantity("policy_loss", OF_POLICY, (*SIGNAL, *LOGPROBS)),
    Quantity("value_loss", OF_VALUE, (*SIGNAL, "values_new")),
    Quantity("entropy", (), ("entropy",)),
    Quantity("adds.value_loss", (*OF_VALUE, "value_loss"), (*SIGNAL, "values_new")),
    Quantity("adds.entropy", ("entropy",), ("entropy",)),
    Quantity("total_loss", (*OF_VALUE, "advantages_used", "policy_loss", "value_loss", "entropy"),
             (*SIGNAL, *LOGPROBS, "values_new", "entropy")),
    Quantity("approx_kl.k1", (), LOGPROBS),
    Quantity("approx_kl.k3", (), LOGPROBS),
    Quantity("clip_fraction", (), LOGPROBS),
    Quantity("explained_variance.old", OF_VALUE, SIGNAL),
)  # fmt: skip
ALL = {each.name: each for each in (*FIRST, *ROWS, *NUMBERS)}
SCALED = ("advantages_used", "policy_loss", "total_loss")
"""What is divided by the deviation of the advantages."""
WEIGHTS: Mapping[str, Callable[[Settings], float]] = {
    "policy_loss": lambda use: 1.0, "value_loss": lambda use: float(use["vf_coef"]), "entropy": lambda use: float(use["ent_coef"]),
}  # fmt: skip


class Made(NamedTuple):
    """How a quantity is made: of which tensors and quantities, by which row of the definitions, and along what."""

    needs: tuple[str, ...] = ()
    row: str = ""
    minibatch: bool = True


MADE: Mapping[str, Made] = {
    "first.logprobs": Made(LOGPROBS, "old.logprobs"),
    "first.values": Made(("values_old", "values_new"), "values.old"),
    "rewards": Made(("rewards_env", "terminal_values"), PAID, False),
    "advantages": Made(("values_old", "next_values"), "advantages", False),
    "advantages_used": Made(("advantages",), "advantages_used"),
    "returns": Made(("advantages", "values_old"), "returns", False),
    "policy_loss": Made(("advantages_used", *LOGPROBS), "policy_loss"),
    "value_loss": Made(("returns", "values_old", "values_new"), "value_loss"),
    "entropy": Made(("entropy",), "entropy"),
    "adds.value_loss": Made(("value_loss",), "adds.value_loss"),
    "adds.entropy": Made(("entropy",), "adds.entropy"),
    "total_loss": Made(("policy_loss", "value_loss", "entropy"), "total_loss"),
    **{name: Made(LOGPROBS, name) for name in ("approx_kl.k3", "approx_kl.k1", "clip_fraction")},
    "explained_variance.old": Made(("returns", "values_old"), "explained_variance.old", False),
}
"""By quantity, in the order in which they are made."""
RESULTS = {name for name, made in MADE.items() if name not in made.needs}
"""What a file may have of them is none of the tensors that others are made of."""


@dataclass(frozen=True)
class Inputs:
    """What of a rollout stands in the blocks. read: by block of steps, which step each row of the minibatch reads, [M, 2], where
    that is not the one that the file says."""

    rollout: Rollout
    read: Mapping[str, Array]

    @cached_property
    def has(self) -> set[str]:
        """The tensors that there are; behind the last step of episodes that are over no value is needed."""
        over = bool((self.rollout.tensors["done"][:, -1] == 1).all())
        return {*self.rollout.tensors, *(("next_values",) if over else ())}

    @cached_property
    def of_steps(self) -> dict[str, Array]:
        """What stands in the blocks of all steps, [N, T]; of what the file has not no number."""
        tensors = self.rollout.tensors
        known = {block: tensors[name] for block, name in OF_STEPS.items() if name in tensors}
        known.setdefault("terminated", known["done"])
        behind = tensors.get("next_values", np.zeros(len(known["done"])))
        old = tensors.get("values_old", np.full(self.rollout.shape, np.nan))
        known["values.old"] = np.column_stack([old, behind])
        unknown = dict.fromkeys(TYPED, np.broadcast_to(np.nan, self.rollout.shape))
        return unknown | known | {"count": np.asarray(float(known["done"].size)), "rounding": np.asarray(FLOOR)}

    @cached_property
    def of_minibatch(self) -> dict[str, Array]:
        """What stands in the blocks of the minibatch, each row of it a row of one step, [M, 1]; values with those that follow."""
        tensors = self.rollout.tensors
        known = {name: self.taken(name, row) for name, row in self.of_steps.items() if row.ndim == 2}
        known |= {block: tensors[name][:, None] for block, name in OF_MINIBATCH.items() if name in tensors}
        return known | {"count": np.asarray(float(len(self.rollout.at))), "rounding": np.asarray(FLOOR)}

    def taken(self, name: str, row: Array) -> Array:
        """Returns what the minibatch reads of a row of steps, [M, 1]; of one with an end column also what follows, [M, 2]."""
        at = self.read.get(name, self.rollout.at)
        columns = at[:, 1:] + np.arange(1 + row.shape[1] - self.rollout.shape[1])
        return np.asarray(row[at[:, :1], columns])


def inputs_of(rollout: Rollout, ways: Ways = PLAIN) -> Inputs:
    """Returns what stands in the blocks. ways: `places` makes another rollout of one; `read` returns what the minibatch reads."""
    rollout = ways["places"](rollout) if "places" in ways else rollout
    return Inputs(rollout, ways["read"](rollout) if "read" in ways else {})


def recompute(
    rollout: Rollout,
    settings: Settings,
    ways: Ways = PLAIN,
    given: Given = NO_RESULTS,
    until: str = "",
    sized: bool = False,
    inputs: Inputs | None = None,
) -> Again:
    """Computes a rollout again under the values of a preset.

    given: results of the file that stand in place of computed ones. until: the one result that is needed; "": all. sized: whether
    it is asked how far rounding may move what comes out. inputs: what stands in the blocks, where that was made before.
    """
    if inputs is None or "places" in ways or "read" in ways:
        inputs = inputs_of(rollout, ways)
    again = _Again(inputs, settings, ways, given)
    for name in MADE if not until else _on_the_way(until, given):
        again.make(name)
    if sized:
        _add_room(again.found)
    return again.found


def _on_the_way(until: str, given: Given) -> list[str]:
    """Lists what is made on the way to a quantity, in order; what is given need not be made."""
    needed, ahead = {until}, [until]
    while ahead:
        new = {each for each in MADE[ahead.pop()].needs if each in MADE and each not in given and each not in needed}
        needed |= new
        ahead += new
    return [name for name in MADE if name in needed]


class _Again:
    """Makes the quantities one after the other; what is known of steps and of the minibatch grows by each of them."""

    def __init__(self, inputs: Inputs, settings: Settings, ways: Ways, given: Given) -> None:
        self.inputs, self.ways, self.given, self.own = inputs, ways, given, set[str]()
        self.found = Again(inputs.rollout, settings)
        self.steps, self.rows = dict(inputs.of_steps), dict(inputs.of_minibatch)
        for name in given:
            self._know(name, np.asarray(given[name], np.float64))

    def make(self, name: str) -> None:
        """Makes a quantity, or says what it lacks."""
        made, found = MADE[name], self.found
        has = (self.inputs.has - RESULTS) | self.given.keys() | found.rows.keys() | found.numbers.keys() | self.own
        lacking = [each for each in made.needs if each not in has]
        if name == "total_loss":
            lacking = self._parts_lacking()
        if lacking:
            found.lacks |= {} if name == "rewards" or name in FIRST_CALLED else {name: " and ".join(lacking)}
            self._take(name)
            return
        row = self._computed(made.row, made.minibatch) * factor_of(self.ways, name)
        slope, constant = self.ways.get("line", {}).get(name, (1.0, 0.0))
        row = row * slope + constant
        row = self.ways.get("laid", {}).get(name, np.asarray)(row)
        if row.ndim:
            found.rows[name] = row[:, 0] if made.minibatch else row
        else:
            found.numbers[name] = self._undefined(name, float(row))
        if name not in self.given and name not in FIRST_CALLED and name != "rewards":
            self._know(name, row)

    def _undefined(self, name: str, number: float) -> float:
        """Returns a number as it is; the explained variance of equal returns, 0 here, as NaN where a library logged that.

        Source: CleanRL fe8d8a0, ppo.py, and Stable-Baselines3, common/utils.py: NaN where the variance of the returns is 0.
        """
        logged = self.inputs.rollout.logged.get(name, 0.0)
        equal = name == "explained_variance.old" and float(np.var(self.steps["returns"])) <= FLOOR
        return logged if equal and not np.isfinite(logged) else number

    def _take(self, name: str) -> None:
        """Goes on with what the file itself has of a row of steps that cannot be made."""
        row = self.inputs.rollout.tensors.get(name)
        if name not in self.given and name in ("advantages", "returns") and row is not None:
            self.own.add(name)
            self._know(name, np.asarray(row, np.float64))

    def _know(self, name: str, row: Array) -> None:
        """Goes on with a result; behind the last step there is no advantage."""
        if name in ("advantages", "returns"):
            wide = np.pad(row, ((0, 0), (0, 1))) if name == "advantages" else row
            self.steps[name], self.rows[name] = wide, self.inputs.taken(name, wide)
        elif name == "rewards":
            self.steps[name], self.rows[name] = row, self.inputs.taken(name, row)
        else:
            self.rows[name] = row.reshape(-1, 1) if row.ndim else row

    def _parts_lacking(self) -> list[str]:
        """Returns the parts of the total that there are not; one whose weight is 0 is not asked for, and 0."""
        lacking = [name for name in WEIGHTS if name not in self.found.numbers and name not in self.given]
        self.rows |= {name: np.asarray(0.0) for name in lacking if name not in self.rows}
        return [name for name in lacking if WEIGHTS[name](self.found.settings)]

    def _computed(self, row: str, minibatch: bool) -> Array:
        """Computes a row of the definitions from what is known."""
        settings, known = self.found.settings, self.rows if minibatch else self.steps
        count = len(self.inputs.rollout.at)
        if row in TYPED:
            return np.asarray(known[row][:, :1])
        known = {name: each for name, each in known.items() if name != row}
        for name, other in self.ways.get("instead" if minibatch else "instead_of_steps", {}).items():
            if {name, other} <= known.keys():  # of what follows behind it nothing is known
                wide = np.full(known[name].shape, np.nan)
                wide[:, :1] = known[other][:, :1]
                known[name] = wide
        if minibatch and count == 1:  # a minibatch of one step is left as it is
            settings = {**settings, "whiten_advantages": "off"}
        environments, length = self.inputs.rollout.shape
        sizes: dict[Axis, int] = {n: count, t: 1} if minibatch else {n: environments, t: length}
        if self.ways.get("over") == "rollout" and row == "advantages_used":
            moments, of_rollout = ("advantage.mean", "advantage.variance"), {n: environments, t: length}
            known = known | EQUATIONS.values(self.found.settings, of_rollout, self.steps, moments, **changed(self.ways))
        if row == "advantages":
            return advantages(settings, sizes, known, self.ways)
        return EQUATIONS.values(settings, sizes, known, (row,), **changed(self.ways))[row]


def advantages(settings: Settings, sizes: Mapping[Axis, int], known: Mapping[str, Array], ways: Ways) -> Array:
    """Computes advantages from the last step to the first, [N, T].

    Step by step, as it is defined, the recursion takes long. Its equation is straight in the advantage behind: from what it gives
    for 0 and 1, of all steps at once, follows what it gives for any. Where a change makes it crooked, it is done step by step.
    ways: `where` are the columns in which an equation is changed, if it is not in all of them.
    """
    made = _of_steps(settings, sizes, known, ways)
    if made is None:
        return EQUATIONS.values(settings, sizes, known, ("advantages",), **changed(ways))["advantages"]
    if "where" in ways and (straight := _of_steps(settings, sizes, known, {})) is not None:
        for one, other in zip(straight, made, strict=True):
            one[:, ways["where"]] = other[:, ways["where"]]
        made = straight
    constant, slope = (each.T[::-1].copy() for each in made)
    found, later = np.empty_like(constant), np.zeros(constant.shape[1])
    with np.errstate(all="ignore"):
        for step, (added, by) in enumerate(zip(constant, slope, strict=True)):
            found[-1 - step] = later = added + by * later
    return np.asarray(found.T)


def _of_steps(
    settings: Settings, sizes: Mapping[Axis, int], known: Mapping[str, Array], ways: Ways
) -> tuple[Array, Array] | None:
    """Returns of each advantage what it is for 0 behind it, and by how much it grows with that, [N, T]; None if it is crooked."""
    how = changed(ways)
    known = {**known, **EQUATIONS.values(settings, sizes, known, ("td_errors",), **how)}
    changes = dict(how["changes"])
    if "advantages" in changes:
        changes[STEP] = _of_step(changes.pop("advantages"))
    far = _as_large_as(known["td_errors"])
    at = [
        EQUATIONS.values(settings, sizes, {**known, BEHIND: np.full(known["rewards"].shape, value)}, (STEP,), changes)[
            STEP
        ]
        for value in (0.0, far, 2 * far)
    ]
    with np.errstate(all="ignore"):
        slope = (at[1] - at[0]) / far
        straight = np.allclose(at[2], at[0] + 2 * far * slope, rtol=1e-12, atol=1e-12 * far)
    return (np.array(at[0]), slope) if straight else None


def _as_large_as(errors: Array) -> float:
    """Returns a power of 2 not far from the largest TD error, at least 1: beside it a slope of a few tenths loses no digits."""
    largest = float(np.abs(errors[np.isfinite(errors)]).max(initial=1.0))
    return float(2.0 ** min(np.frexp(largest)[1] - 1, 1000))


def _of_step(change: Change) -> Change:
    """Returns a change of the recursion as one of the equation of a step."""

    def of_step(expr: Expr, names: Names) -> Expr:
        A = names["advantages"]
        return _from_behind(change(A.definitions[-1].expr, names), A, names[BEHIND])

    return of_step


OF_DIFFERENCES = 0.05
"""Of the tolerance: what estimates of a KL may be off. They are made of differences of log-probs, with nothing else to round."""
FIRST_RATIO = {"float64": 1e-9, "float32": 1e-4, "float16": 0.02, "bfloat16": 0.15}
"""By dtype, how far log-probs of the same policy are apart that were computed in batches of another size."""


def _add_room(found: Again) -> None:
    """Adds how far rounding may move rows and numbers: a mean of terms, each of which is off as its tensors are."""
    rollout, rows, settings = found.batch, found.rows, found.settings
    dtypes = {name: dtype for name, dtype in rollout.dtypes.items() if dtype in TOLERANCES}
    of = {name: coarsest(dtypes, (name, *each.made_of)) for name, each in ALL.items()}
    sigma = _sigma(found)
    for name, row in rows.items():
        scaled = _largest(rows["advantages"]) / sigma if name in SCALED and "advantages" in rows else 0.0
        off = FIRST_RATIO[of[name]] if name in FIRST_CALLED else TOLERANCES[of[name]]
        found.room[name] = off * (1 + max(_largest(row), scaled))
    found.sizes = _sizes(found)
    for name, size in found.sizes.items():
        rounding = size + max(size, 1.0) * (max(1.0, 1 / sigma) if name in SCALED else 1.0)
        if name.startswith("approx_kl"):
            rounding = OF_DIFFERENCES * (1 + size)
        elif name == "explained_variance.old":
            spread = float(rows["returns"].var())
            rounding = size * max(1.0, (1 + _largest(rows["returns"])) / spread if spread else 1.0)
        found.room[name] = TOLERANCES[of[name]] * (1.0 if name == "clip_fraction" else rounding)
    if "clip_fraction" in found.numbers:
        low, high = 1 - float(settings["clip_range"]), 1 + float(settings["clip_range"]) + float(settings["clip_more"])
        ratio = _ratio(rollout)
        near = np.minimum(abs(ratio - low), abs(ratio - high)) <= TOLERANCES[of["clip_fraction"]]
        found.extra["clip_fraction"] = float(near.mean())


def _sizes(found: Again) -> dict[str, float]:
    """Returns by number the mean size of the terms that it averages, or adds up."""
    rollout, numbers, use = found.batch, found.numbers, found.settings
    size = {name: abs(number) for name, number in numbers.items()}
    if "policy_loss" in numbers:
        ratio, used = _ratio(rollout), found.rows["advantages_used"]
        ends = 1 - float(use["clip_range"]), 1 + float(use["clip_range"]) + float(use["clip_more"])
        size["policy_loss"] = float(np.abs(np.minimum(ratio * used, np.clip(ratio, *ends) * used)).mean())
    if "entropy" in numbers:
        size["entropy"] = float(np.abs(rollout.tensors["entropy"]).mean())
    parts = {name: abs(weight(use)) * size[name] for name, weight in WEIGHTS.items() if name in size}
    size |= {f"adds.{name}": parts[name] for name in ("value_loss", "entropy") if f"adds.{name}" in numbers}
    if "total_loss" in numbers:
        size["total_loss"] = sum(parts.values())
    if "approx_kl.k1" in numbers:
        apart = _log_ratio(rollout)
        size["approx_kl.k1"] = float(np.abs(apart).mean())
        size["approx_kl.k3"] = float(np.abs(_ratio(rollout) - 1).mean() + np.abs(apart).mean())
    if "explained_variance.old" in numbers:
        size["explained_variance.old"] += 1.0
    return size


def _sigma(found: Again) -> float:
    """Returns what normalised advantages were divided by, 1 where they were not."""
    use, rollout = found.settings, found.batch
    advantages = found.rows.get("advantages", rollout.tensors.get("advantages"))
    if use["whiten_advantages"] != "on" or advantages is None or len(rollout.at) < 2:
        return 1.0
    spread, eps = float(advantages[tuple(rollout.at.T)].std(ddof=1)), float(use["whiten_eps"])
    return spread + eps if use["whiten_form"] == "std_plus" else max(spread, eps)


def _log_ratio(rollout: Rollout) -> Array:
    return np.asarray(rollout.tensors["logprobs_new"] - rollout.of_minibatch("logprobs_old"))


def _ratio(rollout: Rollout) -> Array:
    with np.errstate(over="ignore"):  # beyond a log-ratio of 709 it is infinite
        return np.exp(_log_ratio(rollout))


def _largest(array: Array) -> float:
    return float(np.abs(array).max(initial=0.0))


def with_first(rollout: Rollout) -> Rollout:
    """Returns a rollout that was dumped before its first update with what must then be alike, as tensors of its own."""
    if rollout.place is None or rollout.place.before_first_update is not True:
        return rollout
    first = {
        each.name: rollout.tensors[each.made_of[1]] for each in FIRST if rollout.tensors.keys() >= set(each.made_of)
    }
    return replace(
        rollout,
        tensors={**rollout.tensors, **first},
        called={**rollout.called, **{name: FIRST_CALLED[name] for name in first}},
    )
