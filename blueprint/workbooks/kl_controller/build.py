"""The workbook of the adaptive KL controller: its sheets, its numbers, its checks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Block, link
from blueprint.page.outline import Blueprint, Judged, Note, Piece, Section, Sheet, Tour, Unchanged, key
from blueprint.workbooks.common.definitions import Identity, Master, all_in_range, not_negative
from blueprint.workbooks.common.facts import facts_of
from blueprint.workbooks.common.settings import Settings, settings, settings_sections
from blueprint.workbooks.common.sheets import (
    CHECKING,
    COLUMNS,
    LEGEND,
    WIDTHS,
    Beside,
    Made,
    Witnessed,
    beside,
    checks_sheet,
    made_by,
)
from blueprint.workbooks.kl_controller import definitions as controller
from blueprint.workbooks.kl_controller.definitions import Controlled, Fed, i, u
from blueprint.workbooks.kl_controller.schema import CONTROLLER

HEADING = "The adaptive KL controller by hand"
READING = (
    "RLHF charges a price β for drifting from the reference. With a fixed β one gets the KL that one gets; the controller turns",
    "this round: one names the KL, and β follows it, update by update. By default in lm-human-preferences and TRL 0.7 to 0.11.4.",
    "A column is one update, made after one batch of responses. Type into cream cells; everything else follows.",
)
STATISTICS = (
    "seq_sum: the KL summed over the words of a response, then the mean over responses (lm-human-preferences cbfd210, TRL 0.11.4).",
    "token_mean: the mean over the words of a response, then the mean over responses (OpenRLHF 0.11.2, verl 0.9.1).",
    "The target is in the same unit: 6 nats per response, or about 0.1 nats per word. With the wrong one β only shrinks, or grows.",
    "trlX 3340c2f feeds the mean sum of k3 with its ratio the wrong way round, prompt words included, once per inner epoch.",
    "OpenRLHF, verl and trlX keep β fixed unless a target is set; TRL 1.12, DeepSpeed-Chat, NeMo and torchtune always do.",
)
ORDER = (
    "The rewards of a batch are made with the old β; only then is β updated by the KL of that batch. Both stand here."
)
SHOWN = "These responses stand for the n of a batch: only their mean enters."
WAYS = tuple(text for text in CHECKING if "blueprint explain" not in text)
LOOKS = tuple(look for look in LEGEND if look.role in ("line", "fixed", "", "key", "edge") and not look.faded)
LONGEST = 1_000_000


def kl_controller(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of the adaptive KL controller; with a witness's number beside β after all updates if there is one."""
    chosen = settings(numbers.ppo, CONTROLLER)
    given = controller.fed(chosen)
    made = controller.controlled(given.used, chosen)
    outside = beside(witnessed, [made.final]) if witnessed else None
    checked, judged, tolerances = _checks(given, made, chosen, outside)
    facts = facts_of(numbers.name, "controller")
    told = Made(numbers.title, numbers.about, facts)
    lead = "the settings; the KL of the responses is typed on Controller"
    inputs = Sheet("Inputs", lead, (*settings_sections(chosen), _statistics()), widths=(12,) * 8)
    return Blueprint(
        title=numbers.title,
        sheets=(_start(told, made, judged.verdict), inputs, _controller(given, made), checked),
        sizes={u: len(numbers["responses.kl_sums"]), i: len(numbers["responses.kl_sums"][0])},
        typed=chosen.typed | tolerances | _typed(numbers, given),
        choices=chosen.choices,
        ranges=chosen.ranges | {given.lengths: (1, LONGEST)},
        facts=facts,
        result=made.final,
    )


def _typed(numbers: Numbers, given: Fed) -> dict[Block, object]:
    return {
        given.sums: numbers["responses.kl_sums"],
        given.lengths: np.array(numbers["responses.lengths"], dtype=float),
    }


def _statistics() -> Section:
    return Section("What libraries feed", tuple(map(Note, STATISTICS)))


def _controller(given: Fed, made: Controlled) -> Sheet:
    """Outlines the sheet from the KL of responses to β."""
    sections = (
        Section("The KL of the responses of each batch", (Note(SHOWN), given.sums, given.lengths, given.responses)),
        Section("The one number that is fed", (given.seq_sum, given.per_word, given.token_mean, key(given.used))),
        Section("How far off the target, and by how much β changes", (made.raw, key(made.error), key(made.factor))),
        Section("β before and after the update", (Note(ORDER), key(made.before), key(made.after))),
        Section("After all updates", (made.updates, made.last, key(made.final))),
    )
    lead = "from the KL of a batch of responses to the price β that the next batch pays"
    return Sheet("Controller", lead, sections, (u,))


def _checks(
    given: Fed, made: Controlled, chosen: Settings, outside: Beside | None
) -> tuple[Sheet, Master, dict[Block, object]]:
    """Outlines the sheet of checks over the updates."""
    all_factors, product = controller.product(made, chosen)
    residuals = [
        controller.too_far(made.factor, chosen),
        controller.wrong_way(made, given.used, chosen),
        not_negative("positive", made.after),
        controller.too_short(given.lengths),
        all_in_range(chosen),
    ]
    head = (link("checks.kl", given.used),)
    sheet, judged, tolerances = checks_sheet(head, residuals, [Identity((all_factors,), product)], outside)
    return replace(sheet, across=(u,), grey=None), judged, tolerances


def _start(told: Made, made: Controlled, verdict: Block) -> Sheet:
    """Outlines the first sheet."""
    sections = (
        Section("What this is", tuple(map(Note, READING))),
        Section(
            "Does everything add up?",
            (Judged("all checks", verdict), Unchanged("inputs, against those delivered")),
        ),
        Section(
            "What comes of it",
            (Piece("β after all updates", made.final, made.after, of="the last of its row"),),
            COLUMNS,
        ),
        Section("The sheets", (Tour(),)),
        Section("Colours", LOOKS),
        Section("How to check this file", (*map(Note, WAYS), Note(made_by(told.facts)))),
    )
    return Sheet("Start", f"{told.title}: {told.about}", sections, widths=WIDTHS, heading=HEADING, first=None)
