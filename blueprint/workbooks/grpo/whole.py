"""The whole workbook: what stands before and after the steps, the same for every level at which one begins."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.inputs import Catalogue, Numbers
from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint, Row, Section, Sheet, key, minor
from blueprint.workbooks.common import (
    PRESET,
    Choices,
    Chosen,
    Identity,
    InView,
    Made,
    Preferred,
    Rows,
    Witnessed,
    checks,
    checks_sheet,
    chosen_of,
    conventions_sheet,
    facts_of,
    naming,
    presets_sheet,
    rows_on,
    start_sheet,
)
from blueprint.workbooks.common.conventions.data import Conventions
from blueprint.workbooks.grpo import first
from blueprint.workbooks.grpo.definitions.axes import i, n, q, t
from blueprint.workbooks.grpo.definitions.steps import FIXED, LABELS
from blueprint.workbooks.grpo.inputs import MODELS
from blueprint.workbooks.grpo.libraries import compared, offered
from blueprint.workbooks.grpo.steps import Derived, derived

SHEETS = {
    "Rewards": ("from the score of a response to the reward that its group sees", (n, t),
                ("The reward of a response", FIXED, "The KL to the reference, paid as reward")),
    "Groups": ("each response is compared with the others to its prompt: a column per response, prompts side by side", (q, i),
               ("The rewards of each group", "What is subtracted: the baseline", "What is divided by: the spread",
                "The advantage of each response", "Which responses are left", "Tokens that count, by prompt")),
    "Advantages": ("from the advantage of a response to that of each of its tokens", (n, t), ("The advantage of each token",)),
    "Ratio": ("how the policy in training compares with the one that wrote, and what becomes of the advantage", (n, t),
              ("The ratio", "Ratio times advantage, clipped", "Other objectives")),
    "Rollout": ("how much a token counts whose probability differs between trainer and generation engine", (n, t),
                ("Rollout correction",)),
    "Loss": ("which tokens count, with which weight, and what the loss is made of", (n, t),
             ("What the policy loss leaves out", "What counts", "How tokens are averaged", "The KL to the reference, in the loss",
              "The loss")),
    "Diagnostics": ("what one watches while training; none of it enters the loss", (n, t), ("What one watches",)),
}  # fmt: skip
"""Title, lead, columns and sections of each sheet of steps."""
LOOKED_FOR = (
    "reward.shaped", "kl_old.used", "reward", "group.reward", "group.baseline_used", "group.spread_used", "group.advantage",
    "advantages", "log_ratio", "ratio", "surrogate", "policy.token_loss", "rollout.counts", "loss.counted", "weight.policy.row",
    "kl_new.counts", "policy_loss", "adds.kl_loss", "adds.entropy", "total_loss", "group.share_same",
)  # fmt: skip
"""Rows that one looks for; they are marked."""
PLAIN = ("group.mean", "group.deviation", "group.less_baseline", "surrogate.unclipped", "surrogate.clipped", "ratio.clipped",
         "advantage.response", "policy.counts", "average.length", "clip.low", "clip.high")  # fmt: skip
"""Rows on the way that are not folded."""
EVERY_WORD = "every word"
"""Part of numbers that no file has: words that no library has are offered, too, for conventions of one's own beside them."""


