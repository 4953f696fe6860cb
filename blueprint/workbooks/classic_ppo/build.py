"""The blueprint of classic PPO: from rewards, values and scores of actions to the total loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint, Sheet
from blueprint.workbooks.classic_ppo import inputs
from blueprint.workbooks.classic_ppo.axes import a, n, t
from blueprint.workbooks.classic_ppo.loss import Loss, loss
from blueprint.workbooks.classic_ppo.metrics import Metrics, metrics
from blueprint.workbooks.classic_ppo.presets import CLASSIC, classic_presets
from blueprint.workbooks.classic_ppo.rollout import Rollout, rollout
from blueprint.workbooks.classic_ppo.signal import Signal, signal
from blueprint.workbooks.classic_ppo.start import shown_on_start, start_sheet
from blueprint.workbooks.classic_ppo.use import use_of
from blueprint.workbooks.common.definitions import checks
from blueprint.workbooks.common.definitions.checks import Master
from blueprint.workbooks.common.definitions.identities import Identity, identities
from blueprint.workbooks.common.definitions.metrics import EQUAL_RETURNS, below
from blueprint.workbooks.common.facts import facts_of
from blueprint.workbooks.common.settings import PRESET, Settings, preset_table, settings
from blueprint.workbooks.common.sheets.checks import checks_sheet
from blueprint.workbooks.common.sheets.start import Made
from blueprint.workbooks.common.sheets.witness_section import Beside, Witnessed, beside


def classic_ppo(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of classic PPO; the norm of the value loss is laid out as the numbers ask for it.

    witnessed: numbers of an outside witness, to stand beside the workbook's own on the sheet Checks.
    """
    preset = classic_presets().preset(numbers["preset"])
    table = preset_table(classic_presets(), preset.name)
    chosen = settings(numbers.ppo, CLASSIC, table)
    norm, built = str(numbers.ppo.get("value_norm", preset.values["value_norm"])), inputs.built_norm()
    run = rollout()
    made = signal(run, chosen)
    use = use_of(chosen, norm)
    losses = loss(run, made, norm, use)
    watch = metrics(run, made, losses, use)
    outside = beside(witnessed, shown_on_start(run, made, losses, watch)) if witnessed else None
    checked, judged, tolerances = _checks(run, made, losses, watch, chosen, built, outside)
    facts = facts_of(numbers.name, "classic") | {"preset": preset.name}
    start = start_sheet(Made(numbers.title, numbers.about, facts), run, made, losses, watch, judged.verdict)
    inputs_sheet = inputs.inputs_sheet(table, chosen, built)
    return Blueprint(
        title=numbers.title,
        sheets=(start, inputs_sheet, run.sheet, made.sheet, losses.sheet, watch.sheet, checked),
        sizes=_sizes(numbers),
        typed=chosen.typed | tolerances | {built: norm} | _typed(numbers, run, watch),
        choices=chosen.choices,
        ranges=chosen.ranges | _ranges(numbers, run),
        facts=facts,
        result=losses.made.total.total,
        parts=losses.made.total.parts,
        whole="batch",
    )


def _checks(
    run: Rollout,
    made: Signal,
    losses: Loss,
    watch: Metrics,
    chosen: Settings,
    built: Block,
    outside: Beside | None,
) -> tuple[Sheet, Master, dict[Block, object]]:
    """Outlines the sheet of checks over this blueprint's own directions."""
    use = use_of(chosen)
    residuals: list[Block | Identity] = [
        checks.in_range("actions", run.head.actions, 0, run.counts.actions - 1, use),
        checks.is_0_or_1("done", *made.ends, use=use),
        below("check.terminated", made.ends.done, made.ends.terminated, use),
        checks.sums_to_one("old", run.old.over.p, use),
        checks.sums_to_one("new", run.new.over.p, use),
        checks.not_negative("k3", watch.named["policy_kl.k3"], use),
        checks.adds_up(made.gae.advantages, made.gae.V, made.gae.returns, use),
        checks.centred(made.white.whitened, made.white.of.counting, use),
        checks.parts_add_up(losses.made.total.parts, losses.made.total.total),
        checks.all_in_range(chosen),
        checks.as_built(chosen.used["value_norm"], built, use),
    ]
    known = identities(made.gae, made.rewards, use)
    sheet, judged, tolerances = checks_sheet(run.head.on("checks"), residuals, known, outside)
    return replace(sheet, across=(n, t), grey=None), judged, tolerances


def _sizes(numbers: Numbers) -> dict[Axis, int]:
    """Reads how many environments, steps, actions and presets there are."""
    environments, steps, actions = numbers["rollout.logits_old"].shape
    return {n: environments, t: steps, a: actions, PRESET: len(classic_presets().presets)}


def _ranges(numbers: Numbers, run: Rollout) -> dict[Block, tuple[float, float]]:
    """Returns what may be typed besides the settings."""
    last = numbers["rollout.logits_old"].shape[-1] - 1
    return {run.head.actions: (0, last), run.head.done: (0, 1), run.terminated: (0, 1)}


def _typed(numbers: Numbers, run: Rollout, watch: Metrics) -> dict[Block, object]:
    """Lists what is given; the value after the last step stands in the end column of V_old."""
    values = np.column_stack([numbers["rollout.values_old"], numbers["rollout.next_values"]])
    return {
        run.head.actions: np.array(numbers["rollout.actions"], dtype=float),
        run.head.done: numbers["rollout.done"],
        run.rewards: numbers["rollout.rewards"],
        run.terminated: numbers["rollout.terminated"],
        run.V_old: values,
        run.V_new: numbers["rollout.values_new"],
        run.old.over.logits: numbers["rollout.logits_old"],
        run.new.over.logits: numbers["rollout.logits_new"],
        watch.named["rounding"]: EQUAL_RETURNS,
    }
