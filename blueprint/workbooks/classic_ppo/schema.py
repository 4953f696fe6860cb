"""Level "classic": a rollout in several environments, whose rewards, scores and values are given; and its presets."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.inputs import (
    LONGEST,
    ROWS,
    Catalogue,
    Draft,
    Level,
    Numbers,
    Part,
    catalogue,
    refusal,
    settings_in,
)  # fmt: skip
from blueprint.inputs.entries import Flag, Number, Text, Whole

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
CLASSIC = RECORDS.settings
"""The settings, their records being `conventions.toml`."""
_STEPS = ("environment", "step")


@cache
def classic_presets() -> Catalogue:
    """Read the presets of classic PPO: the default, CleanRL, Stable-Baselines3, TorchRL and rlax."""
    return catalogue(FOLDER, RECORDS)


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes.

    The rows of the value loss are those of one norm or of the other, whichever is typed.
    """
    old = file.array("values.old", 2)
    rollout = {
        "actions": np.array(file.whole("actions")),
        "rewards": file.array("rewards", 2),
        "done": file.array("done", 2),
        "terminated": file.array("terminated", 2),
        "values_old": old[:, :-1],
        "values_new": file.array("values.new", 2),
        "next_values": old[:, -1],
        "logits_old": file.array("old.logits", 3),
        "logits_new": file.array("policy.logits", 3),
    }
    return Numbers(
        kind="classic_ppo",
        level="classic",
        **file.head(),
        ppo={"value_norm": "smooth_l1" if "value.size" in file else "l2"} if file.blank else file.settings(),
        parts={"preset": file.preset(classic_presets())} | {f"rollout.{key}": each for key, each in rollout.items()},
    )


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, or an action does not exist.
    """
    classic_presets().preset(draft.parts["preset"])
    parts = draft.fitted()
    known = parts["rollout.logits_old"].shape[-1]
    for place, action in _steps(parts["rollout.actions"]):
        if not 0 <= action < known:
            raise refusal(f"rollout.actions, {place}", str(action), f"0 to {known - 1}, as there are {known} actions")
    done = parts["rollout.done"]
    for place, early in _steps(parts.setdefault("rollout.terminated", done) > done):
        if early:
            raise refusal(f"rollout.terminated, {place}", "1", "0, because the episode is not done there")
    return draft.numbers(parts)


def _steps(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[str, Any]]:
    """Yield every entry with its place, in words."""
    for row, entries in enumerate(rows, start=1):
        for item, each in enumerate(entries, start=1):
            yield f"row {row}, item {item}", each


LEVEL = Level(
    "classic_ppo",
    "classic",
    "rewards are given, nothing is drawn",
    parts=(
        Part("preset", Text, (), "the library whose settings are used where none is given", "default"),
        Part("rollout.actions", Whole, _STEPS, "the action taken, counted from 0"),
        Part("rollout.rewards", Number, _STEPS, "the reward of the step"),
        Part("rollout.done", Flag, _STEPS, "1 where the episode ended after the step, else 0"),
        Part("rollout.terminated", Flag, _STEPS,
             "as done, but 0 where only a time limit ended it; else the same as done", None, otherwise="as rollout.done"),
        Part("rollout.values_old", Number, _STEPS, "the critic's values before the update"),
        Part("rollout.values_new", Number, _STEPS, "the critic's values after the update"),
        Part("rollout.next_values", Number, ("environment",),
             "before the update, the value of the state after the last step"),
        Part("rollout.logits_old", Number, (*_STEPS, "action"),
             "the policy's scores before the update: a list per step, a number per action"),
        Part("rollout.logits_new", Number, (*_STEPS, "action"),
             "the policy's scores after the update, in the same shape"),
    ),
    tables={
        "ppo": "settings; one that is left out is as in the preset",
        "rollout": "a row per environment, an entry per step",
    },
    settings=CLASSIC,
    presets=classic_presets,
    limits={"environment": ROWS, "step": (1, LONGEST), "action": (2, 64)},
    make=_numbers,
)  # fmt: skip
