"""Which number of a rollout went wrong first, and why: causes are tried one after the other; and a window on it as a workbook."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array, MinibatchError, require
from blueprint.inputs import Numbers
from blueprint.inputs.catalogue import OFF
from blueprint.verifying import (
    Agreement,
    Chosen,
    Compared,
    Part,
    Settings,
    Shown,
    StepVerdict,
    Verdict,
    Verifier,
    VerifyOptions,
    ViewOptions,
    Watch,
    choose,
    first_line,
    judged,
    shown,
    step_lines,
)
from blueprint.workbooks.classic_ppo.dumps import ENVIRONMENT, TIME, Rollout, together, transposed
from blueprint.workbooks.classic_ppo.rollout import CLASSIC, classic_presets
from blueprint.workbooks.classic_ppo.verifying.recompute import (
    ALL,
    FIRST,
    PLAIN,
    Given,
    Judge,
    Quantity,
    Replayed,
    Ways,
    given_of,
    recompute,
)


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


NEAR = 1e-9
"""How far the workbook's advantages may be from the replay's: both are of float64."""
FEW = 4
"""Environments that are shown where nobody asks for some."""
SMALLEST_SHARE = 1e-300


@dataclass(frozen=True)
class Window:
    """Which environments are shown, and which steps of them: from `start`, and before `stop`."""

    environments: tuple[int, ...]
    start: int
    stop: int

    def cut(self, array: Array) -> Array:
        """Returns what the window shows of a tensor of steps."""
        return np.asarray(array[list(self.environments), self.start : self.stop])

    def label(self, shape: tuple[int, int]) -> str:
        """Says what is shown of a rollout of that shape."""
        of = "all" if len(self.environments) == shape[0] else ", ".join(map(str, self.environments))
        steps = "all steps" if self.stop - self.start == shape[1] else f"steps {self.start} … {self.stop - 1}"
        return f"environments {of} of {shape[0]}, {steps} of {shape[1]}"


def window_on(rollout: Rollout, rows: Sequence[int] | None, width: int, at: tuple[int, int] | None) -> Window:
    """Returns a window of at most so many steps: around `at`, environment and step, or else at the end of the rollout.

    rows: the environments to show. Raises MinibatchError for one that is not there.
    """
    environments, steps = rollout.shape
    missing = [each for each in rows or () if not 0 <= each < environments]
    if missing:
        raise MinibatchError(f"--rows {missing[0]}: the rollout has environments 0 … {environments - 1}.")
    some = range(environments) if environments <= FEW else (at[0] if at else 0,)
    stop = steps if at is None else min(steps, max(width, at[1] + width // 2))
    return Window(tuple(rows or some), max(0, stop - width), stop)


def numbers_of(
    rollout: Rollout, found: Replayed, settings: Settings, preset: str, window: Window, name: str
) -> Numbers:
    """Makes the numbers of a workbook.

    Behind a window V(next) is V + λ·A of the step that follows, so that advantages and returns are those of the rollout.
    Raises MinibatchError for a rollout without values or log-probs, or with densities in place of probabilities.
    """
    lacking = [each for each in ("values_old", "logprobs_old") if each not in rollout.tensors]
    require(
        not lacking and "advantages" in found.rows,
        f"{rollout.path} has no {' and no '.join(lacking or ['next_values'])}: a workbook begins at them",
    )
    steps, new = rollout.tensors, {name: _of_steps(rollout, name) for name in ("logprobs", "values")}
    old_scores, new_scores, actions = _scores(rollout, new["logprobs"])
    usual = classic_presets().preset(preset).values
    given = {
        "actions": actions,
        "rewards": steps["rewards"],
        "done": steps["done"],
        "terminated": steps.get("terminated", steps["done"]),
        "values_old": steps["values_old"],
        "values_new": new["values"],
        "logits_old": old_scores,
        "logits_new": new_scores,
    }
    cut = {f"rollout.{key}": window.cut(each) for key, each in given.items()}
    return Numbers(
        kind="classic_ppo",
        level="classic",
        name=name,
        title=f"rollout of {rollout.library or name}",
        about=f"{window.label(rollout.shape)}.",
        ppo={key: value for key, value in settings.items() if value != usual[key]},
        parts={"preset": preset, **cut, "rollout.next_values": _behind(rollout, found, settings, window)},
    )


def shown_window(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows steps of a rollout: around what deviates first, or else its end.

    Raises MinibatchError for an environment that is not there.
    """
    rollout, found = verdict.replayed.batch, verdict.replayed
    spot, axes = (verdict.first.compared.spot, verdict.first.compared.axes) if verdict.first else (None, None)
    at = (spot.row, spot.first) if spot and axes and axes.column else None
    window = window_on(rollout, options.rows, options.tokens, at)
    return Shown(
        window.label(rollout.shape),
        tuple(f"Note: {each}" for each in remarks(rollout)),
        lambda name: numbers_of(rollout, found, chosen.values, chosen.preset.name, window, name),
        lambda arrays: agreement(arrays, found, window),
    )


def remarks(rollout: Rollout) -> list[str]:
    """Says what of a workbook is not as the library had it."""
    found = []
    if "logits_old" not in rollout.tensors or "logits_new" not in rollout.tensors:
        found.append(
            "the file has no scores of actions (logits_old, logits_new): action 0 is the one taken and action 1 all others "
            "together, so that the entropy is the library's only where there are two actions"
        )
    if not rollout.whole:
        found.append(
            "the library's losses are those of a minibatch of some steps, the workbook's those of the steps shown; a step that "
            "is not of the minibatch has its old log-prob and value for the new ones"
        )
    return found


