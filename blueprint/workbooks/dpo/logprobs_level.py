"""The blueprint that begins at log-probs of pairs of one's own: no model is run."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Block, typed
from blueprint.page.outline import Blueprint, Line, Note, Row, Section, Sheet, Table, key, minor
from blueprint.workbooks.common import InView, Rows, Witnessed, checks, named, sheet_of
from blueprint.workbooks.dpo.definitions.axes import n, p, t
from blueprint.workbooks.dpo.definitions.steps import LABELS
from blueprint.workbooks.dpo.inputs import PAIRS, belonging, selecting
from blueprint.workbooks.dpo.logprobs import MODELS, SIDES
from blueprint.workbooks.dpo.offered import BY_RESPONSE, presets_of
from blueprint.workbooks.dpo.whole import Start, chosen_in, whole

LEAD = "pairs of a chosen and a rejected response to the same prompt, side by side; log-probs stand on a sheet of their own"
SAID = "what the policy and the reference say of each token that was written; nothing else of them is known"
TITLES = {"policy": "The policy in training", "reference": "The reference"}
GIVEN = {
    "policy": (
        "The log of the probability with which the policy in training writes the token above; the loss moves this row alone.",
        "Its sum along a response is the log-prob of the whole response. All 0: nobody knows them, and this is a first step.",
    ),
    "reference": ("The same under the frozen model from before.",),
}
MISSING = {
    "policy": (
        "No log-probs were given: 0 stands for each. On a first step the policy is the reference, so every log-ratio is 0 indeed.",
        "Margin, loss and gradient are right, then: ln 2 for DPO, and the accuracy is 0, for a tie is wrong. Type your own here.",
    ),
    "reference": ("Not given: a first step, on which the policy in training is the reference.",),
}
"""What is said of what is given, and of what is not: as many lines, so that both workbooks have the same places."""
BY = {
    BY_RESPONSE: "one number for each response, which stands as its only token: its log-prob, sum or mean as the loss takes it",
}
SINGLE = "KTO alone reads it, and RPO the true reward; 0 where it was not given."


def logprobs_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of pairs from their log-probs; with a witness's numbers if there are any."""
    texts = _texts()
    head = InView(texts["word_written"], texts["response.tokens"])
    said, rows = _said(numbers, head)
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, presets_of(numbers["per"])),
        given={**texts, **rows},
        head=head,
        sheets=(_inputs_sheet(texts), said),
        sizes={n: 2 * _pairs(numbers), p: _pairs(numbers), t: _longest(numbers)},
        names={p: texts["prompt"]},
        checked=(checks.is_0_or_1("mask", texts["mask"], use=LABELS),),
        typed=_typed(numbers),
        ranges={"mask": (0, 1), "response.chosen": (0, 1)},
        words=(),
        per=numbers["per"],
    )
    return whole(start, witnessed)


def _texts() -> Rows:
    """Makes what is typed of pairs, and what follows from it, by name; a token is a text."""
    prompt = typed("prompt", (p,), "prompt", "text of the prompt", text=True)
    written = typed("word_written", (n, t), "writes", "token at the position", text=True)
    mask = typed("mask", (n, t), "mask", "1 on the response", unit="0 or 1", decimals=0)
    elsewhere = typed("mismatched.ratio", (n,), "r_else", "log-ratio on the prompt with another response", decimals=4)
    m, text = LABELS.row("response.tokens", mask[n, t]), LABELS.row("text.tokens")
    text[n, t.first - 1] = 1
    text[n, t] = mask[n, t]
    return {**named(prompt, written, mask, m, text, elsewhere), **belonging()}


def _inputs_sheet(given: Rows) -> Sheet:
    """Outlines prompts and pairs."""
    texts = ("word_written", "mask", "response.tokens", "text.tokens")
    sections = (
        Section("Prompts", (Line((given["count.pairs"],), "line"), Table(given["prompt"], role="text"))),
        Section("The pairs", (Note(PAIRS), given["pair.number"], given["response.chosen"],
                              *(Row(given[name], "text" if name == "word_written" else "") for name in texts))),
        Section("Read by some losses alone", (Note(SINGLE), given["mismatched.ratio"], given["true.reward"])),
        Section("Which response is which", tuple(minor(given[name]) for name in selecting())),
    )  # fmt: skip
    return Sheet("Inputs", LEAD, sections, (n, t))


def _said(numbers: Numbers, head: InView) -> tuple[Sheet, Rows]:
    """Outlines what is given of each token; a reference that is not is as the policy. Returns the sheet, and the rows by name."""
    here, rows, sections = head.on("said"), dict[str, Block](), []
    for name, title in TITLES.items():
        is_given = f"{name}.chosen" in numbers.parts
        rows[f"{name}.logprobs"] = _row(name, rows, is_given)
        notes = (GIVEN if is_given else MISSING)[name]
        sections.append(Section(title, (*map(Note, notes), key(rows[f"{name}.logprobs"]))))
    return sheet_of("Given log-probs", BY.get(numbers["per"], SAID), sections, here), rows


def _row(name: str, rows: Rows, is_given: bool) -> Block:
    """Makes a row that is given; for a reference that is not the policy stands in, whose row is always typed."""
    if not is_given and name != "policy":
        return LABELS.row("reference.as_policy", rows["policy.logprobs"][n, t])
    label = LABELS.labels.of(f"{name}.logprobs")
    return typed(f"{name}.logprobs", (n, t), label.symbol, label.meaning, unit=label.unit)


def _pairs(numbers: Numbers) -> int:
    return len(numbers["text.prompts"])


def _in_turn(numbers: Numbers, table: str) -> list[Any]:
    """Lists something of each response, the chosen and the rejected one of each pair in turn."""
    return [each for pair in zip(*(numbers[f"{table}.{side}"] for side in SIDES), strict=True) for each in pair]


def _longest(numbers: Numbers) -> int:
    return max(map(len, _in_turn(numbers, "text")))


def _typed(numbers: Numbers) -> dict[str, object]:
    """Lists what is typed by the names of its blocks; behind a response stands 0 or nothing."""
    written, pairs, width = _in_turn(numbers, "text"), _pairs(numbers), _longest(numbers)
    singles = {"mismatched.ratio": "mismatched", "true.reward": "rewards"}
    return {
        "prompt": list(numbers["text.prompts"]),
        "word_written": _padded(written, width, ""),
        "mask": _padded([[1.0] * len(row) for row in written], width, 0.0),
        "pair.number": np.repeat(np.arange(1.0, 1 + pairs), 2),
        "response.chosen": np.tile([1.0, 0.0], pairs),
        "pair.column": np.arange(1.0, 1 + pairs),
        "policy.logprobs": np.zeros((2 * pairs, width)),
        **{f"{name}.logprobs": _padded(_in_turn(numbers, name), width, 0.0) for name in MODELS if _has(numbers, name)},
        **{name: np.array(_in_turn(numbers, of)) if _has(numbers, of) else np.zeros(2 * pairs) for name, of in singles.items()},
    }  # fmt: skip


def _has(numbers: Numbers, table: str) -> bool:
    return f"{table}.{SIDES[0]}" in numbers.parts


def _padded(rows: Sequence[Sequence[object]], width: int, blank: object) -> object:
    made = [[*row, *[blank] * (width - len(row))] for row in rows]
    return np.array(made, dtype=object if blank == "" else float)
