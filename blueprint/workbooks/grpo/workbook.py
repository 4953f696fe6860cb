"""The whole workbook of GRPO, the same for every level: what stands before and after the steps, and the gradient of the loss."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.inputs import Catalogue, Numbers
from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint, Sheet
from blueprint.workbooks.common import (
    PRESET,
    Backward,
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
    conventions_in_use,
    conventions_sheet,
    facts_of,
    naming,
    of_policy,
    offered,
    presets_sheet,
    rows_on,
    start_sheet,
    walk,
    with_library_gradients,
)
from blueprint.workbooks.common.conventions import Conventions
from blueprint.workbooks.common.numbers_file import EVERY_WORD
from blueprint.workbooks.grpo.definitions import Derived, derived
from blueprint.workbooks.grpo.definitions.group_advantages import LABELS, Steps, i, n, q
from blueprint.workbooks.grpo.definitions.losses import seen
from blueprint.workbooks.grpo.libraries import WHICH_TITLE, compared
from blueprint.workbooks.grpo.schema import completed
from blueprint.workbooks.grpo.sheets import MODELS, charts_of, step_sheets, walk_of
from blueprint.workbooks.grpo.start import PARTS, PIECES, SAYS, SHOWN, flow, pieces_of

GIVEN = ("advantages", "old.logprobs", "reference.logprobs", "engine.logprobs", "old.as_policy", "reference.as_policy",
         "engine.as_old")  # fmt: skip
"""Numbers of the rollout, and what other models say: whatever made them, no gradient flows there."""
HELD = (
    "ratio.kept", "ratio.mean_kept", "cispo.weight", "vespo.weight", "rollout.counts", "kl_new.reach", "kl_new.moves_held",
    "kl_new.used_held",
)  # fmt: skip
"""Rows that the steps repeat as numbers (`Steps.held`)."""
CONSTANT = (*GIVEN, *HELD)
MOVED = Backward(
    policy=(("policy.E", "policy.W", "policy.Y"), ("policy.logits",), ("policy.logprobs", "policy.entropy")),
    critic=(),
    constant=CONSTANT,
    declared=of_policy,
)


def with_gradients(outline: Blueprint) -> Blueprint:
    """Adds the gradients of the loss, unless they are there, and of each library's loss where several stand side by side."""
    made = MOVED(outline)
    compared = any(block.name == "library.total_loss" for block in outline.blocks())
    return with_library_gradients(made, MOVED, WHICH_TITLE) if compared else made


