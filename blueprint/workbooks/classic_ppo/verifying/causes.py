"""What may have been done otherwise in a rollout, by mechanism: settings; equations, the named ones first; places, where a number
stands, or was read, elsewhere; and numbers that the file itself gives away.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations

import numpy as np

from blueprint.dumps import Array
from blueprint.inputs.catalogue import OFF
from blueprint.language import Block, Expr, Op, Ref, less, maximum, minimum, reading, rebuilt
from blueprint.misconceptions import Change, Names, becomes, equation
from blueprint.verifying import (
    DIGITS,
    Changes,
    Conventions,
    Given,
    Settings,
    Try,
    named_first,
    of_broadcast,
    of_other_forms,
    on_the_line,
    shown,
    straight_line,
)
from blueprint.verifying.equations import changes_of, meaning_of
from blueprint.verifying.other_forms import of_what_is_read
from blueprint.workbooks.classic_ppo.dumps import ENVIRONMENT, TIME, Rollout, transposed
from blueprint.workbooks.classic_ppo.rollout import CLASSIC, classic_presets
from blueprint.workbooks.classic_ppo.verifying.recompute import EQUATIONS, FIRST_CALLED, MADE, recompute
from blueprint.workbooks.common.misconceptions import MISCONCEPTIONS

COMMON: Mapping[str, tuple[float, ...]] = {
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
INSTEAD = Conventions(classic_presets, COMMON)


SLIPS: Mapping[str, Mapping[str, Changes]] = {
    "approx_kl.k3": {
        "k1, the mean of log π_old − log π_new": {"policy_kl.k3": equation(lambda b: -b("log_ratio"))},
        "k2, half the mean square of the log-ratio": {
            "policy_kl.k3": equation(lambda b: b("log_ratio") * b("log_ratio") / 2)},
    },
    "approx_kl.k1": {
        "k3, the mean of ρ − 1 − log ρ": {"policy_kl.k1": equation(lambda b: b("policy_kl.k3"))},
    },
    "value_loss": {
        "the smaller of the two value losses in the place of the larger (min for max)": {
            "value.step_loss": becomes(
                "value.clipped.distance", lambda b: minimum(b("value.distance"), b("value.clipped.distance")))},
    },
}  # fmt: skip
"""Equations that no change of one part makes, by quantity."""


def _held(low: Expr, x: Expr, high: Expr) -> Expr:
    """Holds a number between two as torch.clamp does: the upper end counts where it is below the lower one."""
    return minimum(maximum(x, low), high)


def _value_held(b: Names) -> Expr:
    by = b("value_clip_range")
    return b("values.old") + _held(-by, b("values.new") - b("values.old"), by)


def _of_mean(expr: Expr, b: Names) -> Expr:
    """Returns a whitened advantage with its mean in it, of which the deviation is taken apart."""
    if isinstance(expr, Op) and expr.name == "div":
        return Op("div", (b("advantages") - b("advantage.mean"), expr.args[1]))
    return expr


def _going_last(expr: Expr) -> Expr:
    """Returns γ·(1 − stop)·V as γ·V·(1 − stop)."""
    match expr:
        case Op("mul", (Op("mul", (gamma, going)), ahead)):
            return Op("mul", (Op("mul", (gamma, ahead)), going))
    return rebuilt(expr, _going_last) if isinstance(expr, Op) else expr


SPELLED: Mapping[str, Change] = {
    "ratio.clipped": equation(lambda b: _held(1 - b("clip_range"), b("ratio"), 1 + b("clip_range") + b("clip_more"))),
    "value.clipped": lambda expr, b: expr if isinstance(expr, Ref) else _value_held(b),
    "advantage.whitened": lambda expr, b: _of_mean(expr, b),
    "td_errors": lambda expr, b: _going_last(expr),
    "total_loss": equation(lambda b: b("policy_loss") + b("ent_coef") * -b("entropy") + b("vf_coef") * b("value_loss")),
    "clip_fraction.outside": equation(lambda b: less(b("clip_range"), abs(b("ratio") - 1))),
}
"""By row its equation as CleanRL and Stable-Baselines3 spell it; a value that is not clipped is the value itself."""


def settings_read(settings: Settings, name: str) -> set[str]:
    """Returns the settings that a quantity reads, made from the file's rows before it."""
    found = EQUATIONS.read(settings, (MADE[name].row,), _known(name))
    return found | ({"value_norm"} if "value_factor" in found else set())


