"""Reward & advantage: from one score at the end to a learning signal for every word."""

from __future__ import annotations

from typing import Any

from blueprint.language import link
from blueprint.page.outline import Sheet
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import rows
from blueprint.workbooks.common.sheets.head import InView
from blueprint.workbooks.common.sheets.signal import LEAD, TITLE, sections
from blueprint.workbooks.common.signal import Given, Signal

LINKED = {"logp_old": "logp_old", "logp_ref": "logp_ref", "placed": "score", "values": "values", "exact": "exact_kl"}
"""What comes from other sheets, and what it is called on this one."""


def linked(given: Given) -> Given:
    """Repeats what comes from other sheets, as far as it is there."""
    there = {name: getattr(given, name) for name in LINKED}
    again: dict[str, Any] = {
        name: link(f"signal.{LINKED[name]}", row) for name, row in there.items() if row is not None
    }
    slots = given.slots and given.slots._replace(S=link("signal.S", given.slots.S))
    return given._replace(slots=slots, **again)


def signal_sheet(made: Signal, head: InView) -> Sheet:
    """Outlines the sheet; `head` stays in view."""
    return Sheet(TITLE, LEAD, tuple(sections(made)), (n, t), rows(*head.rows), head.mask)
