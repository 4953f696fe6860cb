"""The whole workbook: what stands before and after the steps, the same for every level at which one begins."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.inputs import Catalogue, Numbers
from blueprint.language import Axis, Block, needs
from blueprint.page.outline import Blueprint, Row, Section, Sheet, key, minor
from blueprint.workbooks.common import (
    PRESET,
    Choices,
    Chosen,
    Identity,
    InView,
    Made,
    Rows,
    Witnessed,
    behind,
    checks,
    checks_sheet,
    chosen_of,
    conventions_sheet,
    facts_of,
    presets_sheet,
    rows_on,
    start_sheet,
    walk,
)
from blueprint.workbooks.common.conventions.data import Conventions
from blueprint.workbooks.dpo import first
from blueprint.workbooks.dpo.definitions.axes import n, o, p, t
from blueprint.workbooks.dpo.definitions.steps import LABELS
from blueprint.workbooks.dpo.definitions.watched import UNDER as WATCHED
from blueprint.workbooks.dpo.inputs import MODELS
from blueprint.workbooks.dpo.offered import completed
from blueprint.workbooks.dpo.sheets import charts_of, walk_of
from blueprint.workbooks.dpo.steps import Derived, derived

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


@dataclass(frozen=True)
class Start:
    """Where a workbook begins: its numbers and conventions, what is given by name, and the sheets that come before the steps.

    sheets: those of inputs and models. names: what stands at the heads of columns. checked: what must be 0 besides what always
    must. By the names of blocks, typed: what stands in them; ranges: what may be typed there; words: those that hold tokens.
    per: what a log-prob is of, where log-probs are all that is known of the models.
    """

    numbers: Numbers
    chosen: Chosen
    given: Rows
    head: InView
    sheets: tuple[Sheet, ...]
    sizes: Mapping[Axis, int]
    names: Mapping[Axis, Block | str]
    checked: tuple[Block, ...]
    typed: Mapping[str, object]
    ranges: Mapping[str, tuple[float, float]]
    words: tuple[str, ...]
    per: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


def chosen_in(numbers: Numbers, of: Catalogue) -> Chosen:
    """Makes the settings of a workbook, with the table of presets."""
    return chosen_of(numbers.ppo, Conventions(True, numbers["preset"]), of=of)


def whole(start: Start, witnessed: Witnessed | None = None) -> Blueprint:
    """Outlines the workbook; with a witness's numbers, which stand beside the workbook's own on Checks, if there are any."""
    numbers, chosen, given, head = start.numbers, start.chosen, start.given, start.head
    use = Choices(chosen.settings.used, chosen.settings.switch, labels=LABELS.labels)
    use = completed(use, start.per) if start.per else use
    made = derived(given, use)
    sheets = [*start.sheets, *_steps(made, given, head)]
    every = {**given, **rows_on(*sheets)}
    walked, picked, first_pair = walk_of(every)
    pictures, drawn = charts_of(every, use)
    opening, checked, tolerances = _judged(start, every, [*start.checked, *_residuals(every, made, chosen)], witnessed)
    return Blueprint(
        title=numbers.title,
        sheets=(opening, walked, conventions_sheet(chosen, ()), presets_sheet(chosen), *sheets, checked, pictures),
        sizes={**start.sizes, PRESET: len(chosen.catalogue.presets)},
        typed=chosen.settings.typed | tolerances | first_pair | dict(drawn),
        names={**start.names, PRESET: chosen.table.names},
        choices={**chosen.settings.choices, **{given[name]: given["vocabulary"] for name in start.words}},
        ranges={
            **chosen.settings.ranges,
            **walk.ranges(picked),
            **{given[name]: ends for name, ends in start.ranges.items()},
        },
        facts=_facts(start),
        result=made.total.total.block,
        parts=tuple(part.block for part in made.total.parts),
        chosen=picked,
        whole="batch",
        heads={n: _heads(start.typed)},
    ).with_typed(start.typed)


def _judged(
    start: Start, rows: Rows, residuals: list[Block | Identity], witnessed: Witnessed | None
) -> tuple[Sheet, Sheet, dict[Block, object]]:
    """Outlines Start and Checks; returns them, and the tolerances that are typed."""
    numbers, parts, pieces = start.numbers, first.pieces(first.PARTS, rows), first.pieces(first.PIECES, rows)
    shown = [piece.shown for piece in (*parts, *pieces)]
    checked, verdict, tolerances = checks_sheet(start.head.on("checks").rows, residuals, [], witnessed, shown)
    told = Made(numbers.title, numbers.about, _facts(start), first.SAYS)
    opening = start_sheet(told, parts, pieces, first.flow(rows), verdict, first.choices_made(start.chosen))
    return opening, checked, tolerances


def _facts(start: Start) -> dict[str, str]:
    """Returns what the workbook says of its own making."""
    known = facts_of(start.numbers.name, start.numbers.level)
    return known | {"preset": start.numbers["preset"], "conventions": "live"} | dict(start.facts)


def _heads(given: Mapping[str, object]) -> list[str]:
    """Says above the columns of each response which one of which pair it is."""
    words = ("rejected", "chosen")
    numbers, good = (list(given[name]) for name in ("pair.number", "response.chosen"))  # type: ignore[call-overload]
    return [f"pair {pair:.0f}, {words[int(is_chosen)]}" for pair, is_chosen in zip(numbers, good, strict=True)]


def _steps(made: Derived, given: Rows, head: InView) -> list[Sheet]:
    """Outlines the sheets of steps: rows that one looks for are marked, the others folded, and those that none reads left out."""
    watched = made.steps.sections[WATCHED]
    needed = behind([*watched, *(row for name, row in made.rows.items() if name in LOOKED_FOR)])
    sheets = []
    for each in SHEETS:
        sections = [
            Section(title, tuple(map(_row, found)))
            for title, rows in made.steps.sections.items()
            if (found := [row for row in rows if row in needed and _of_pairs(row, rows) == each.of_pairs])
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


def _of_pairs(row: Block, beside: list[Block]) -> bool:
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


def _residuals(rows: Rows, made: Derived, chosen: Chosen) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    return [
        *(checks.sums_to_one(name, rows[f"{name}.p"], LABELS) for name in MODELS if f"{name}.p" in rows),
        *(checks.not_positive(name, rows[f"{name}.logprobs"], LABELS) for name in MODELS if f"{name}.logprobs" in rows),
        checks.parts_add_up([part.block for part in made.total.parts], made.total.total.block),
        checks.all_in_range(chosen.settings),
    ]