def _known(name: str) -> tuple[str, ...]:
    """Returns the rows that are known where a quantity is made."""
    of = {
        "advantages_used": ("advantages",), "returns": ("advantages",), "policy_loss": ("advantages_used",),
        "value_loss": ("returns",), "adds.value_loss": ("value_loss",), "adds.entropy": ("entropy",),
        "total_loss": ("policy_loss", "value_loss", "entropy"), "explained_variance.old": ("returns",),
    }  # fmt: skip
    return (*of.get(name, ()), "policy.entropy")


def of_settings(settings: Settings, name: str) -> Iterator[Try]:
    """Yields every other word, and the numbers that people use, of each setting that a quantity reads."""
    read = settings_read(settings, name)
    for key in (each for each in CLASSIC if each in read):
        also = (settings["clip_range"],) if key == "value_clip_range" else ()
        for value in INSTEAD.values(settings, key, also):
            missing = " (λ missing in the sum of the TD errors)" if (key, value) == ("gae_lambda", 1.0) else ""
            yield INSTEAD.changed(settings, {key: value}, f" instead of {shown(settings[key])}{missing}")


def of_equations(settings: Settings, name: str, telling: bool = True) -> Iterator[Try]:
    """Yields every change of one part of the equations that make a quantity, the named ones first, or alone if it has few bits."""
    yield from (Try(label, settings, {"equations": change}) for label, change in SLIPS.get(name, {}).items())
    yield from named_first(EQUATIONS, settings, MADE[name].row, _known(name), MISCONCEPTIONS, SPELLED, telling)
    if name in ("advantages_used", "policy_loss"):
        rollouts = "the advantages normalised over the whole rollout and not over the minibatch"
        yield Try(rollouts, settings, {"over": "rollout"})
        yield from _of_the_mean_alone(settings)
        for each in named_first(
            EQUATIONS, settings, "advantage.variance", ("advantages", "advantage.centred"), MISCONCEPTIONS, {}
        ):
            yield Try(f"{rollouts}, and {each.label}", settings, {**each.ways, "over": "rollout"})


def _of_the_mean_alone(settings: Settings) -> Iterator[Try]:
    """Yields changes of the mean that is taken off the advantages, where the deviation is taken around the right one."""
    equations = EQUATIONS.under(settings)
    mean = equations.rows["advantage.mean"]
    for made in changes_of(equations, mean.name, ("advantages_used",)):
        own = equations.changed(mean.name, made.change)
        label = f"another equation of {meaning_of(equations, mean.name)}, for the numerator alone: {made.says}"
        yield Try(label, settings, {"equations": {"advantage.whitened": partial(_with_mean, mean, own)}})


def _with_mean(mean: Block, own: Block, expr: Expr, b: Names) -> Expr:
    return reading(_of_mean(expr, b), {mean: own})


def of_some_steps(settings: Settings) -> Iterator[Try]:
    """Yields changes of the equations of an advantage at some steps alone: code is often another at the end of a rollout."""
    for each in of_equations(settings, "advantages"):
        for where, columns in WHERE.items():
            if where:
                yield each._replace(label=f"{each.label}{where}", ways={**each.ways, "where": columns})


