"""Some steps of a rollout as a workbook: around what deviates first, or its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blueprint.dumps import Array, MinibatchError, require
from blueprint.inputs import Numbers
from blueprint.verifying import Again, Agreement, Chosen, Settings, Shown, Verdict, ViewOptions, logits_of_two
from blueprint.workbooks.classic_ppo.dumps import Rollout
from blueprint.workbooks.classic_ppo.rollout import classic_presets

NEAR = 1e-9
"""How far the workbook's advantages may be from the replay's: both are of float64."""
FEW = 4
"""Environments that are shown where nobody asks for some."""


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


def numbers_of(rollout: Rollout, found: Again, settings: Settings, preset: str, window: Window, name: str) -> Numbers:
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


def agreement(arrays: Mapping[str, Array], found: Again, window: Window) -> Agreement:
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
    return np.stack(logits_of_two(logprobs), axis=-1)


def _behind(rollout: Rollout, found: Again, settings: Settings, window: Window) -> Array:
    """Returns the value behind the last step shown, of each environment."""
    tensors, stop = rollout.tensors, window.stop
    if stop == rollout.shape[1]:
        behind = tensors.get("next_values", np.zeros(rollout.shape[0]))
    else:
        later = float(settings["gae_lambda"]) * found.rows["advantages"][:, stop]
        behind = tensors["values_old"][:, stop] + (1 - tensors["done"][:, stop - 1]) * later
    return np.asarray(behind[list(window.environments)])
