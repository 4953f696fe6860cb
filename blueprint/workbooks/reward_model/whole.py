"""The whole workbook: what stands before and after the steps, the same for both levels."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.inputs import Numbers
from blueprint.language import Axis, Block, Sum, link, maximum
from blueprint.page.outline import Blueprint, Row, Section, Sheet, Table, key, minor
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
    conventions_in_use,
    conventions_sheet,
    facts_of,
    presets_sheet,
    rows_on,
    start_sheet,
)
from blueprint.workbooks.common.conventions.data import Conventions
from blueprint.workbooks.reward_model import first
from blueprint.workbooks.reward_model.charts import charts_of
from blueprint.workbooks.reward_model.definitions.axes import n, o, p, q, t, u, v
from blueprint.workbooks.reward_model.definitions.steps import LABELS
from blueprint.workbooks.reward_model.inputs import inputs_sheet, rankings_sheet
from blueprint.workbooks.reward_model.overflow import CASES, c, overflow_sheet
from blueprint.workbooks.reward_model.schema import rm_presets
from blueprint.workbooks.reward_model.steps import Derived, derived

LOOKED_FOR = (
    "score", "read.here", "chosen.score", "rejected.score", "difference", "probability", "argument", "loss.pair", "preference_loss",
    "total_loss", "accuracy", "rewards.margins", "position.mean", "shifted.difference",
)  # fmt: skip
"""Rows that one looks for; they are marked."""
PLAIN = ("score.used", "score.centred", "score.standard", "loss.logsigmoid", "right", "margin.used", "center.square",
         "scaled.difference", "scaled.probability", "ranking.mean", "position.counted", "position.loss")  # fmt: skip
"""Rows on the way that are not folded."""
LEADS = {
    "Scores": "from the score after each token to the score of the response: where it is read",
    "Positions": "DeepSpeed-Chat and trlX: both texts of a pair (a row each), position by position; no other form reads it",
    "Pairs": "from the scores of both responses of a pair to its loss: a column per pair",
}


@dataclass(frozen=True)
class Start:
    """Where a workbook begins: its numbers, what is given by name, and the sheets of models that come before the steps.

    given: `head` among it, the score after every token. words: the name of the typed texts. typed: what stands in blocks, by name.
    """

    numbers: Numbers
    given: Rows
    words: str
    models: tuple[Sheet, ...]
    sizes: Mapping[Axis, int]
    typed: Mapping[str, object]
    names: Mapping[Axis, Block | str] = field(default_factory=dict)


def whole(start: Start, witnessed: Witnessed | None = None) -> Blueprint:
    """Outlines the workbook; with a witness's numbers, which stand beside the workbook's own on Checks, if there are any."""
    numbers, given = start.numbers, start.given
    chosen = chosen_of(numbers.ppo, Conventions(True, numbers["preset"]), of=rm_presets())
    made = derived(given, Choices(chosen.settings.used, chosen.settings.switch, labels=LABELS.labels))
    head = InView(given[start.words], given["text.there"])
    overflow, cases = overflow_sheet(given)
    inputs, pairs = inputs_sheet(given, start.words, made.steps), rankings_sheet(given, made.steps)
    sheets = [inputs, pairs, *start.models, *_steps(made, given, head), overflow]
    rows = {**given, **rows_on(*sheets)}
    opening, checked, tolerances = _judged(start, chosen, rows, made, witnessed)
    pictures, drawn = charts_of(rows, head.on("charts").rows)
    vocabulary = given["vocabulary"]
    return Blueprint(
        title=numbers.title,
        sheets=(opening, conventions_sheet(chosen, ()), presets_sheet(chosen), *sheets, checked, pictures),
        sizes={**start.sizes, **_sizes(numbers), c: len(CASES), PRESET: len(chosen.catalogue.presets)},
        typed={**chosen.settings.typed, **tolerances, **cases, **drawn},
        names={**start.names, v: vocabulary, PRESET: chosen.table.names},
        choices={**chosen.settings.choices, given[start.words]: vocabulary, given["text.end"]: vocabulary},
        ranges={**chosen.settings.ranges, given["pair.counts"]: (0, 1),
                **{given[f"{side}.number"]: (1, len(numbers["text.texts"])) for side in ("chosen", "rejected")}},
        facts=_facts(start),
        result=made.total.total.block,
        parts=tuple(part.block for part in made.total.parts),
        whole="batch",
        heads={n: [f"response {number}" for number in range(1, 1 + len(numbers["text.texts"]))]},
    ).with_typed(start.typed)  # fmt: skip


def _sizes(numbers: Numbers) -> dict[Axis, int]:
    """Counts pairs, rankings (a pair that comes from none is one of its own) and tokens of the vocabulary."""
    pairs = len(numbers["pairs.chosen"])
    return {p: pairs, q: pairs, v: len(numbers["text.vocabulary"])}


def _facts(start: Start) -> dict[str, str]:
    """Returns what the workbook says of its own making."""
    known = facts_of(start.numbers.name, start.numbers.level)
    return known | {"preset": start.numbers["preset"], "conventions": "live"}


def _judged(
    start: Start, chosen: Chosen, rows: Rows, made: Derived, witnessed: Witnessed | None
) -> tuple[Sheet, Sheet, dict[Block, object]]:
    """Outlines Start and Checks; returns them, and the tolerances that are typed."""
    numbers, parts, pieces = start.numbers, first.pieces(first.PARTS, rows), first.pieces(first.PIECES, rows)
    shown = [piece.shown for piece in (*parts, *pieces)]
    residuals = _residuals(rows, made, chosen)
    words = link("on_checks.word", rows[start.words]), link("on_checks.text", rows["text.there"])
    checked, verdict, tolerances = checks_sheet(words, residuals, [], witnessed, shown)
    told = Made(numbers.title, numbers.about, _facts(start), first.SAYS)
    opening = start_sheet(told, parts, pieces, first.flow(rows), verdict, conventions_in_use(chosen, first.SHOWN))
    return opening, checked, tolerances


def _residuals(rows: Rows, made: Derived, chosen: Chosen) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    places = LABELS.along(
        "check.places", (o,), sum((abs(Sum(n, rows[f"{side}.is"][o, n]) - 1) for side in ("chosen", "rejected")), 0)
    )
    apart, shifted = made.compared.difference, made.shifted
    off = abs(shifted[p] - apart[p]) / maximum(1, abs(apart[p]))
    return [
        places,
        checks.is_0_or_1("counts", rows["pair.counts"], use=LABELS),
        LABELS.along("check.shift", (p,), off),
        checks.parts_add_up([part.block for part in made.total.parts], made.total.total.block),
        checks.all_in_range(chosen.settings),
    ]


def _steps(made: Derived, given: Rows, head: InView) -> list[Sheet]:
    """Outlines the sheets of steps: rows that one looks for are marked, the others folded."""
    steps, here = made.steps, head.on("on_scores")
    column = link("on_pairs.column", given["pair.column"])
    sections = {
        title: [Section(each, tuple(map(_row, steps.sections[each]))) for each in steps.sheets[title]]
        for title in LEADS
    }
    if "head" in given and given["head"].typed:
        sections["Scores"].insert(0, Section("The score after each token", (given["head"],)))
    return [
        Sheet("Scores", LEADS["Scores"], tuple(sections["Scores"]), (n, t), here.rows, here.mask, closed=True),
        Sheet("Positions", LEADS["Positions"], tuple(sections["Positions"]), closed=True),
        Sheet("Pairs", LEADS["Pairs"], tuple(sections["Pairs"]), (p,), (column,), closed=True),
    ]


def _row(row: Block) -> Row | Table:
    if row.axes[:1] == (o,) and row.axes[-1] is u:
        return Table(row, u, "plain")
    if row.name in LOOKED_FOR:
        return key(row)
    return Row(row) if row.name in PLAIN or not row.axes else minor(row)