def agreement(arrays: Mapping[str, Array], found: Replayed, window: Window) -> Agreement:
    """Returns how far advantages and returns of a workbook are from the rollout's."""
    ours = {"advantages": arrays["advantages"][:, :-1], "returns": arrays["returns"]}
    apart = {name: float(np.abs(each - window.cut(found.rows[name])).max()) for name, each in ours.items()}
    return Agreement(apart, NEAR * (1 + float(abs(found.rows["advantages"]).max())))


def _of_steps(rollout: Rollout, name: str) -> Array:
    """Returns a new tensor of the minibatch where its steps stand, and the old one elsewhere."""
    found = rollout.tensors[f"{name}_old"].copy()
    if f"{name}_new" in rollout.tensors:
        found[tuple(rollout.at.T)] = rollout.tensors[f"{name}_new"]
    return found


def _scores(rollout: Rollout, new: Array) -> tuple[Array, Array, Array]:
    """Returns scores of actions before and after the update, and the actions taken.

    Without scores in the file there are two actions: the one taken, and all others together.
    """
    tensors, old = rollout.tensors, rollout.tensors["logprobs_old"]
    if {"logits_old", "logits_new", "actions"} <= tensors.keys():
        return tensors["logits_old"], _of_steps(rollout, "logits"), tensors["actions"].astype(int)
    require(
        max(old.max(), new.max()) <= 0,
        f"{rollout.path} has log-probs above 0, densities of continuous actions: a workbook shows actions that can be counted",
    )
    return _two(old), _two(new), np.zeros(old.shape, dtype=int)


def _two(logprobs: Array) -> Array:
    """Returns ln p and ln(1 − p) on a last axis."""
    return np.stack([logprobs, np.log(np.maximum(-np.expm1(logprobs), SMALLEST_SHARE))], axis=-1)


def _behind(rollout: Rollout, found: Replayed, settings: Settings, window: Window) -> Array:
    """Returns the value behind the last step shown, of each environment."""
    tensors, stop = rollout.tensors, window.stop
    if stop == rollout.shape[1]:
        behind = tensors.get("next_values", np.zeros(rollout.shape[0]))
    else:
        later = float(settings["gae_lambda"]) * found.rows["advantages"][:, stop]
        behind = tensors["values_old"][:, stop] + (1 - tensors["done"][:, stop - 1]) * later
    return np.asarray(behind[list(window.environments)])


SIGNAL = ("rewards", "advantages", "returns")
UNSAID = (
    'the file does not say how many updates came before it: with "optimizer_step": "0" in the metadata of the first '
    "minibatch it is checked that the new log-probs are the old ones"
)


def check_device(device: str) -> None:
    """Raises MinibatchError for another device than the processor."""
    require(
        device == "cpu",
        f"--device {device}: a rollout of classic PPO is computed on the processor, in float64; leave it out",
    )


def verify_rollouts(
    rollouts: Sequence[Rollout], options: VerifyOptions, watch: Watch, unread: Mapping[Path, str]
) -> StepVerdict:
    """Verifies rollouts, each by itself."""
    asked = ((each, choose(each, options)) for each in rollouts)
    parts = [
        Part(Path(each.path), chosen, verify(each, chosen.values, chosen.preset.name, options.tolerance))
        for each, chosen in asked
    ]
    lines = step_lines([part.verdict for part in parts], ALL)
    first = first_line(lines)
    where = first.first[1] if first and first.first else None
    causes = next((part.verdict.causes for part in parts if part.verdict.replayed.batch is where), ())
    return StepVerdict(rollouts[0].step, tuple(parts), unread, tuple(lines), first, causes)


class RolloutTrial(NamedTuple):
    """A rollout, and how it is computed again and compared."""

    judge: Judge
    settings: Settings
    given: Given
    quantities: Mapping[str, Quantity] = ALL

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.judge.called(name)

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> dict[str, Compared]:
        """Compares what the file logged with what comes out; what must hold before the first update needs no computation."""
        rollout, settings, ways = (
            (each.rollout, each.settings, each.ways) if each else (self.judge.rollout, self.settings, PLAIN)
        )
        if until and ALL[until] in FIRST:
            return {until: self.judge.first_with(ALL[until], rollout)}
        return self.judge.compared(recompute(rollout, settings, ways, given or {}, until))


def verify(rollout: Rollout, settings: Settings, preset: str = "", factor: float = 1.0) -> Verdict:
    """Computes a rollout again under the values of a preset and compares it with everything that the file logged.

    factor: multiplies every tolerance.
    """
    found = recompute(rollout, settings)
    trial = RolloutTrial(Judge(rollout, found, factor), settings, given_of(rollout))
    lines, first, causes = judged(trial, lambda name: [list(tries(rollout, settings, name in SIGNAL))])
    known = rollout.place is not None and rollout.place.before_first_update is not None
    notes = rollout.notes if known else (*rollout.notes, UNSAID)
    return Verdict(preset, found, tuple(lines), trial.judge.uncompared(), first, causes.matches, notes, causes)


VERIFIER = Verifier(check_device, verify_rollouts, shown_window, lambda verdict: verdict.replayed.batch, together)
