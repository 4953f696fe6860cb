"""The workbook of DPO: the levels at which it begins, the same steps for every level, libraries side by side, and the gradient."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Block, link, needs, typed
from blueprint.language.gradient import Declared
from blueprint.page.outline import Blueprint, Line, Note, Row, Section, Sheet, Table, minor
from blueprint.workbooks.common import (
    Apart,
    Backward,
    InView,
    Memory,
    Rows,
    Witnessed,
    checks,
    j,
    k,
    memory_weights,
    named,
    of_written,
    one,
    rollout,
    rows_on,
    several,
    word_weights,
)
from blueprint.workbooks.common import libraries as common_libraries
from blueprint.workbooks.common.definitions import gradients
from blueprint.workbooks.common.definitions.writing_rows import completed
from blueprint.workbooks.common.epochs import beside_in, repeated, with_epochs
from blueprint.workbooks.common.libraries import SideBySide
from blueprint.workbooks.common.sheets.logprobs import given_logprobs
from blueprint.workbooks.common.sheets.models import moved, run
from blueprint.workbooks.common.sheets.start import opening_in
from blueprint.workbooks.common.update import TYPED
from blueprint.workbooks.common.workbook import Start, Steps, chosen_in, workbook
from blueprint.workbooks.dpo.definitions import LABELS, derived, n, p, t, v
from blueprint.workbooks.dpo.schema import (
    BY_RESPONSE,
    CHOICES,
    DPO,
    LETTERS,
    LOGPROBS,
    PAIR_LOGPROBS,
    PREFERENCES,
    WITHOUT,
    dpo_presets,
    each_response,
    presets_of,
)
from blueprint.workbooks.dpo.sheets import (
    MODELS,
    PAIRS,
    WHY_MISMATCHED,
    belonging,
    charts_of,
    inputs_sheet,
    model_sheet,
    of_pairs,
    selecting,
    step_sheets,
    texts_of_pairs,
    walk_of,
)

WHICH_TITLE = "Which DPO"
RESULTS = (
    "total_loss", "preference_loss", "adds.nll", "rewards.chosen", "rewards.rejected", "rewards.margins", "rewards.accuracies",
)  # fmt: skip
"""What comes of it: the loss and its parts, and what is watched."""
COMPARED = SideBySide(
    run=derived,
    labels=LABELS.labels,
    start={
        "policy.logprobs": "logp",
        "reference.logprobs": "logp_ref",
        "policy.square": "square",
        "mismatched.policy.logprobs": "logp_else",
        "mismatched.reference.logprobs": "logp_ref_else",
    },
    results=RESULTS,
    marked=RESULTS[:3],
    looked_for=(
        "policy.logp", "chosen.logp", "rejected.logp", "chosen.ratio", "rejected.ratio", "margin", "margin.argument", "loss.pair",
        "kto.z", "nll", *RESULTS,
    ),
    fixed="Texts and log-probs are those of this workbook, and so is who was chosen.",
    lead="the same texts and log-probs by the conventions of several libraries: find the row where they part",
    which=WHICH_TITLE,
    apart=("Library pairs", "both responses of each pair, by the conventions of several libraries: a column per pair", (p,)),
    holds=of_pairs,
)  # fmt: skip


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
WEIGHTS = MOVED.policy[0]
PULLED = Apart(
    "Library pair gradients",
    "from each library's loss back to both responses of each pair",
    (p,),
    lambda row: of_pairs(row, []),
)
FOLDER = Path(__file__).parent
EPOCHS = repeated(WEIGHTS, ("Policy", "Policy elsewhere", "Log-probs", "Pairs"), MOVED.of, beside_in(FOLDER))
OPENING = opening_in(FOLDER)


def with_gradients(outline: Blueprint) -> Blueprint:
    """Adds the gradients of the loss, and of each library's loss where several stand side by side."""
    return common_libraries.with_gradients(outline, MOVED, WHICH_TITLE, PULLED)


def whole(start: Start, witnessed: Witnessed | None = None, per: str = "") -> Blueprint:
    """Outlines the workbook; with a witness's numbers, which stand beside the workbook's own on Checks, if there are any.

    per: what a log-prob is of, where log-probs are all that is known of the models.
    """
    use = start.choices(LABELS.labels)
    if per:
        use = completed(use, DPO, {key: words[0] for key, words in WITHOUT[per].items() if len(words) == 1})
    made = derived(start.given, use)
    sheets = [*start.sheets, *step_sheets(made, start.given, start.head)]
    numbers, good = (np.asarray(start.typed[name]).tolist() for name in ("pair.number", "response.chosen"))
    heads = [f"pair {pair:.0f}, {'chosen' if of else 'rejected'}" for pair, of in zip(numbers, good, strict=True)]
    rows = {**start.given, **rows_on(*sheets)}
    steps = Steps(
        sheets=sheets,
        rows=rows,
        total=made.rows["total_loss"],
        parts=(made.rows["preference_loss"], made.rows["adds.nll"]),
        checked=[
            check(name, rows[f"{name}.{row}"], LABELS)
            for check, row in ((checks.sums_to_one, "p"), (checks.not_positive, "logprobs"))
            for name in MODELS
            if f"{name}.{row}" in rows
        ],
        walk=walk_of(rows),
        charts=charts_of(rows, use),
        heads={n: heads},
    )
    return workbook(start, steps, OPENING, witnessed, COMPARED)


