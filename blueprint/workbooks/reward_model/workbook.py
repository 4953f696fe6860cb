"""The workbook of a reward model at both levels: what stands around the steps, the gradient of the loss, and steps along it."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blueprint.inputs import Level, Numbers
from blueprint.language import Axis, Block, Sum, link, maximum, needs, typed
from blueprint.page.outline import Blueprint, Line, Row, Section, Sheet, Table
from blueprint.workbooks.common import (
    Backward,
    Identity,
    InView,
    Rows,
    Witnessed,
    checks,
    epochs,
    head_weights,
    j,
    k,
    memory_weights,
    one,
    rnn,
    rows_on,
    scalar_head,
    sheet_of,
    update,
)
from blueprint.workbooks.common.definitions import gradients
from blueprint.workbooks.common.epochs import beside_in, repeated
from blueprint.workbooks.common.sheets.models import memory_sections
from blueprint.workbooks.common.sheets.shown import shown_in
from blueprint.workbooks.common.sheets.start import opening_in
from blueprint.workbooks.common.workbook import Start, Steps, chosen_in, workbook
from blueprint.workbooks.reward_model.definitions import LABELS, derived, n, o, p, q, t, u, v
from blueprint.workbooks.reward_model.definitions import Steps as Definitions
from blueprint.workbooks.reward_model.schema import (
    RANKED_WORDS,
    RANKINGS,
    SCORED_HEAD,
    SCORED_WORDS,
    SCORES,
    columns_of,
    rm_presets,
)
from blueprint.workbooks.reward_model.sheets import (
    CASES,
    TYPED,
    c,
    charts_of,
    inputs_sheet,
    overflow_sheet,
    rankings_sheet,
    texts,
)

LOG_SIGMOIDS = ("argument.right", "position.right")
"""Rows that are log σ of the one row that they read."""
WEIGHTS = ("reward_model.E", "reward_model.W", "reward_model.head.w", "reward_model.head.b")
KEPT = ("score", "difference")
"""Rows whose slope one looks for: ∓σ(−x) over the number of pairs."""


MOVED = Backward(
    policy=(WEIGHTS, ("head.score",)),
    critic=(),
    constant=("softmax.held",),
    # A textbook writes that of log σ, whose steps have a kink at 0, in one line.
    declared=lambda rows: [gradients.of_log_sigmoid(rows[name], next(needs(rows[name])).read) for name in LOG_SIGMOIDS],
    keep=KEPT,
)
EPOCHS = repeated(WEIGHTS, ("Reward model", "Scores", "Positions", "Pairs"), MOVED.of, beside_in(Path(__file__).parent))


SHOWN = shown_in(Path(__file__).parent)
OPENING = opening_in(Path(__file__).parent)


def scores_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    head = typed(SCORED_HEAD, (n, t), "r_t", "score that the head gives after the token", decimals=2)
    given, size = {**texts(SCORED_WORDS), "head": head}, SCORES.sizes(numbers)
    return _whole(numbers, SCORES, given, SCORED_WORDS, {n: size["response"], t: size["position"]}, witnessed)


LEAD_MODEL = "r_φ, the model in training, reads each text; its head says a number after every token. The loss moves all its weights"


NETWORK: dict[Axis, Block | str] = {k: "x{}", j: "h{}", one: "1"}


def weights_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint from weights, with the steps of an optimiser where there are any; witnessed: as above."""
    given, size = texts(RANKED_WORDS), RANKINGS.sizes(numbers)
    sheet, given["head"] = _model(given)
    sizes = {n: size["response"], t: columns_of(numbers), k: size["embedding"], j: size["hidden"]}
    made = _whole(numbers, RANKINGS, given, RANKED_WORDS, sizes, witnessed, NETWORK, (sheet,))
    return epochs.with_epochs(made, numbers[update.UPDATE], EPOCHS)


def _model(given: Rows) -> tuple[Sheet, Any]:
    """Outlines the network over the texts; returns its sheet, and the score after every token."""
    read = link("reward_model.read", given["token.id"])
    memory, head = memory_weights("reward_model"), head_weights("reward_model")
    network = rnn("reward_model", read, memory)
    out = scalar_head("reward_model", "RM", "number after the token just read", network.h, head)
    sections = (
        *memory_sections(memory, head.w, read, network),
        Section("One number from the hidden state", (Line((head.b,), "weights"), out)),
    )
    here = InView(given[RANKED_WORDS], given["text.there"]).on("reward_model")
    return sheet_of("Reward model", LEAD_MODEL, sections, here), out


