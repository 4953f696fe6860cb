"""What live conventions add to a workbook: sheets, walk, checks, and what is typed for them."""

from __future__ import annotations

from blueprint.inputs.catalogue import DEFAULT
from blueprint.language import Block
from blueprint.page.outline import Piece, Sheet
from blueprint.workbooks.common.conventions.data import Conventions
from blueprint.workbooks.common.conventions.inputs import Chosen, conventions_sheet, presets_sheet
from blueprint.workbooks.common.definitions.choices import ROWS, Choices
from blueprint.workbooks.common.definitions.reward import score_stays
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.settings import PRESET
from blueprint.workbooks.rlhf_ppo.live.libraries import compared
from blueprint.workbooks.rlhf_ppo.live.steps import live_steps
from blueprint.workbooks.rlhf_ppo.live.walk import walk_sections
from blueprint.workbooks.rlhf_ppo.steps import Models
from blueprint.workbooks.rlhf_ppo.whole import Plan

SHOWN = {
    "KL estimate": "kl_estimator",
    "the score lands on": "reward.score_slot",
    "whitening of the advantages": "whiten_advantages",
    "dual clip": "loss.dual_clip",
    "words are averaged": "loss.aggregation",
}
"""Conventions that the first sheet shows, under the names by which people ask for them."""


LOGGED = {"clip fraction": "clip_fraction.used", "approximate KL": "approx_kl.used", "explained variance": "ev.used"}
"""What is logged as the conventions count it, by the names of the first sheet."""


def live_plan(models: Models, chosen: Chosen, conventions: Conventions, inputs: Sheet, vocabulary: Block) -> Plan:
    """Takes the steps by the conventions in use, and what stands beside them."""
    live = live_steps(models, chosen.settings)
    names = conventions.compare or tuple(name for name in chosen.catalogue.presets if name != DEFAULT)
    beside = compared(live.batch, models.head, chosen, names)
    return Plan(
        steps=live.steps,
        chosen=chosen.settings,
        before=(conventions_sheet(chosen), presets_sheet(chosen), inputs),
        sums=live.batch.S,
        vocabulary=vocabulary,
        walk=walk_sections(live),
        use=Choices(chosen.settings.used, chosen.settings.switch, labels=labels("live")),
        floor=live.batch.floor,
        metrics=live.metrics.sections,
        checked_too=[score_stays(live.signal.counted.kept, live.signal.scored, ROWS)] if live.signal.scored else [],
        choices_made=_choices_made(chosen),
        logged={title: live.metrics.named[name] for title, name in LOGGED.items()},
        after=(beside.libraries, beside.which),
        typed=beside.typed,
        choices=beside.choices,
        sizes={PRESET: len(chosen.catalogue.presets)} | beside.sizes,
        names={PRESET: chosen.table.names} | beside.names,
        facts={"preset": conventions.preset, "conventions": "live"},
    )


def _choices_made(chosen: Chosen) -> tuple[Piece, ...]:
    """Lists which conventions are in use, for the first sheet."""
    used, preset = chosen.settings.used, chosen.table.chosen
    return Piece("preset in use", preset, preset, told=False), *(
        Piece(title, used[name], used[name], told=False) for title, name in SHOWN.items()
    )
