"""The workbook of a reward model at both levels: what stands around the steps, the gradient of the loss, and steps along it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import LONGEST, Draft, Level, Numbers, Part, Values, counted, refusal
from blueprint.inputs.entries import Number
from blueprint.language import Axis, Block, Sum, link, maximum, needs, typed
from blueprint.language.gradient import Declared
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
    numbers_file,
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
    MOST_RESPONSES,
    OF_PAIRS,
    RAGGED,
    REWARD_MODEL,
    TABLES,
    TEXTS,
    checked,
    rm_presets,
    texts_in,
    typed_texts,
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


def of_log_sigmoids(rows: Mapping[str, Block]) -> list[Declared]:
    """Lists the derivatives that a textbook writes in one line: of log σ, whose steps have a kink at 0."""
    return [gradients.of_log_sigmoid(rows[name], next(needs(rows[name])).read) for name in LOG_SIGMOIDS]


MOVED = Backward(
    policy=(WEIGHTS, ("head.score",)), critic=(), constant=("softmax.held",), declared=of_log_sigmoids, keep=KEPT
)


EPOCHS = repeated(WEIGHTS, ("Reward model", "Scores", "Positions", "Pairs"), MOVED.of, beside_in(Path(__file__).parent))


SHOWN = shown_in(Path(__file__).parent)
OPENING = opening_in(Path(__file__).parent)


def whole(start: Start, words: str, witnessed: Witnessed | None = None) -> Blueprint:
    """Outlines the workbook; with a witness's numbers, which stand beside the workbook's own on Checks, if there are any.

    words: the name of the typed texts. Among what is given is `head`, the score after every token.
    """
    given, head = start.given, start.head
    made = derived(given, start.choices(LABELS.labels))
    overflow, cases = overflow_sheet(given)
    inputs, pairs = inputs_sheet(given, words, made), rankings_sheet(given, made)
    sheets = [inputs, pairs, *start.sheets, *_steps(made, given, head), overflow]
    rows = {**given, **rows_on(*sheets)}
    steps = Steps(
        sheets=sheets,
        rows=rows,
        total=rows["total_loss"],
        parts=tuple(rows[part] for part in ("preference_loss", "adds.center", "adds.l2")),
        checked=_residuals(rows),
        charts=charts_of(rows, head.on("charts").rows),
        typed=cases,
        heads={n: [f"response {number}" for number in range(1, 1 + start.sizes[n])]},
        on_checks=(link("on_checks.word", rows[words]), link("on_checks.text", rows["text.there"])),
    )
    return workbook(start, steps, OPENING, witnessed)


def _start(numbers: Numbers, level: Level, given: Rows, words: str, sizes: Mapping[Axis, int], **more: Any) -> Start:
    """Begins a workbook. sizes: of responses and models. more: names and sheets of models, where there are any."""
    pairs, responses = len(numbers["pairs.chosen"]), (1, sizes[n])
    return Start(
        numbers=numbers,
        chosen=chosen_in(numbers, rm_presets()),
        given=given,
        head=InView(given[words], given["text.there"]),
        # A pair that comes from no ranking is one of its own.
        sizes={**sizes, p: pairs, q: pairs, v: len(numbers["text.vocabulary"]), c: len(CASES)},
        names={**more.pop("names", {}), v: given["vocabulary"]},
        typed=level.typed(numbers) | TYPED,
        words=(words, "text.end"),
        ranges={"pair.counts": (0, 1), "chosen.number": responses, "rejected.number": responses},
        **more,
    )


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


SCORED_WORDS, SCORED_HEAD = "scored.word", "head.score"
"""Blocks that are typed at this level alone: the texts, and the score after each token."""


def scores_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    head = typed(SCORED_HEAD, (n, t), "r_t", "score that the head gives after the token", decimals=2)
    given = {**texts(SCORED_WORDS), "head": head}
    size = SCORES.sizes(numbers)
    sizes = {n: size["response"], t: size["position"]}
    return whole(_start(numbers, SCORES, given, SCORED_WORDS, sizes), SCORED_WORDS, witnessed)


def _texts_of_scores(numbers: Numbers) -> Values:
    return typed_texts(numbers, SCORED_WORDS, np.shape(numbers["scores.head"])[1])


def _saved_texts_of_scores(file: Any, parts: Values) -> Values:
    return texts_in(file, parts, SCORED_WORDS)


def _checked_scores(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, a token is unknown, a pair names a response that there is not, or a text is longer
            than its scores.
    """
    parts = checked(draft.fitted())
    responses, columns = np.shape(parts["scores.head"])
    if len(parts["text.texts"]) != responses:
        raise refusal("scores.head", counted(responses, "row"), f"{len(parts['text.texts'])}, one per response")
    for place, text in enumerate(parts["text.texts"], start=1):
        if len(text) > columns:
            raise refusal(
                f"text.texts, row {place}",
                counted(len(text), "token"),
                f"at most {columns}, as scores.head has columns",
            )
    return draft.numbers(parts)