def _whole(
    numbers: Numbers,
    level: Level,
    given: Rows,
    words: str,
    sizes: Mapping[Axis, int],
    witnessed: Witnessed | None,
    names: Mapping[Axis, Block | str] = MappingProxyType({}),
    models: tuple[Sheet, ...] = (),
) -> Blueprint:
    """Outlines the workbook; with a witness's numbers, which stand beside the workbook's own on Checks, if there are any.

    words: the name of the typed texts; sizes: of responses and models; names, models: what stands at the heads of columns, and
    sheets, of models, where there are any. Among what is given is `head`, the score after every token.
    """
    pairs, responses = len(numbers["pairs.chosen"]), (1, sizes[n])
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, rm_presets()),
        given=given,
        head=InView(given[words], given["text.there"]),
        # A pair that comes from no ranking is one of its own.
        sizes={**sizes, p: pairs, q: pairs, v: len(numbers["text.vocabulary"]), c: len(CASES)},
        names={**names, v: given["vocabulary"]},
        typed=level.typed(numbers) | TYPED,
        words=(words, "text.end"),
        ranges={"pair.counts": (0, 1), "chosen.number": responses, "rejected.number": responses},
    )
    made = derived(given, start.choices(LABELS.labels))
    overflow, cases = overflow_sheet(given)
    inputs, ranked = inputs_sheet(given, words, made), rankings_sheet(given, made)
    sheets = [inputs, ranked, *models, *_steps(made, given, start.head), overflow]
    rows = {**given, **rows_on(*sheets)}
    steps = Steps(
        sheets=sheets,
        rows=rows,
        total=rows["total_loss"],
        parts=tuple(rows[part] for part in ("preference_loss", "adds.center", "adds.l2")),
        checked=_residuals(rows),
        charts=charts_of(rows, start.head.on("charts").rows),
        typed=cases,
        heads={n: [f"response {number}" for number in range(1, 1 + sizes[n])]},
        on_checks=(link("on_checks.word", rows[words]), link("on_checks.text", rows["text.there"])),
    )
    return workbook(start, steps, OPENING, witnessed)


def _residuals(rows: Rows) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    places = LABELS.along(
        "check.places", (o,), sum((abs(Sum(n, rows[f"{side}.is"][o, n]) - 1) for side in ("chosen", "rejected")), 0)
    )
    apart, shifted = rows["difference"], rows["shifted.difference"]
    off = abs(shifted[p] - apart[p]) / maximum(1, abs(apart[p]))
    return [
        places,
        checks.is_0_or_1("counts", rows["pair.counts"], use=LABELS),
        LABELS.along("check.shift", (p,), off),
    ]


def _steps(steps: Definitions, given: Rows, head: InView) -> list[Sheet]:
    """Outlines the sheets of steps: rows that one looks for are marked, the others folded."""
    here = head.on("on_scores")
    column = link("on_pairs.column", given["pair.column"])
    sections = {
        title: [Section(each, tuple(map(_row, steps.sections[each]))) for each in steps.sheets[title]]
        for title in SHOWN.sheets
    }
    if "head" in given and given["head"].typed:
        sections["Scores"].insert(0, Section("The score after each token", (given["head"],)))
    return [
        Sheet(
            "Scores",
            SHOWN.sheets["Scores"]["lead"],
            tuple(sections["Scores"]),
            (n, t),
            here.rows,
            here.mask,
            closed=True,
        ),
        Sheet("Positions", SHOWN.sheets["Positions"]["lead"], tuple(sections["Positions"]), closed=True),
        Sheet("Pairs", SHOWN.sheets["Pairs"]["lead"], tuple(sections["Pairs"]), (p,), (column,), closed=True),
    ]


def _row(row: Block) -> Row | Table:
    if row.axes[:1] == (o,) and row.axes[-1] is u:
        return Table(row, u, "plain")
    return SHOWN.row(row, not row.axes)
