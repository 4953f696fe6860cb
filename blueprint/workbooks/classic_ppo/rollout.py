"""A rollout of classic PPO in several environments: its numbers files and presets, and what is typed of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
    Values,
    catalogue,
    refusal,
    settings_in,
    shown,
)  # fmt: skip
from blueprint.inputs.entries import Flag, Number, Text, Whole
from blueprint.language import Axis, Block, link, size, typed
from blueprint.page.outline import Line, Note, Row, Section, Sheet, key, minor
from blueprint.workbooks.common import (
    EVERYWHERE,
    LIVE,
    Choices,
    PresetTable,
    Settings,
    chosen_logprobs,
    fixed,
    labels,
    settings_sections,
    softmax,
)

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
    """Return what is typed in a saved workbook; of a blank one numbers of its sizes, and of the norm whose rows it has."""
    made: Numbers = LEVEL.saved(file)
    return replace(made, ppo={"value_norm": "smooth_l1" if "value.size" in file else "l2"}) if file.blank else made


def _saved(file: "Saved", parts: Values) -> Values:
    """Return what stands otherwise in a workbook: actions are whole, and the value after the last step is in the end column."""
    old = file.array("values.old", 2)
    return {
        "rollout.actions": np.array(file.whole("actions")),
        "rollout.values_old": old[:, :-1],
        "rollout.next_values": old[:, -1],
    }


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
            raise refusal(f"rollout.actions, {place}", shown(action), f"0 to {known - 1}, as there are {known} actions")
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
        Part("rollout.actions", Whole, _STEPS, "the action taken, counted from 0", block="actions"),
        Part("rollout.rewards", Number, _STEPS, "the reward of the step", block="rewards"),
        Part("rollout.done", Flag, _STEPS, "1 where the episode ended after the step, else 0", block="done"),
        Part("rollout.terminated", Flag, _STEPS,
             "as done, but 0 where only a time limit ended it; else the same as done", None, otherwise="as rollout.done",
             block="terminated"),
        Part("rollout.values_old", Number, _STEPS, "the critic's values before the update"),
        Part("rollout.values_new", Number, _STEPS, "the critic's values after the update", block="values.new"),
        Part("rollout.next_values", Number, ("environment",),
             "before the update, the value of the state after the last step"),
        Part("rollout.logits_old", Number, (*_STEPS, "action"),
             "the policy's scores before the update: a list per step, a number per action", block="old.logits"),
        Part("rollout.logits_new", Number, (*_STEPS, "action"),
             "the policy's scores after the update, in the same shape", block="policy.logits"),
    ),
    tables={
        "ppo": "settings; one that is left out is as in the preset",
        "rollout": "a row per environment, an entry per step",
    },
    settings=CLASSIC,
    presets=classic_presets,
    limits={"environment": ROWS, "step": (1, LONGEST), "action": (2, 64)},
    make=_numbers,
    # The value after the last step is in the end column of the old values.
    more_typed=lambda numbers: {
        "values.old": np.column_stack([numbers["rollout.values_old"], numbers["rollout.next_values"]])
    },
    more_saved=_saved,
)  # fmt: skip


n, t, a = Axis("n", "environment", start=1), Axis("t", "step", start=1), Axis("a", "action")
"""The axes are not those of RLHF: a row of steps is an environment, and may hold several episodes."""

SHARED = {"advantage.eps_form": "whiten_form", "value.combine": "value_combine", "value.factor": "value_factor"}
"""What a convention is called here that RLHF has, too."""

CALLED = {
    "value.square": "value.distance",
    "value.error_clipped": "value.clipped.error",
    "value.size_clipped": "value.clipped.size",
    "value.square_clipped": "value.clipped.distance",
    "value.word_loss": "value.step_loss",
}
"""What blocks are called here that have a name in RLHF."""

PLAIN = Choices({}, {}, n=n, t=t, labels=labels(own=__package__), called=CALLED)
"""Along what rows lie, and what they are called; nothing to be chosen."""

LEAD = "what happened in every environment, step by step; how likely the policy found its actions, before and after the update"
ENDS = "done marks the step after which an episode ended; the next column begins another one. The end column holds V(next)."
TERMINATED = "terminated is 1 where the task itself ended, 0 where only a time limit cut the episode off."

PICK = "Pick a library: its settings fill the column “preset” below. Where something stands under “yours”, that is used instead."
OFF = "A limit may be the word off instead of a number: type off to switch one off. Then the step that it limits is not taken."
NORM = (
    "The norm of the value loss is built in, because another one has other rows: blueprint build --numbers classic "
    "--set ppo.value_norm=smooth_l1 (or l2)"
)
NORM_CHECK = "If norm_is asks for another norm than this one, the sheet Checks says LOOK."

Blocks = Mapping[str, Block]


def head(blocks: Blocks, sheet: str) -> tuple[Block, ...]:
    """Repeats on another sheet the rows that stay in view: the action taken, and whether the episode then ended."""
    return tuple(link(f"{sheet}.{name}", blocks[name]) for name in ("actions", "done"))


def choices_of(chosen: Settings, norm: str) -> Choices:
    """Returns the settings in use under the names by which the shared definitions read them; what RLHF alone chooses is fixed.

    norm: of the value loss.
    """
    made = fixed(chosen, LIVE)
    used = {**made.used, "loss.clip_range_high": chosen.used["clip_range"] + chosen.used["clip_more"]}
    used |= {name: chosen.used[own] for name, own in SHARED.items() if own in chosen.used}
    switch = {**made.switch, **{name: chosen.switch[own] for name, own in SHARED.items() if own in chosen.switch}}
    return replace(PLAIN, used=used, switch=switch, labels=labels(norm, __package__))


def rollout() -> Sheet:
    """Outlines the sheet of what is given; the old values have an end column, the value after the last step."""
    actions = typed("actions", (n, t), "a_t", "action taken, counted from 0", decimals=0)
    done = typed("done", (n, t), "done", "1 where the episode ended after the step", unit="0 or 1", decimals=0)
    given = (
        typed("rewards", (n, t), "r", "reward of the step", decimals=2),
        typed("terminated", (n, t), "over", "1 where the task itself ended", unit="0 or 1", decimals=0),
    )
    environments, steps = PLAIN.one("count.environments", size(n)), PLAIN.one("count.steps", size(t))
    N, actions_there = (
        PLAIN.one("count", environments * steps),
        PLAIN.one("count.actions", size(a)),
    )  # a mean is over all N
    meaning, source = "value before the step; at the end V(next)", PLAIN.labels.of("stop").source
    values = (
        typed("values.old", (n, t), "V_old", meaning, decimals=2, source=source, edges=(t.last + 1,)),
        typed("values.new", (n, t), "V", "value of the new critic before the step", decimals=2),
    )
    sections = (
        Section("What happened", (Note(ENDS), Note(TERMINATED), *given)),
        Section("What the critic said, before and after the update", values),
        _policy("old", "old policy", "The policy that acted: soft-max of its scores", actions),
        _policy("policy", "new policy", "The policy after the update, asked about the same steps", actions),
        Section("How many there are", (environments, steps, N, actions_there)),
    )
    return Sheet("Rollout", LEAD, sections, (n, t), (actions, done))


def _policy(name: str, whose: str, title: str, actions: Block) -> Section:
    """Makes a soft-max of typed scores, and the log-probability of the action taken. actions: ids (n, t), from 0."""
    logits = typed(f"{name}.logits", (n, t, a), "z", f"score of the action, {whose}", decimals=2)
    over = softmax(name, logits, PLAIN)
    steps = map(minor, (over.top, over.exponentials, over.logsumexp, over.logp))
    logprobs = chosen_logprobs(name, over.logp, actions, EVERYWHERE, PLAIN)
    return Section(title, (logits, *steps, Row(over.p, "probability"), over.p_log_p, key(logprobs)))


def inputs(table: PresetTable, chosen: Settings, norm: Block) -> Sheet:
    """Outlines the sheet of the settings: the preset in use, numbers, switches, the presets and where they come from."""
    used, others = settings_sections(chosen)
    rows = tuple(Line((table.rows[key],)) for key in CLASSIC)
    sources = (
        f"{each.name}: {each.title}, {each.version}. {each.why} ({each.source})"
        for each in classic_presets().presets.values()
    )
    sections = (
        Section("The preset in use", (Note(PICK), Line((table.chosen, table.number)))),
        used,
        others,
        Section("What each library does", (Note(OFF), Line((table.names,)), *rows)),
        Section("Where that was read", tuple(map(Note, sources))),
        Section("What this file was built with", (Note(NORM), Note(NORM_CHECK), Line((norm,)))),
    )
    return Sheet(
        "Inputs", "the settings; everything else that is typed stands on Rollout", sections, widths=(13,) * 8, first=0
    )
