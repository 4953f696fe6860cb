"""The sheets of steps: log-probs of responses, a column per token; and pairs, a column per pair."""

from dataclasses import dataclass

from blueprint.language import Axis, Block, needs
from blueprint.page.outline import Row, Section, Sheet, key, minor
from blueprint.workbooks.common import InView, Rows, behind
from blueprint.workbooks.dpo.definitions.axes import n, o, p, t
from blueprint.workbooks.dpo.definitions.watched import UNDER as WATCHED
from blueprint.workbooks.dpo.steps import Derived

LOOKED_FOR = (
    "policy.logp", "reference.logp", "chosen.logp", "rejected.logp", "chosen.ratio", "rejected.ratio", "margin", "margin.argument",
    "margin.right", "chosen.reward", "rejected.reward", "loss.pair", "weight.used", "kto.z", "nll", "preference_loss", "adds.nll",
    "total_loss", "rewards.chosen", "rewards.rejected", "rewards.margins", "rewards.accuracies",
)  # fmt: skip
"""Rows that one looks for; they are marked."""
PLAIN = ("policy.sum", "policy.count", "policy.mean", "chosen.logp_ref", "rejected.logp_ref", "margin.scaled", "loss.sigmoid",
         "loss.hinge", "loss.ipo", "loss.weighed", "loss.sure", "loss.unsure", "watch.right", "chosen.logged",
         "rejected.logged")  # fmt: skip
"""Rows on the way that are not folded."""


@dataclass(frozen=True)
class Outlined:
    """A sheet of steps: its title, lead, columns, and the titles of its sections."""

    title: str
    lead: str
    across: tuple[Axis, ...]
    of_pairs: bool


SHEETS = (
    Outlined("Log-probs", "from the log-prob of each token to that of a response", (n, t), False),
    Outlined("Pairs", "from the log-probs of both responses of a pair to its loss: a column per pair", (p,), True),
)


def step_sheets(made: Derived, given: Rows, head: InView) -> list[Sheet]:
    """Outlines the sheets of steps: rows that one looks for are marked, the others folded, and those that none reads left out."""
    watched = made.steps.sections[WATCHED]
    needed = behind([*watched, *(row for name, row in made.rows.items() if name in LOOKED_FOR)])
    sheets = []
    for each in SHEETS:
        sections = [
            Section(title, tuple(map(_row, found)))
            for title, rows in made.steps.sections.items()
            if (found := [row for row in rows if row in needed and of_pairs(row, rows) == each.of_pairs])
        ]
        if each.of_pairs:
            where = (Row(given["pair.column"]), *(minor(given[f"pair.{name}"]) for name in ("left", "same", "before")))
            sections = [Section("Which pair stands where", where), *sections]
        here = None if each.of_pairs else head.on(f"on_{each.title.lower()}")
        rows = here.rows if here else ()
        sheets.append(
            Sheet(each.title, each.lead, tuple(sections), each.across, rows, here.mask if here else None, closed=True)
        )
    return sheets


def of_pairs(row: Block, beside: list[Block]) -> bool:
    """Tells whether a row stands among columns of pairs: a column of pairs does where it is made of one, and a single number
    where any row of its section does."""
    if row.axes and row.axes[-1] is not o:
        return row.axes[-1] is p
    near = [need.read for need in needs(row)] if row.axes else beside
    return any(p in each.axes for each in near)


def _row(row: Block) -> Row:
    if row.name in LOOKED_FOR:
        return key(row)
    return Row(row) if row.name in PLAIN or not row.axes else minor(row)
