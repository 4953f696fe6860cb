"""The whole workbook of DPO, the same for every level: what stands before and after the steps, and the gradient of the loss."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.inputs import Catalogue, Numbers
from blueprint.language import Axis, Block, needs
from blueprint.language.gradient import Declared
from blueprint.page.outline import Blueprint, Sheet
from blueprint.workbooks.common import (
    EVERYWHERE,
    PRESET,
    Apart,
    Backward,
    Choices,
    Chosen,
    Distribution,
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
    offered,
    presets_sheet,
    rows_on,
    start_sheet,
    walk,
    with_library_gradients,
)
from blueprint.workbooks.common.conventions import Conventions
from blueprint.workbooks.common.definitions import gradients
from blueprint.workbooks.common.numbers_file import EVERY_WORD
from blueprint.workbooks.dpo.definitions import Derived, derived
from blueprint.workbooks.dpo.definitions.logprobs import LABELS, n, p
from blueprint.workbooks.dpo.libraries import WHICH_TITLE, compared
from blueprint.workbooks.dpo.schema import completed
from blueprint.workbooks.dpo.sheets import MODELS, charts_of, of_pairs, step_sheets, walk_of
from blueprint.workbooks.dpo.start import PARTS, PIECES, SAYS, SHOWN, flow, pieces_of

GIVEN = (
    "reference.logprobs",
    "reference.as_policy",
    "mismatched.policy.logprobs",
    "mismatched.reference.logprobs",
    "policy.square",
)
"""What other models say, and what only weighs: no gradient flows there."""
HELD = ("loss.bco_held", "kto.held", "weight.used")
"""Rows that the steps repeat as numbers (`Ordered.held`)."""
SOFT_MAX_STEPS = ("top", "exponentials", "logsumexp", "log_p", "p", "p_log_p")


LOG_SIGMOIDS = (
    "margin.right", "margin.wrong", "own.right", "own.wrong", "chosen.log_sigmoid", "rejected.log_sigmoid", "chosen.good",
    "chosen.not_good", "rejected.not_good", "loss.bco_chosen", "loss.bco_rejected", "aot.right", "aot.wrong",
    "aot_unpaired.right", "aot_unpaired.wrong", "odds.right", "odds.batch_right", "loss.discopop_log",
)  # fmt: skip
SIGMOIDS = ("loss.sure", "loss.discopop_weight", "chosen.likely", "rejected.likely", "margin.likely", "own.likely",
            "kto.against.likely", "kto.zero.likely")  # fmt: skip
"""Rows that are log σ, or σ, of the one row that they read, and through which the loss flows back."""


def of_policy(rows: Mapping[str, Block]) -> list[Declared]:
    """Lists the derivatives that a textbook writes in one line: of log σ and σ, and of the log-prob of the token written, where the
    logits below it are known."""
    found = [
        declare(rows[name], next(needs(rows[name])).read)
        for declare, names in ((gradients.of_log_sigmoid, LOG_SIGMOIDS), (gradients.of_sigmoid, SIGMOIDS))
        for name in names
        if name in rows
    ]
    return [*found, *_of_logits(rows)] if "policy.logits" in rows else found


def _of_logits(rows: Mapping[str, Block]) -> list[Declared]:
    policy = Distribution(rows["policy.logits"], *(rows[f"policy.{step}"] for step in SOFT_MAX_STEPS))
    return [gradients.of_chosen_logprobs(rows["policy.logprobs"], policy, rows["policy.written"], EVERYWHERE)]


MOVED = Backward(
    policy=(("policy.E", "policy.W", "policy.Y"), ("policy.logits",), ("policy.logprobs",)),
    critic=(),
    constant=(*GIVEN, *HELD),
    declared=of_policy,
)
OF_PAIRS = Apart(
    "Library pair gradients",
    "from each library's loss back to both responses of each pair",
    (p,),
    lambda row: of_pairs(row, []),
)


def with_gradients(outline: Blueprint) -> Blueprint:
    """Adds the gradients of the loss, unless they are there, and of each library's loss where several stand side by side."""
    made = MOVED(outline)
    compared = any(block.name == "library.total_loss" for block in outline.blocks())
    return with_library_gradients(made, MOVED, WHICH_TITLE, OF_PAIRS) if compared else made


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
    sheets = [*start.sheets, *step_sheets(made, given, head)]
    every = {**given, **rows_on(*sheets)}
    walked, picked, first_pair = walk_of(every)
    pictures, drawn = charts_of(every, use)
    side_by_side, like = _libraries(start) if numbers.parts.get("compare") else ((), None)
    opening, checked, tolerances = _judged(start, every, [*start.checked, *_residuals(every, made, chosen)], witnessed)
    outline = Blueprint(
        title=numbers.title,
        sheets=(
            opening,
            walked,
            conventions_sheet(chosen, ()),
            presets_sheet(chosen),
            *sheets,
            *side_by_side,
            checked,
            pictures,
        ),
        sizes={**start.sizes, PRESET: len(chosen.catalogue.presets)},
        typed=chosen.settings.typed | tolerances | first_pair | dict(drawn),
        names={**start.names, PRESET: chosen.table.names},
        choices={**chosen.settings.choices, **{given[name]: given["vocabulary"] for name in start.words}},
        ranges={**chosen.settings.ranges, **walk.ranges(picked), **_by_block(start.ranges, given)},
        facts=_facts(start),
        result=made.total.total.block,
        parts=tuple(part.block for part in made.total.parts),
        chosen=picked,
        whole="batch",
        heads={n: _heads(start.typed)},
    ).with_typed(start.typed)
    return outline if like is None else naming(outline, like, chosen, numbers["compare"])


def _libraries(start: Start) -> tuple[tuple[Sheet, ...], Preferred]:
    """Sets libraries side by side; where every word is to be offered, not only those that libraries have, the numbers say so."""
    words = {} if start.numbers.parts.get(EVERY_WORD) else offered(start.chosen.catalogue)
    return compared(start.given, start.chosen, start.head, words)


def _by_block(some: Mapping[str, tuple[float, float]], given: Rows) -> dict[Block, tuple[float, float]]:
    return {given[name]: ends for name, ends in some.items()}


def _judged(
    start: Start, rows: Rows, residuals: list[Block | Identity], witnessed: Witnessed | None
) -> tuple[Sheet, Sheet, dict[Block, object]]:
    """Outlines Start and Checks; returns them, and the tolerances that are typed."""
    numbers, parts, pieces = start.numbers, pieces_of(PARTS, rows), pieces_of(PIECES, rows)
    shown = [piece.shown for piece in (*parts, *pieces)]
    checked, verdict, tolerances = checks_sheet(start.head.on("checks").rows, residuals, [], witnessed, shown)
    told = Made(numbers.title, numbers.about, _facts(start), SAYS)
    opening = start_sheet(told, parts, pieces, flow(rows), verdict, conventions_in_use(start.chosen, SHOWN))
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


def _residuals(rows: Rows, made: Derived, chosen: Chosen) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    return [
        *(checks.sums_to_one(name, rows[f"{name}.p"], LABELS) for name in MODELS if f"{name}.p" in rows),
        *(checks.not_positive(name, rows[f"{name}.logprobs"], LABELS) for name in MODELS if f"{name}.logprobs" in rows),
        checks.parts_add_up([part.block for part in made.total.parts], made.total.total.block),
        checks.all_in_range(chosen.settings),
    ]