SCORES = Level(
    "reward_model",
    "scores",
    "a score after every token of every response is given",
    parts=(
        *TEXTS,
        *OF_PAIRS,
        Part(
            "scores.head",
            Number,
            ("response", "position"),
            "the score after each token, and after pads: a row per response",
            block=SCORED_HEAD,
        ),
    ),
    tables={**TABLES, "scores": "what the head says after each token"},
    settings=REWARD_MODEL,
    of_settings="reward",
    presets=rm_presets,
    limits={"response": (1, MOST_RESPONSES), "position": (1, LONGEST), "token": (2, 64)},
    ragged=RAGGED,
    make=_checked_scores,
    more_typed=_texts_of_scores,
    more_saved=_saved_texts_of_scores,
)


RANKED_WORDS = "ranked.word"
"""The block of the typed texts, at this level alone."""
KEYS = tuple(f"reward_model.{part}" for part in ("E", "W", "w", "b"))
LEAD_MODEL = "r_φ, the model in training, reads each text; its head says a number after every token. The loss moves all its weights"


def weights_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    given = texts(RANKED_WORDS)
    sheet, given["head"] = _model(given)
    columns, size = max(map(len, numbers["text.texts"])), RANKINGS.sizes(numbers)
    sizes = {n: size["response"], t: columns, k: size["embedding"], j: size["hidden"]}
    network: dict[Axis, Block | str] = {k: "x{}", j: "h{}", one: "1"}
    start = _start(numbers, RANKINGS, given, RANKED_WORDS, sizes, names=network, sheets=(sheet,))
    return epochs.with_epochs(whole(start, RANKED_WORDS, witnessed), numbers[update.UPDATE], EPOCHS)


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


def _texts_of_rankings(numbers: Numbers) -> Values:
    return typed_texts(numbers, RANKED_WORDS, max(map(len, numbers["text.texts"])))


def _saved_rankings(file: Any, parts: Values) -> Values:
    """Return the texts, and how the weights move."""
    return texts_in(file, parts, RANKED_WORDS) | update.saved_update(file, parts)


def _checked_rankings(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, a token is unknown, a pair names a response that there is not, or W has not a row
            for each number of x and of h, and one for 1.
    """
    parts = update.with_update(draft, checked(draft.fitted()))
    numbers_file.check_inputs(parts, "reward_model")
    return draft.numbers(parts)


RANKINGS = Level(
    "reward_model",
    "rankings",
    "a small model reads texts, and learns which responses were preferred",
    parts=(*TEXTS, *OF_PAIRS, *update.PARTS, *map(numbers_file.weight, KEYS)),
    tables={**TABLES, "update": update.ABOUT, "reward_model": "the model in training, and its head"},
    settings=REWARD_MODEL,
    of_settings="reward",
    presets=rm_presets,
    limits={**numbers_file.LIMITS, "response": (1, MOST_RESPONSES)},
    ragged=RAGGED,
    make=_checked_rankings,
    values=update.stated,
    more_typed=_texts_of_rankings,
    more_saved=_saved_rankings,
)
