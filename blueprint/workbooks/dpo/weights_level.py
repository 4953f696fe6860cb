"""Level "choices": prompts, chosen and rejected responses are typed, and two small networks read them."""

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Axis, Block, link, typed
from blueprint.page.outline import Blueprint, Line, Note, Row, Section, Sheet, Table, minor
from blueprint.workbooks.common import (
    InView,
    Memory,
    Rows,
    Witnessed,
    checks,
    j,
    k,
    memory_weights,
    one,
    rows_on,
    several,
    texts,
    word_weights,
)
from blueprint.workbooks.common.epochs import TYPED, with_epochs
from blueprint.workbooks.common.rollout import block_name
from blueprint.workbooks.common.sheets.critics import moved
from blueprint.workbooks.common.sheets.policies import run
from blueprint.workbooks.dpo.choices import DELTAS, STEP, WEIGHTS, each_response, in_turn
from blueprint.workbooks.dpo.definitions.axes import n, p, t, v
from blueprint.workbooks.dpo.definitions.steps import LABELS
from blueprint.workbooks.dpo.epochs import EPOCHS
from blueprint.workbooks.dpo.inputs import PAIRS, WHY_MISMATCHED, belonging, model_sheet, selecting
from blueprint.workbooks.dpo.schema import dpo_presets
from blueprint.workbooks.dpo.whole import Start, chosen_in, whole

LEAD = "everything typed that is not a weight: two responses to each prompt, and which of them was chosen"
SAME = "The two responses of a pair stand side by side: type the same prompt above both of them."
MOVED_BY = "Δ is typed: with a step of 0 the policy is the reference, every pair a tie, and the loss ln 2."
FIRST_WORD = "The first token ends a text. Tokens must differ by more than capitals; no * ? ~ in a token."


def weights_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of DPO from texts and weights; with a witness's numbers if there are any."""
    given = _given()
    head = InView(given["word_written"], given["response.tokens"], given["word_read"])
    models, rows = _models(given, head, numbers["update"].by == TYPED)
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, dpo_presets()),
        given=rows,
        head=head,
        sheets=(_inputs(given), *models),
        sizes=_sizes(numbers),
        names={k: "x{}", j: "h{}", one: "1", v: given["vocabulary"]},
        checked=(
            checks.no_gap(given["is_given"]),
            checks.not_empty(given["is_given"]),
            *texts.in_order(given),
        ),
        typed=_typed(numbers),
        ranges={"response.chosen": (0, 1)},
        words=("given", texts.RESPONSE, "mismatched.response"),
    )
    return with_epochs(whole(start, witnessed), numbers["update"], EPOCHS)


def _given() -> dict[str, Block]:
    """Makes what is typed besides weights, and the texts that follow from it, by name."""
    found = texts.texts()
    other = typed("mismatched.response", (n, t), "response'", "token of the mismatched response", text=True)
    return {**found, **texts.answered(found, other, "mismatched", "mismatched", LABELS), **belonging()}


def _models(given: Rows, head: InView, is_typed: bool) -> tuple[list[Sheet], Rows]:
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
        return tuple(link(f"{name}.{letter}", rows[f"{whose}.{letter}"]) for letter in WEIGHTS), ()
    step = typed("update_step", (), "step", "how far the policy went along Δ; 0: it is the reference", decimals=2)
    new, above = moved(name, [rows[f"reference.{letter}"] for letter in WEIGHTS], step if is_typed else None)
    tables = ((each.title, [item for item in each.items if not isinstance(item, Note)]) for each in above)
    return tuple(new), tuple(Section(title, (Note(MOVED_BY), Line((step,), "weights"), *of)) for title, of in tables)


def _inputs(given: Rows) -> Sheet:
    """Outlines texts, vocabulary, and which response is which."""
    ids = several(given, "is_given", "given_id", "text.response_id", "rollout.read", "rollout.written", "text.tokens")
    others = several(given, "mismatched.tokens", "mismatched.response_id", "mismatched.read", "mismatched.written")
    which = several(given, *selecting())
    sections = (
        Section("The pairs",
                (Note(SAME), Note(PAIRS), given["pair.number"], given["response.chosen"], Row(given["given"], "text"),
                 Row(given[texts.RESPONSE], "text"), given["word_read"], given["word_written"], given["response.tokens"],
                 *map(minor, ids), given["true.reward"])),
        Section("Vocabulary",
                (Note(FIRST_WORD), Line((given["count.pairs"],), "line"), Table(given["vocabulary"], role="text"))),
        Section("Which response is which", tuple(map(minor, which))),
        Section("Mismatched texts", (Note(WHY_MISMATCHED), Row(given["mismatched.response"], "text"), *map(minor, others))),
    )  # fmt: skip
    return Sheet("Inputs", LEAD, sections, (n, t))


def _sizes(numbers: Numbers) -> dict[Axis, int]:
    """Counts the members of every axis."""
    prompts, responses, others = each_response(numbers)
    words, embedding = np.shape(numbers["reference.E"])
    here = {n: len(prompts), p: len(prompts) // 2, t: texts.columns_of(prompts, responses, others)}
    return {**here, v: words, k: embedding, j: np.shape(numbers["reference.W"])[1]}


def _typed(numbers: Numbers) -> dict[str, object]:
    """Lists what is typed by the names of its blocks."""
    prompts, responses, others = each_response(numbers)
    columns = texts.columns_of(prompts, responses, others)
    given, answers = texts.laid_out(prompts, responses, columns)
    pairs = np.arange(1.0, 1 + len(prompts) // 2)
    moves = numbers["update"].by == TYPED
    return {
        "vocabulary": list(numbers["text.vocabulary"]),
        "given": given,
        texts.RESPONSE: answers,
        "mismatched.response": texts.laid_out(prompts, others, columns)[1],
        "pair.number": np.repeat(pairs, 2),
        "pair.column": pairs,
        "response.chosen": np.tile([1.0, 0.0], len(pairs)),
        "true.reward": np.array(in_turn(numbers["rewards.chosen"], numbers["rewards.rejected"])),
        **{f"reference.{letter}": numbers[f"reference.{letter}"] for letter in WEIGHTS},
        **({"update_step": numbers[STEP], **{block_name(key): numbers[key] for key in DELTAS}} if moves else {}),
    }