Move = Callable[[Array], Array]
MOVES: Mapping[str, Move] = {
    "one step late": lambda x: np.concatenate([np.zeros_like(x[:, :1]), x[:, :-1]], axis=1),
    "one step early": lambda x: np.concatenate([x[:, 1:], np.zeros_like(x[:, :1])], axis=1),
    "two steps late, the last first": lambda x: np.roll(x, 2, axis=1),
    "one step late, the last first": lambda x: np.roll(x, 1, axis=1),
    "one step early, the first last": lambda x: np.roll(x, -1, axis=1),
    "of the environment before": lambda x: np.roll(x, 1, axis=0),
    "of the environment behind": lambda x: np.roll(x, -1, axis=0),
    "taken for 0": np.zeros_like,
    "taken for 1": np.ones_like,
    "of the other sign": np.negative,
    "doubled": lambda x: 2 * x,
    "halved": lambda x: x / 2,
    "squared": np.square,
    "taken for 1 less it": lambda x: 1 - x,
    "less 1": lambda x: x - 1,
    "less ½": lambda x: x - 0.5,
    "and ½": lambda x: x + 0.5,
    "and 1": lambda x: x + 1,
    "and 2": lambda x: x + 2,
}
"""What may have become of a row of steps, [N, T], before it was read."""
WHERE: Mapping[str, slice] = {
    "": slice(None), ", at the last step alone": slice(-1, None), ", at all steps but the last": slice(None, -1),
}  # fmt: skip
"""Where, along the steps: code is often another at the end of a rollout."""
RESULTS: Mapping[str, Move] = {says: move for says, move in MOVES.items() if "environment" in says or "the" in says}
"""What may have become of a result, [N, T], or of that of a minibatch, [M, 1]: it stands elsewhere, and none of it is lost."""
FAR = ("environment", "the first last")
"""Of which words a move is for which a few steps at the end do not do."""
CALLED = {
    "done": "done, where an episode ends,", "rewards": "the rewards", "values_old": "the old values",
    "logprobs_old": "the old log-probs", "next_values": "V(next), the value behind the last step,",
    "terminal_values": "V(terminal), the value at a time limit,", "rewards_env": "the environment's rewards",
    "logprobs_new": "the new log-probs", "values_new": "the new values", "entropy": "the entropies",
}  # fmt: skip
NAMED = {
    ("done", "one step late"):
        "done one step late: dones[t] where dones[t + 1] belongs (the start of an episode taken for its end)",
    ("done", "taken for 0"): "ends of episodes not looked at (no 1 − done)",
    ("done", "taken for 0, at the last step alone"): "the end of the last step not looked at (next_done)",
    ("next_values", "taken for 0"): "no value behind the last step (V(next) = 0)",
    ("terminal_values", "taken for 0"): "nothing added to the rewards at time limits",
}  # fmt: skip
"""What is said of a place that is well known."""
READ_BY: Mapping[str, tuple[str, ...]] = {
    "first.logprobs": ("logprobs_old",), "first.values": ("values_old",), "rewards": ("rewards_env", "terminal_values"),
    "advantages": ("next_values", "done", "rewards", "values_old"), "returns": ("values_old",), "advantages_used": (),
    "policy_loss": ("logprobs_old", "logprobs_new"), "value_loss": ("values_old", "values_new"), "entropy": ("entropy",),
    **dict.fromkeys(("approx_kl.k1", "approx_kl.k3", "clip_fraction"), ("logprobs_old", "logprobs_new")),
    "explained_variance.old": ("values_old",),
}  # fmt: skip
"""By quantity the tensors that it reads."""


def of_places(rollout: Rollout, settings: Settings, name: str) -> Iterator[Try]:
    """Yields numbers that stand elsewhere, or are others, where they are read; then what the minibatch reads of other steps."""
    moves = [
        (tensor, f"{move}{where}", change, at)
        for tensor in READ_BY.get(name, ())
        if tensor in rollout.tensors
        for (move, change), (where, at) in ((one, other) for other in WHERE.items() for one in MOVES.items())
        if not (where and (rollout.tensors[tensor].ndim == 1 or "environment" in move or "last" in move))
    ]
    for tensor, move, change, at in sorted(moves, key=lambda each: each[:2] not in NAMED):
        label = NAMED.get((tensor, move), f"{CALLED[tensor]} {move}")
        far = any(word in move for word in FAR)
        yield Try(label, settings, {"places": partial(_moved, tensor, change, at), "far": far})
    for one, other in ROWS_FOR.get(name, ()):
        where = "instead" if MADE[name].minibatch else "instead_of_steps"
        yield Try(f"{other} read in the place of {one}", settings, {where: {one: other}})
    for label, tensor, instead in STAND_INS:
        if tensor in READ_BY.get(name, ()) and {tensor, instead} <= rollout.tensors.keys():
            yield Try(label, settings, {"places": partial(_instead, tensor, instead)})
    yield from of_readings(rollout, settings, name)


ROWS_FOR: Mapping[str, tuple[tuple[str, str], ...]] = {
    "value_loss": tuple(permutations(("returns", "advantages", "values.old", "values.new", "rewards"), 2)),
    **dict.fromkeys(("policy_loss", "approx_kl.k1", "approx_kl.k3", "clip_fraction"),
                    tuple(permutations(("policy.logprobs", "old.logprobs"), 2))),
    "explained_variance.old": tuple(permutations(("returns", "advantages", "values.old", "rewards"), 2)),
}  # fmt: skip
"""By quantity rows of one shape, of which one may be read in the place of another, wherever that is read."""
STAND_INS = (
    ("the value of the last step itself for V(next)", "next_values", "values_old"),
    ("the rewards before γ·V(terminal) was added at time limits", "rewards", "rewards_env"),
    ("the old values in the place of the new ones", "values_new", "values_old"),
    ("the old log-probs in the place of the new ones", "logprobs_new", "logprobs_old"),
)
"""How a report puts it, the tensor that is read, and what stands in its place."""