WRITTEN, MASKS = ("word_written", "mismatched.word_written"), ("mask", "text.mask", "mismatched.tokens")
"""Typed rows: of tokens, and of 0 and 1."""


def logits_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    given = dict(texts_of_pairs())
    inputs, head = inputs_sheet(given), InView(given["word_written"], given["response.tokens"])
    models = {name: model_sheet(name, given, head) for name in MODELS}
    for _, rows in models.values():
        given |= rows
    size = PREFERENCES.sizes(numbers)
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, dpo_presets()),
        given=given,
        head=head,
        sheets=(inputs, *(sheet for sheet, _ in models.values())),
        sizes={n: size["response"], p: size["response"] // 2, t: size["position"], v: size["token"]},
        names={v: given["vocabulary"]},
        checked=(checks.is_0_or_1("mask", *(given[name] for name in MASKS), use=LABELS),),
        typed=PREFERENCES.typed(numbers),
        ranges=dict.fromkeys((*MASKS, "response.chosen"), (0, 1)),
        words=WRITTEN,
    )
    return whole(start, witnessed)


LEAD_LOGPROBS = (
    "pairs of a chosen and a rejected response to the same prompt, side by side; "
    "log-probs stand on a sheet of their own"
)
BY_RESPONSES = (
    "one number for each response, which stands as its only token: its log-prob, sum or mean as the loss takes it"
)
SINGLE = "KTO alone reads it, and RPO the true reward; 0 where it was not given."


def logprobs_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of pairs from their log-probs; with a witness's numbers if there are any."""
    texts = _texts_of_logprobs()
    head = InView(texts["word_written"], texts["response.tokens"])
    there = [f"{model}.logprobs" for model in LOGPROBS if f"{model}.chosen" in numbers.parts]
    lead = BY_RESPONSES if numbers["per"] == BY_RESPONSE else ""
    said, rows, _ = given_logprobs(FOLDER, there, head, LABELS, lead)
    typed_in = PAIR_LOGPROBS.typed(numbers)
    responses, positions = np.shape(typed_in["mask"])
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, presets_of(numbers["per"])),
        given={**texts, **rows},
        head=head,
        sheets=(_inputs_of_logprobs(texts), said),
        sizes={n: responses, p: responses // 2, t: positions},
        names={p: texts["prompt"]},
        checked=(checks.is_0_or_1("mask", texts["mask"], use=LABELS),),
        typed=typed_in,
        ranges={"mask": (0, 1), "response.chosen": (0, 1)},
    )
    return whole(start, witnessed, numbers["per"])


def _texts_of_logprobs() -> Rows:
    """Makes what is typed of pairs, and what follows from it, by name; a token is a text."""
    prompt = typed("prompt", (p,), "prompt", "text of the prompt", text=True)
    written = typed("word_written", (n, t), "writes", "token at the position", text=True)
    mask = typed("mask", (n, t), "mask", "1 on the response", unit="0 or 1", decimals=0)
    elsewhere = typed("mismatched.ratio", (n,), "r_else", "log-ratio on the prompt with another response", decimals=4)
    m, text = LABELS.row("response.tokens", mask[n, t]), LABELS.row("text.tokens")
    text[n, t.first - 1] = 1
    text[n, t] = mask[n, t]
    return {**named(prompt, written, mask, m, text, elsewhere), **belonging()}


def _inputs_of_logprobs(given: Rows) -> Sheet:
    """Outlines prompts and pairs."""
    texts = ("word_written", "mask", "response.tokens", "text.tokens")
    sections = (
        Section("Prompts", (Line((given["count.pairs"],), "line"), Table(given["prompt"], role="text"))),
        Section("The pairs", (Note(PAIRS), given["pair.number"], given["response.chosen"],
                              *(Row(given[name], "text" if name == "word_written" else "") for name in texts))),
        Section("Read by some losses alone", (Note(SINGLE), given["mismatched.ratio"], given["true.reward"])),
        Section("Which response is which", tuple(minor(given[name]) for name in selecting())),
    )  # fmt: skip
    return Sheet("Inputs", LEAD_LOGPROBS, sections, (n, t))


