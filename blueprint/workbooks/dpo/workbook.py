"""The whole workbook of DPO, the same for every level: its steps, and the gradient of the loss."""

from collections.abc import Mapping
from pathlib import Path

from blueprint.language import Block, needs
from blueprint.language.gradient import Declared
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common import (
    Apart,
    Backward,
    Identity,
    Rows,
    Witnessed,
    checks,
    of_written,
    rows_on,
)
from blueprint.workbooks.common import libraries as common_libraries
from blueprint.workbooks.common.definitions import gradients
from blueprint.workbooks.common.definitions.choices import completed
from blueprint.workbooks.common.sheets.start import opening_in
from blueprint.workbooks.common.workbook import Start, Steps, workbook
from blueprint.workbooks.dpo.definitions import derived
from blueprint.workbooks.dpo.definitions.logprobs import LABELS, n, p
from blueprint.workbooks.dpo.libraries import COMPARED, WHICH_TITLE
from blueprint.workbooks.dpo.schema import DPO, WITHOUT
from blueprint.workbooks.dpo.sheets import MODELS, charts_of, of_pairs, step_sheets, walk_of

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
    return [*found, of_written(rows)] if "policy.logits" in rows else found


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


OPENING = opening_in(Path(__file__).parent)


def with_gradients(outline: Blueprint) -> Blueprint:
    """Adds the gradients of the loss, and of each library's loss where several stand side by side."""
    return common_libraries.with_gradients(outline, MOVED, WHICH_TITLE, OF_PAIRS)


def whole(start: Start, witnessed: Witnessed | None = None, per: str = "") -> Blueprint:
    """Outlines the workbook; with a witness's numbers, which stand beside the workbook's own on Checks, if there are any.

    per: what a log-prob is of, where log-probs are all that is known of the models.
    """
    use = start.choices(LABELS.labels)
    if per:
        use = completed(use, DPO, {key: words[0] for key, words in WITHOUT[per].items() if len(words) == 1})
    made = derived(start.given, use)
    sheets = [*start.sheets, *step_sheets(made, start.given, start.head)]
    rows = {**start.given, **rows_on(*sheets)}
    steps = Steps(
        sheets=sheets,
        rows=rows,
        total=made.rows["total_loss"],
        parts=(made.rows["preference_loss"], made.rows["adds.nll"]),
        checked=_residuals(rows),
        walk=walk_of(rows),
        charts=charts_of(rows, use),
        heads={n: _heads(start.typed)},
    )
    return workbook(start, steps, OPENING, witnessed, COMPARED)


def _heads(given: Mapping[str, object]) -> list[str]:
    """Says above the columns of each response which one of which pair it is."""
    words = ("rejected", "chosen")
    numbers, good = (list(given[name]) for name in ("pair.number", "response.chosen"))  # type: ignore[call-overload]
    return [f"pair {pair:.0f}, {words[int(is_chosen)]}" for pair, is_chosen in zip(numbers, good, strict=True)]


def _residuals(rows: Rows) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    return [
        *(checks.sums_to_one(name, rows[f"{name}.p"], LABELS) for name in MODELS if f"{name}.p" in rows),
        *(checks.not_positive(name, rows[f"{name}.logprobs"], LABELS) for name in MODELS if f"{name}.logprobs" in rows),
    ]