def of_results(rollout: Rollout, name: str, settings: Settings) -> Iterator[Try]:
    """Yields the result itself at other steps than its own."""
    if name not in ("advantages", "returns", "advantages_used"):
        return
    row = "row of the minibatch"
    for says, move in RESULTS.items():
        if not MADE[name].minibatch:
            yield Try(f"the {name} {says}", settings, {"laid": {name: move}, "far": True})
        elif "environment" in says:
            yield Try(f"the {name} {says.replace('environment', row)}", settings, {"laid": {name: move}})


def _moved(tensor: str, change: Move, at: slice, rollout: Rollout) -> Rollout:
    """Returns a rollout in which a tensor is another one, at some steps; where done is another, so is terminated."""
    tensors = dict(rollout.tensors)
    for each in (tensor, "terminated") if tensor == "done" and "terminated" in tensors else (tensor,):
        row = np.array(tensors[each])
        moved = change(row if row.ndim > 1 else row[:, None]).reshape(row.shape)
        if row.ndim > 1:
            row[:, at] = moved[:, at]
        tensors[each] = row if row.ndim > 1 else moved
    return replace(rollout, tensors=tensors)


def _instead(tensor: str, other: str, rollout: Rollout) -> Rollout:
    stands = rollout.tensors[other]
    if tensor == "next_values":
        stands = stands[:, -1]
    elif rollout.tensors[tensor].ndim == 1 and stands.ndim == 2:
        stands = rollout.of_minibatch(other)
    return replace(rollout, tensors={**rollout.tensors, tensor: stands})


ROWS_READ = {
    "advantages": "advantages", "returns": "returns", "values.old": "old values", "old.logprobs": "old log-probs",
}  # fmt: skip
"""Rows of steps that a minibatch reads, by block."""
OF_MINIBATCH = {
    "first.logprobs": ("old.logprobs",), "first.values": ("values.old",), "advantages_used": ("advantages",),
    "policy_loss": ("old.logprobs",), "value_loss": ("returns", "values.old"),
    **dict.fromkeys(("approx_kl.k1", "approx_kl.k3", "clip_fraction"), ("old.logprobs",)),
}  # fmt: skip
"""By quantity which of them it reads."""


def of_readings(rollout: Rollout, settings: Settings, name: str) -> Iterator[Try]:
    """Yields a minibatch that reads its rows, or one of them, of other steps than those that the file lists."""
    blocks = OF_MINIBATCH.get(name, ())
    for way, at in _orders(rollout) if blocks else ():
        label = f"the rollout flattened the other way: rows count {way}"
        yield Try(label, settings, {"read": partial(_reading, tuple(ROWS_READ), at)})
    for block in blocks:
        for says, at in READINGS.items():
            yield Try(
                f"the {ROWS_READ[block]} that the minibatch reads {says}",
                settings,
                {"read": partial(_reading, (block,), at)},
            )
        for way, at in _orders(rollout):
            label = f"the {ROWS_READ[block]} flattened the other way than the rest, {way}"
            yield Try(label, settings, {"read": partial(_reading, (block,), at)})


At = Callable[[Rollout], Array]
READINGS: Mapping[str, At] = {
    "one step late": lambda r: _beside(r, (0, -1)),
    "one step early": lambda r: _beside(r, (0, 1)),
    "of the environment before": lambda r: _beside(r, (-1, 0)),
    "of the environment behind": lambda r: _beside(r, (1, 0)),
    "one row of it late": lambda r: np.roll(r.at, 1, axis=0),
    "one row of it early": lambda r: np.roll(r.at, -1, axis=0),
    "from its end": lambda r: r.at[::-1],
    "in the order of the rollout, not shuffled": lambda r: r.at[np.lexsort(r.at.T[::-1])],
    "in the order of time, not shuffled": lambda r: r.at[np.lexsort(r.at.T)],
}
"""Which steps are read instead."""


def _beside(rollout: Rollout, by: tuple[int, int]) -> Array:
    return np.asarray((rollout.at + by) % rollout.shape)


def _reading(blocks: Sequence[str], at: At, rollout: Rollout) -> dict[str, Array]:
    return dict.fromkeys(blocks, at(rollout))


def _orders(rollout: Rollout) -> list[tuple[str, At]]:
    """Lists the ways in which the rollout may have been flattened; none where they come to the same."""
    orders = {TIME: "step by step over all environments", ENVIRONMENT: "environment by environment"}
    if rollout.shape[0] == 1 or rollout.whole:
        return []
    return [(way, partial(_transposed, order)) for order, way in orders.items()]


def _transposed(order: str, rollout: Rollout) -> Array:
    return transposed(rollout.at, rollout.shape, order)


FEW = 2
"""So many digits a number has that somebody typed, if a single number shall give it away, and not a row of them."""


