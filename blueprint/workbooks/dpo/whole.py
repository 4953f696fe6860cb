"""The blueprint of DPO and its relatives, from the logits of pairs to the loss."""

from dataclasses import dataclass

import numpy as np

from blueprint.inputs import Numbers
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
    checks,
    checks_sheet,
    chosen_of,
    conventions_sheet,
    facts_of,
    presets_sheet,
    rows_on,
    start_sheet,
)
from blueprint.workbooks.common.conventions.data import Conventions
from blueprint.workbooks.dpo import first
from blueprint.workbooks.dpo.definitions.axes import n, o, p, t, v
from blueprint.workbooks.dpo.definitions.steps import LABELS
from blueprint.workbooks.dpo.inputs import MODELS, inputs_sheet, model_sheet, texts
from blueprint.workbooks.dpo.schema import TYPED, dpo_presets
from blueprint.workbooks.dpo.steps import Derived, derived

LOOKED_FOR = (
    "policy.logp", "reference.logp", "chosen.logp", "rejected.logp", "chosen.ratio", "rejected.ratio", "margin", "margin.argument",
    "margin.right", "chosen.reward", "rejected.reward", "loss.pair", "weight.used", "kto.z", "nll", "preference_loss", "adds.nll",
    "total_loss", "rewards.chosen", "rewards.rejected", "rewards.margins", "rewards.accuracies",
)  # fmt: skip
"""Rows that one looks for; they are marked."""
PLAIN = ("policy.sum", "policy.count", "policy.mean", "chosen.logp_ref", "rejected.logp_ref", "margin.scaled", "loss.sigmoid",
         "loss.hinge", "loss.ipo", "loss.weighed", "watch.right", "chosen.logged", "rejected.logged")  # fmt: skip
"""Rows on the way that are not folded."""


WRITTEN, MASKS = ("word_written", "mismatched.word_written"), ("mask", "text.mask", "mismatched.tokens")
"""Typed rows: of tokens, and of 0 and 1."""


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


def pairs_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    chosen = chosen_of(numbers.ppo, Conventions(True, numbers["preset"]), of=dpo_presets())
    given = dict(texts())
    inputs, head = inputs_sheet(given), InView(given["word_written"], given["response.tokens"])
    models = {name: model_sheet(name, given, head) for name in MODELS}
    for _, rows in models.values():
        given |= rows
    made = derived(given, Choices(chosen.settings.used, chosen.settings.switch, labels=LABELS.labels))
    sheets = [*(sheet for sheet, _ in models.values()), *_steps(made, given, head)]
    every = {**given, **rows_on(*sheets)}
    parts, pieces = first.pieces(first.PARTS, every), first.pieces(first.PIECES, every)
    shown = [piece.shown for piece in (*parts, *pieces)]
    checked, verdict, tolerances = checks_sheet(
        head.on("checks").rows, _residuals(every, made, chosen), [], witnessed, shown
    )
    facts = facts_of(numbers.name, numbers.level) | {"preset": numbers["preset"], "conventions": "live"}
    told = Made(numbers.title, numbers.about, facts, first.SAYS)
    opening = start_sheet(told, parts, pieces, first.flow(every), verdict, first.choices_made(chosen))
    return Blueprint(
        title=numbers.title,
        sheets=(opening, conventions_sheet(chosen, ()), presets_sheet(chosen), inputs, *sheets, checked),
        sizes=_sizes(numbers),
        typed=chosen.settings.typed | tolerances,
        names={v: given["vocabulary"], PRESET: chosen.table.names},
        choices={**chosen.settings.choices, **{given[name]: given["vocabulary"] for name in WRITTEN}},
        ranges={**chosen.settings.ranges, **{given[name]: (0, 1) for name in (*MASKS, "response.chosen")}},
        facts=facts,
        result=made.total.total.block,
        parts=tuple(part.block for part in made.total.parts),
        whole="batch",
        heads={n: _heads(numbers)},
    ).with_typed(_typed(numbers))


def _sizes(numbers: Numbers) -> dict[Axis, int]:
    """Counts the members of every axis."""
    responses, positions, tokens = np.shape(numbers["policy.logits"])
    return {n: responses, p: responses // 2, t: positions, v: tokens, PRESET: len(dpo_presets().presets)}


def _heads(numbers: Numbers) -> list[str]:
    """Says above the columns of each response which one of which pair it is."""
    words = ("rejected", "chosen")
    return [
        f"pair {pair}, {words[int(good)]}"
        for pair, good in zip(numbers["text.pair"], numbers["text.chosen"], strict=True)
    ]


def _typed(numbers: Numbers) -> dict[str, object]:
    """Lists what is typed by the names of its blocks; a column of Pairs is the pair of its number."""
    given = {name: _array(numbers[key]) for key, name in TYPED.items()}
    return {**given, "pair.column": np.arange(1.0, 1 + len(numbers["text.pair"]) // 2)}


def _array(value: object) -> object:
    return np.array(value, dtype=object) if isinstance(value, tuple) else value


def _steps(made: Derived, given: Rows, head: InView) -> list[Sheet]:
    """Outlines the sheets of steps: rows that one looks for are marked, the others folded."""
    sheets = []
    for each in SHEETS:
        sections = [
            Section(title, tuple(map(_row, found)))
            for title, rows in made.steps.sections.items()
            if (found := [row for row in rows if _of_pairs(row, rows) == each.of_pairs])
        ]
        if each.of_pairs:
            where = (Row(given["pair.column"]), *(minor(given[f"pair.{name}"]) for name in ("left", "same", "before")))
            sections = [Section("Which pair stands where", where), *sections]
        here = None if each.of_pairs else head.on(f"on_{each.title.lower()}")
        rows = here.rows if here else ()
        sheets.append(Sheet(each.title, each.lead, tuple(sections), each.across, rows, here.mask if here else None))
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
    """Lists what must be 0."""
    return [
        checks.is_0_or_1("mask", *(rows[name] for name in MASKS), use=LABELS),
        *(checks.sums_to_one(name, rows[f"{name}.p"], LABELS) for name in MODELS),
        *(checks.not_positive(name, rows[f"{name}.logprobs"], LABELS) for name in MODELS),
        checks.parts_add_up([part.block for part in made.total.parts], made.total.total.block),
        checks.all_in_range(chosen.settings),
    ]
