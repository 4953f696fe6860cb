"""What is typed: the settings; and on Rollout what happened in the environments, and what the policy and the critic said of it
before and after the update."""

from collections.abc import Mapping
from dataclasses import replace

from blueprint.language import Axis, Block, link, size, typed
from blueprint.page.outline import Line, Note, Row, Section, Sheet, key, minor
from blueprint.workbooks.classic_ppo.schema import CLASSIC, classic_presets
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
    used |= {name: chosen.used[own] for name, own in SHARED.items()}
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
        Section("How many there are", _counts()),
    )
    return Sheet("Rollout", LEAD, sections, (n, t), (actions, done))


def _policy(name: str, whose: str, title: str, actions: Block) -> Section:
    """Makes a soft-max of typed scores, and the log-probability of the action taken. actions: ids (n, t), from 0."""
    logits = typed(f"{name}.logits", (n, t, a), "z", f"score of the action, {whose}", decimals=2)
    over = softmax(name, logits, PLAIN)
    steps = map(minor, (over.top, over.exponentials, over.logsumexp, over.logp))
    logprobs = chosen_logprobs(name, over.logp, actions, EVERYWHERE, PLAIN)
    return Section(title, (logits, *steps, Row(over.p, "probability"), over.p_log_p, key(logprobs)))


def _counts() -> tuple[Block, ...]:
    """Counts what there is; a mean is over all steps of all environments."""
    environments, steps = PLAIN.one("count.environments", size(n)), PLAIN.one("count.steps", size(t))
    N, actions = PLAIN.one("count", environments * steps), PLAIN.one("count.actions", size(a))
    return environments, steps, N, actions


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