@dataclass(frozen=True)
class Start:
    """Where a workbook begins: its numbers and conventions, what is given by name, and the sheets that come before the steps.

    sheets: those of inputs and models. names: what stands at the heads of columns. checked: what must be 0 besides what always
    must. By the names of blocks, typed: what stands in them; ranges: what may be typed there; words: those that hold tokens.
    placed: what else says, in the columns of groups, which response stands where. first: response and position shown on Walk.
    unseen: rows that Start does not show.
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
    first: tuple[int, int] = (1, 1)
    unseen: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


def chosen_in(numbers: Numbers, of: Catalogue) -> Chosen:
    """Makes the settings of a workbook, with the table of presets."""
    return chosen_of(numbers.ppo, Conventions(True, numbers["preset"]), of=of)


def whole(start: Start, witnessed: Witnessed | None = None) -> Blueprint:
    """Outlines the workbook; with a witness's numbers, which stand beside the workbook's own on Checks, if there are any."""
    numbers, chosen, given, head = start.numbers, start.chosen, start.given, start.head
    use = completed(Choices(chosen.settings.used, chosen.settings.switch, labels=LABELS.labels))
    made = derived(given, use)
    more = seen({**given, **made.rows}, Steps(use, made.steps.count, made.steps.places))
    sheets = [*start.sheets, *step_sheets({**made.steps.sections, **more}, given, head, start.placed)]
    every = {**given, **rows_on(*sheets)}
    walked, picked, first_token = walk_of(every, head, every["seen.counts"], start.first)
    pictures, drawn = charts_of(every, head.on("charts").rows, use)
    opening, checked, tolerances = _judged(start, every, [*start.checked, *_residuals(every, made, chosen)], witnessed)
    inputs, *others = sheets
    side_by_side, like = _libraries(start) if numbers["compare"] else ((), None)
    outline = Blueprint(
        title=numbers.title,
        sheets=(opening, walked, *_conventions(chosen), inputs, *others, *side_by_side, checked, pictures),
        sizes={**start.sizes, PRESET: len(chosen.catalogue.presets)},
        typed=chosen.settings.typed | tolerances | first_token | dict(drawn),
        heads=_heads(start.sizes),
        names={**start.names, PRESET: chosen.table.names},
        choices={**chosen.settings.choices, **{given[name]: given["vocabulary"] for name in start.words}},
        ranges={**chosen.settings.ranges, **walk.ranges(picked), **_by_block(start.ranges, given)},
        facts=_facts(start),
        result=made.total.total.block,
        parts=tuple(part.block for part in made.total.parts),
        chosen=picked,
        whole="batch",
    ).with_typed(start.typed)
    return outline if like is None else naming(outline, like, chosen, numbers["compare"])


def _libraries(start: Start) -> tuple[tuple[Sheet, ...], Preferred]:
    """Sets libraries side by side; where every word is to be offered, not only those that libraries have, the numbers say so."""
    words = {} if start.numbers.parts.get(EVERY_WORD) else offered(start.chosen.catalogue)
    return compared(start.given, start.chosen, start.head, words)


def _by_block(some: Mapping[str, tuple[float, float]], given: Rows) -> dict[Block, tuple[float, float]]:
    return {given[name]: ends for name, ends in some.items()}


def _conventions(chosen: Chosen) -> tuple[Sheet, Sheet]:
    return conventions_sheet(chosen, ()), presets_sheet(chosen)


def _judged(
    start: Start, rows: Rows, residuals: list[Block | Identity], witnessed: Witnessed | None
) -> tuple[Sheet, Sheet, dict[Block, object]]:
    """Outlines Start and Checks; returns them, and the tolerances that are typed."""
    numbers, parts = start.numbers, pieces_of(PARTS, rows)
    pieces = pieces_of(PIECES, rows, start.unseen)
    shown = [piece.shown for piece in (*parts, *pieces)]
    checked, verdict, tolerances = checks_sheet(start.head.on("checks").rows, residuals, [], witnessed, shown)
    told = Made(numbers.title, numbers.about, _facts(start), SAYS)
    opening = start_sheet(told, parts, pieces, flow(rows), verdict, conventions_in_use(start.chosen, SHOWN))
    return opening, checked, tolerances


def _facts(start: Start) -> dict[str, str]:
    """Returns what the workbook says of its own making."""
    known = facts_of(start.numbers.name, start.numbers.level)
    return known | {"preset": start.numbers["preset"], "conventions": "live"} | dict(start.facts)


def _heads(sizes: Mapping[Axis, int]) -> dict[Axis, list[str]]:
    """Says above the columns of each response which it is: its number, the prompt that it answers, and which of its responses."""
    of = [(group, place) for group in range(sizes[q]) for place in range(sizes[i])]
    return {n: [f"{number}: prompt {1 + group}, response {1 + place}" for number, (group, place) in enumerate(of, 1)]}


def _residuals(rows: Rows, made: Derived, chosen: Chosen) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    return [
        *(checks.sums_to_one(name, rows[f"{name}.p"], LABELS) for name in MODELS if f"{name}.p" in rows),
        *(checks.not_positive(name, rows[f"{name}.logprobs"], LABELS) for name in MODELS),
        checks.shares_add_up(rows["response.tokens"], rows["share"], made.total.total.block, LABELS),
        checks.parts_add_up([part.block for part in made.total.parts], made.total.total.block),
        checks.all_in_range(chosen.settings),
    ]