LEAD_CHOICES = "everything typed that is not a weight: two responses to each prompt, and which of them was chosen"
SAME = "The two responses of a pair stand side by side: type the same prompt above both of them."
MOVED_BY = "Δ is typed: with a step of 0 the policy is the reference, every pair a tie, and the loss ln 2."
FIRST_WORD = "The first token ends a text. Tokens must differ by more than capitals; no * ? ~ in a token."


def weights_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of DPO from texts and weights; with a witness's numbers if there are any."""
    given = rollout.texts()
    other = typed("mismatched.response", (n, t), "response'", "token of the mismatched response", text=True)
    given = {**given, **rollout.answered(given, other, "mismatched", "mismatched", LABELS), **belonging()}
    head = InView(given["word_written"], given["response.tokens"], given["word_read"])
    models, rows = _run_models(given, head, numbers["update"].by == TYPED)
    size, columns = CHOICES.sizes(numbers), rollout.columns_of(*each_response(numbers))
    of_models = {v: size["token"], k: size["embedding"], j: size["hidden"]}
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, dpo_presets()),
        given=rows,
        head=head,
        sheets=(_inputs_of_choices(given), *models),
        sizes={n: 2 * size["pair"], p: size["pair"], t: columns, **of_models},
        names={k: "x{}", j: "h{}", one: "1", v: given["vocabulary"]},
        checked=(
            checks.no_gap(given["is_given"]),
            checks.not_empty(given["is_given"]),
            *rollout.in_order(given),
        ),
        typed=CHOICES.typed(numbers),
        ranges={"response.chosen": (0, 1)},
        words=("given", rollout.GIVEN_RESPONSE, "mismatched.response"),
    )
    return with_epochs(whole(start, witnessed), numbers["update"], EPOCHS)


def _run_models(given: Rows, head: InView, is_typed: bool) -> tuple[list[Sheet], Rows]:
    """Runs reference and policy on the texts, and on mismatched ones; returns their sheets, and every row so far."""
    rows, sheets = dict(given), []
    for name in ("reference", "policy", "mismatched.reference", "mismatched.policy"):
        (E, W, Y), above = _weights(name, rows, is_typed)
        read = link(f"{name}.read", rows["mismatched.read" if "." in name else "rollout.read"])
        logits, sections = run(name, read, Memory(E, W), Y, None)
        sheet, made = model_sheet(name, rows, head, logits, (*above, *sections), first=0 if above else 1)
        rows |= {**rows_on(sheet), **made}
        sheets.append(sheet)
    return sheets, rows


def _weights(name: str, rows: Rows, is_typed: bool) -> tuple[tuple[Block, ...], tuple[Section, ...]]:
    """Returns E, W and Y of a model, and the outline of what moves them."""
    if name == "reference":
        return (*memory_weights(name), word_weights(name)), ()
    if name != "policy":
        whose = name.partition(".")[2]
        return tuple(link(f"{name}.{letter}", rows[f"{whose}.{letter}"]) for letter in LETTERS), ()
    step = typed("update_step", (), "step", "how far the policy went along Δ; 0: it is the reference", decimals=2)
    new, above = moved(name, [rows[f"reference.{letter}"] for letter in LETTERS], step if is_typed else None)
    tables = ((each.title, [item for item in each.items if not isinstance(item, Note)]) for each in above)
    return tuple(new), tuple(Section(title, (Note(MOVED_BY), Line((step,), "weights"), *of)) for title, of in tables)


def _inputs_of_choices(given: Rows) -> Sheet:
    """Outlines texts, vocabulary, and which response is which."""
    ids = several(given, "is_given", "given_id", "text.response_id", "rollout.read", "rollout.written", "text.tokens")
    others = several(given, "mismatched.tokens", "mismatched.response_id", "mismatched.read", "mismatched.written")
    sections = (
        Section("The pairs",
                (Note(SAME), Note(PAIRS), given["pair.number"], given["response.chosen"], Row(given["given"], "text"),
                 Row(given[rollout.GIVEN_RESPONSE], "text"), given["word_read"], given["word_written"], given["response.tokens"],
                 *map(minor, ids), given["true.reward"])),
        Section("Vocabulary",
                (Note(FIRST_WORD), Line((given["count.pairs"],), "line"), Table(given["vocabulary"], role="text"))),
        Section("Which response is which", tuple(map(minor, several(given, *selecting())))),
        Section("Mismatched texts", (Note(WHY_MISMATCHED), Row(given["mismatched.response"], "text"), *map(minor, others))),
    )  # fmt: skip
    return Sheet("Inputs", LEAD_CHOICES, sections, (n, t))