@dataclass(frozen=True)
class Start:
    """Where a workbook begins: its numbers and conventions, what is given by name, and the sheets that come before the steps.

    sheets: those of inputs and models. names: what stands at the heads of columns. checked: what must be 0 besides what always
    must. By the names of blocks, typed: what stands in them; ranges: what may be typed there; words: those that hold tokens.
    placed: what else says, in the columns of groups, which response stands where.
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
    placed: tuple[Block, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


def chosen_in(numbers: Numbers, of: Catalogue) -> Chosen:
    """Makes the settings of a workbook, with the table of presets from which one picks."""
    return chosen_of(numbers.ppo, Conventions(True, numbers["preset"]), of=of)


def whole(start: Start, witnessed: Witnessed | None = None) -> Blueprint:
    """Outlines the workbook; with a witness's numbers, which stand beside the workbook's own on Checks, if there are any."""
    numbers, chosen, given, head = start.numbers, start.chosen, start.given, start.head
    made = derived(given, Choices(chosen.settings.used, chosen.settings.switch, labels=LABELS.labels))
    sheets = [*start.sheets, *_steps(made, start)]
    every = {**given, **rows_on(*sheets)}
    parts, pieces = first.pieces(first.PARTS, every), first.pieces(first.PIECES, every)
    shown = [piece.shown for piece in (*parts, *pieces)]
    residuals = [*start.checked, *_residuals(every, made, chosen)]
    checked, verdict, tolerances = checks_sheet(head.on("checks").rows, residuals, [], witnessed, shown)
    facts = facts_of(numbers.name, numbers.level) | {"preset": numbers["preset"], "conventions": "live"}
    told = Made(numbers.title, numbers.about, facts | dict(start.facts), first.SAYS)
    opening = start_sheet(told, parts, pieces, first.flow(every), verdict, first.choices_made(chosen))
    inputs, *others = sheets
    side_by_side, like = _libraries(start) if numbers["compare"] else ((), None)
    outline = Blueprint(
        title=numbers.title,
        sheets=(opening, conventions_sheet(chosen, ()), presets_sheet(chosen), inputs, *others, *side_by_side, checked),
        sizes={**start.sizes, PRESET: len(chosen.catalogue.presets)},
        typed=chosen.settings.typed | tolerances,
        names={**start.names, PRESET: chosen.table.names},
        choices={**chosen.settings.choices, **{given[name]: given["vocabulary"] for name in start.words}},
        ranges={**chosen.settings.ranges, **{given[name]: ends for name, ends in start.ranges.items()}},
        facts=told.facts,
        result=made.total.total.block,
        parts=tuple(part.block for part in made.total.parts),
        whole="batch",
    ).with_typed(start.typed)
    return outline if like is None else naming(outline, like, chosen, numbers["compare"])


def _libraries(start: Start) -> tuple[tuple[Sheet, ...], Preferred]:
    """Sets libraries side by side; where every word is to be offered, not only those that libraries have, the numbers say so."""
    words = {} if start.numbers.parts.get(EVERY_WORD) else offered(start.chosen.catalogue)
    return compared(start.given, start.chosen, start.head, words)


def _steps(made: Derived, start: Start) -> list[Sheet]:
    """Outlines the sheets of steps: rows that one looks for are marked, the others folded."""
    given, sheets = start.given, []
    for title, (lead, across, titles) in SHEETS.items():
        sections = tuple(Section(each, tuple(_row(row) for row in made.steps.sections[each])) for each in titles)
        if title == "Groups":
            below = (given["response.left"], given["response.is"], *start.placed)
            where = (Row(given["group.response"]), *map(minor, below))
            sections = (Section("Which response stands where", where), *sections)
        here = start.head.on(f"on_{title.lower()}") if across == (n, t) else None
        sheets.append(Sheet(title, lead, sections, across, here.rows if here else (), here.mask if here else None))
    return sheets


def _row(row: Block) -> Row:
    if row.name in LOOKED_FOR:
        return key(row)
    return Row(row) if row.name in PLAIN or not row.axes else minor(row)


def _residuals(rows: Rows, made: Derived, chosen: Chosen) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    return [
        *(checks.sums_to_one(name, rows[f"{name}.p"], LABELS) for name in MODELS if f"{name}.p" in rows),
        *(checks.not_positive(name, rows[f"{name}.logprobs"], LABELS) for name in MODELS),
        checks.parts_add_up([part.block for part in made.total.parts], made.total.total.block),
        checks.all_in_range(chosen.settings),
    ]
