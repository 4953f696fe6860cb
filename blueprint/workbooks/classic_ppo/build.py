"""The blueprint of classic PPO: from rewards, values and scores of actions to the total loss."""

from dataclasses import replace

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Block, typed
from blueprint.page.outline import Blueprint, Line, Note, Section, Sheet
from blueprint.workbooks.classic_ppo.rollout import Blocks, a, choices_of, head, n, rollout, t
from blueprint.workbooks.classic_ppo.schema import CLASSIC, classic_presets
from blueprint.workbooks.classic_ppo.start import shown, start
from blueprint.workbooks.classic_ppo.steps import Derived, derived
from blueprint.workbooks.common import (
    EQUAL_RETURNS,
    PRESET,
    Choices,
    Identity,
    PresetTable,
    Settings,
    Witnessed,
    below,
    beside,
    checks,
    checks_sheet,
    facts_of,
    identities,
    preset_table,
    rows_on,
    settings,
    settings_sections,
)

LEAD = "the settings; everything else that is typed stands on Rollout"
PICK = "Pick a library: its settings fill the column “preset” below. Where something stands under “yours”, that is used instead."
OFF = "A limit may be the word off instead of a number: type off to switch one off. Then the step that it limits is not taken."
NORM = (
    "The norm of the value loss is built in, because another one has other rows: blueprint build --numbers classic "
    "--set ppo.value_norm=smooth_l1 (or l2)"
)
NORM_CHECK = "If norm_is asks for another norm than this one, the sheet Checks says LOOK."


def classic_ppo(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of classic PPO; the norm of the value loss is laid out as the numbers ask for it.

    witnessed: numbers of an outside witness, to stand beside the workbook's own on the sheet Checks.
    """
    preset = classic_presets().preset(numbers["preset"])
    table = preset_table(classic_presets(), preset.name)
    chosen = settings(numbers.ppo, CLASSIC, table)
    norm = str(numbers.ppo.get("value_norm", preset.values["value_norm"]))
    built = typed("value_norm.built", (), "norm_built", "norm of the value loss in this file", text=True)
    run, use = rollout(), choices_of(chosen, norm)
    made = derived(run, norm, use)
    blocks = rows_on(run, *made.sheets)
    parts, pieces = shown(blocks)
    outside = beside(witnessed, list(dict.fromkeys(each.shown for each in (*parts, *pieces)))) if witnessed else None
    checked, judged, tolerances = checks_sheet(
        head(blocks, "checks"),
        _residuals(blocks, made, chosen, built, use),
        identities(made.gae, blocks["advantage.rewards"], use),
        outside,
    )
    facts = facts_of(numbers.name, "classic") | {"preset": preset.name}
    first = start(numbers.title, numbers.about, facts, blocks, judged.verdict)
    environments, steps, actions = numbers["rollout.logits_old"].shape
    return Blueprint(
        title=numbers.title,
        sheets=(first, _inputs(table, chosen, built), run, *made.sheets, replace(checked, across=(n, t), grey=None)),
        sizes={n: environments, t: steps, a: actions, PRESET: len(classic_presets().presets)},
        typed=chosen.typed | tolerances | {built: norm, blocks["rounding"]: EQUAL_RETURNS},
        choices=chosen.choices,
        ranges=chosen.ranges
        | {blocks["actions"]: (0, actions - 1), blocks["done"]: (0, 1), blocks["terminated"]: (0, 1)},
        facts=facts,
        result=made.total.total,
        parts=made.total.parts,
        whole="batch",
    ).with_typed(_typed(numbers))


def _residuals(blocks: Blocks, made: Derived, chosen: Settings, built: Block, use: Choices) -> list[Block | Identity]:
    """Lists what must be 0."""
    gae, white, done, over = made.gae, made.white, blocks["advantage.done"], blocks["advantage.terminated"]
    return [
        checks.in_range("actions", blocks["actions"], 0, blocks["count.actions"] - 1, use),
        checks.is_0_or_1("done", done, over, use=use),
        below("check.terminated", done, over, use),
        checks.sums_to_one("old", blocks["old.p"], use),
        checks.sums_to_one("new", blocks["policy.p"], use),
        checks.not_negative("k3", blocks["policy_kl.k3"], use),
        checks.adds_up(gae.advantages, gae.V, gae.returns, use),
        checks.centred(white.whitened, white.of.counting, use),
        checks.parts_add_up(made.total.parts, made.total.total),
        checks.all_in_range(chosen),
        checks.as_built(chosen.used["value_norm"], built, use),
    ]


def _typed(numbers: Numbers) -> dict[str, object]:
    """Lists what is given; the value after the last step stands in the end column of the old values."""
    return {name: numbers[f"rollout.{name}"] for name in ("rewards", "done", "terminated")} | {
        "actions": np.array(numbers["rollout.actions"], dtype=float),
        "values.old": np.column_stack([numbers["rollout.values_old"], numbers["rollout.next_values"]]),
        "values.new": numbers["rollout.values_new"],
        "old.logits": numbers["rollout.logits_old"],
        "policy.logits": numbers["rollout.logits_new"],
    }


def _inputs(table: PresetTable, chosen: Settings, norm: Block) -> Sheet:
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
    return Sheet("Inputs", LEAD, sections, widths=(13,) * 8, first=0)