def of_fits(rollout: Rollout, settings: Settings, name: str, given: Given) -> Iterator[Try]:
    """Yields numbers that the file itself gives away, as somebody would type them."""
    for key, value in _fitted(rollout, settings, name, given):
        most = DIGITS if name in rollout.tensors else FEW
        rounded = float(f"{value:.{most}g}")
        if np.isfinite(value) and CLASSIC[key].holds(rounded) and rounded != settings[key]:
            yield INSTEAD.changed(settings, {key: rounded}, f" instead of {shown(settings[key])}", fitted=True)
    if name in rollout.tensors and name not in FIRST_CALLED:
        yield from _line(rollout, settings, name, given)


def _fitted(rollout: Rollout, settings: Settings, name: str, given: Given) -> Iterator[tuple[str, float]]:
    """Yields settings with the number that a quantity comes to lie nearest to."""
    if name == "advantages":
        yield from _discounts(rollout, settings)
    if name == "advantages_used" and settings["whiten_advantages"] == "on":
        A = rollout.of_minibatch("advantages") if "advantages" in rollout.tensors else np.zeros(0)
        with np.errstate(divide="ignore", invalid="ignore"):
            if len(A) > 1:
                yield "whiten_eps", float(np.nanmedian((A - A.mean()) / rollout.tensors[name])) - float(A.std(ddof=1))
    for key in ("vf_coef", "ent_coef") if name == "total_loss" else ():
        none, one = (
            recompute(rollout, {**settings, key: value}, given=given, until=name).numbers.get(name, np.nan)
            for value in (0.0, 1.0)
        )
        yield key, (rollout.logged[name] - none) / (one - none) if one != none else np.nan


def _discounts(rollout: Rollout, settings: Settings) -> Iterator[tuple[str, float]]:
    """Yields γ and λ as every step has them, from the file's own advantage behind it."""
    tensors = rollout.tensors
    A, V, stop = tensors["advantages"], tensors["values_old"], tensors["done"]
    if settings["bootstrap"] == "terminated":
        stop = tensors.get("terminated", stop)
    going, ahead, later = (1 - stop)[:, :-1], V[:, 1:], ((1 - tensors["done"])[:, :-1]) * A[:, 1:]
    gamma, lam = float(settings["gamma"]), float(settings["gae_lambda"])
    left = (A - tensors["rewards"] + V)[:, :-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        # of an episode's last step λ has no number: nothing comes later
        of_gamma, of_lambda = left / (going * ahead + lam * later), (left - gamma * ahead) / (gamma * later)
    for key, found in (("gamma", of_gamma), ("gae_lambda", of_lambda)):
        some = found[np.isfinite(found)]
        yield key, float(np.median(some)) if some.size else np.nan


def _line(rollout: Rollout, settings: Settings, name: str, given: Given) -> Iterator[Try]:
    """Yields the straight line of the right numbers on which those of the file lie."""
    ours = recompute(rollout, settings, given=given, until=name).rows.get(name)
    theirs = np.asarray(rollout.tensors[name], np.float64).ravel()
    # any mean is a constant: of one that somebody typed there are few
    line = None if ours is None else straight_line(ours.ravel(), theirs, (DIGITS, FEW))
    if line:
        yield Try(f"{name} are {on_the_line(line, 'ones')}", settings, {"line": {name: line}}, fitted=True)


def tries(
    rollout: Rollout, settings: Settings, name: str, given: Given, explaining: Sequence[Try], telling: bool
) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    given: results of the file before it. explaining: those that were found to explain it, as more are. telling: whether it has
    bits enough to tell many causes apart, of which one always fits a number of few digits.
    """
    if name in FIRST_CALLED:
        yield list(of_places(rollout, settings, name))
        return
    yield list(of_settings(settings, name))
    yield list(of_equations(settings, name, telling))
    if not telling:
        return
    alone = f", and what agrees without it as it should be (in {name})"
    yield [each._replace(label=f"{each.label}{alone}", ways={**each.ways, "alone": True}) for each in explaining]
    yield [*of_places(rollout, settings, name), *of_results(rollout, name, settings)]
    if name == "advantages":
        yield list(of_some_steps(settings))
    yield list(of_broadcast(EQUATIONS, settings, (MADE[name].row,), _known(name), len(rollout.at)))
    yield from of_other_forms(EQUATIONS, settings, (MADE[name].row,), _known(name))
    yield [each for stage in of_what_is_read(EQUATIONS, settings, MADE[name].row, _known(name)) for each in stage]
    yield [*of_fits(rollout, settings, name, given), *INSTEAD.of_presets(settings, settings_read(settings, name))]
