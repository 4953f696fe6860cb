"""The blueprint that begins at log-probs, or, where there are none, at rewards: no model is run."""

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Block, typed
from blueprint.page.outline import Blueprint, Item, Note, Section, Sheet, key
from blueprint.workbooks.common import InView, Rows, Witnessed, checks, sheet_of
from blueprint.workbooks.grpo.definitions.axes import i, n, q, t
from blueprint.workbooks.grpo.definitions.steps import LABELS
from blueprint.workbooks.grpo.inputs import inputs_sheet, responses
from blueprint.workbooks.grpo.rollouts import ENTROPY, PER_TOKEN, presets_of
from blueprint.workbooks.grpo.whole import Start, chosen_in, whole

LEAD = "what the policies and the engine say of each token that was written; nothing else of them is known"
TITLES = {
    "policy.logprobs": "The policy in training", ENTROPY: "How undecided it is", "old.logprobs": "The old policy",
    "reference.logprobs": "The reference", "engine.logprobs": "The generation engine",
}  # fmt: skip
STANDS_IN = {"old.logprobs": "old.as_policy", "reference.logprobs": "reference.as_policy",
             "engine.logprobs": "engine.as_old", ENTROPY: "policy.entropy_unknown"}  # fmt: skip
"""The row that is read in place of one that is not given."""
SAID = {
    "policy.logprobs": (
        "The log of the probability with which the policy in training writes the token above; the loss moves this row alone.",
        "Its sum along a response is the log-prob of the whole response. All 0: nobody knows them, and this is a first step.",
    )
}
"""What is said of what is given; as many lines as where it is not, so that both workbooks have the same places."""
MISSING = {
    "policy.logprobs": (
        "No log-probs were given: 0 stands for each. As on a first step every ratio is 1, so the gradient ∂L/∂log π is right.",
        "The loss is, too, unless the objective holds log π itself: reinforce, cispo, vespo. Type your own log-probs here.",
    ),
    "old.logprobs": ("Not given: a first step, on which the old policy is the policy in training.",),
    "reference.logprobs": (
        "Not given: the policy in training stands here, so that the KL is 0; whatever the preset, none is paid.",
    ),
    "engine.logprobs": ("Not given: the old policy stands here, and whatever the preset, nothing is corrected.",),
    ENTROPY: ("Not given, and not to be had from log-probs alone: whatever the preset, no entropy counts.",),
}
"""What is said where something is not given."""
UNSEEN = {"reference.logprobs": "kl.mean_new", ENTROPY: "entropy"}
"""What the first sheet does not show where it is not given."""


def rollouts_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of GRPO from rewards and log-probs; with a witness's numbers if there are any."""
    texts = responses()
    head = InView(texts["word_written"], texts["response.tokens"])
    said, rows = _said(numbers, head)
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, presets_of(numbers.parts)),
        given={**texts, **rows},
        head=head,
        sheets=(inputs_sheet(texts), said),
        sizes={q: len(numbers["text.prompts"]), i: _group(numbers), n: len(numbers["text.responses"]), t: _longest(numbers)},
        names={q: texts["prompt"]},
        checked=(checks.is_0_or_1("mask", texts["mask"]),),
        typed=_typed(numbers),
        ranges={"mask": (0, 1), "truncated": (0, 1)},
        words=(),
        unseen=tuple(row for part, row in UNSEEN.items() if part not in numbers.parts),
    )  # fmt: skip
    return whole(start, witnessed)


def _said(numbers: Numbers, head: InView) -> tuple[Sheet, Rows]:
    """Outlines what is given of each token; a row that is not is as one that is. Returns the sheet, and the rows by name."""
    here, rows, sections = head.on("said"), dict[str, Block](), []
    for name, title in TITLES.items():
        rows[name] = _row(name, rows, name in numbers.parts)
        notes: tuple[Item, ...] = tuple(map(Note, (SAID if name in numbers.parts else MISSING).get(name, ())))
        sections.append(Section(title, (*notes, key(rows[name]))))
    return sheet_of("Log-probs", LEAD, sections, here), rows


def _row(name: str, rows: Rows, is_given: bool) -> Block:
    """Makes a row that is given; else the one that stands in, the policy's always being typed."""
    if is_given or name not in STANDS_IN:
        label = LABELS.labels.of(name)
        return typed(name, (n, t), label.symbol, label.meaning, unit=label.unit)
    source = {
        "old.logprobs": "policy.logprobs",
        "reference.logprobs": "policy.logprobs",
        "engine.logprobs": "old.logprobs",
    }
    return LABELS.row(STANDS_IN[name], rows[source[name]][n, t] if name in source else 0)


def _group(numbers: Numbers) -> int:
    return len(numbers["text.responses"]) // len(numbers["text.prompts"])


def _longest(numbers: Numbers) -> int:
    return max(map(len, numbers["text.responses"]))


def _typed(numbers: Numbers) -> dict[str, object]:
    """Lists what is typed by the names of its blocks; behind a response stands 0 or nothing."""
    written = numbers["text.responses"]
    places = np.arange(1.0, 1 + len(written))
    return {
        "prompt": list(numbers["text.prompts"]),
        "word_written": _padded(written, _longest(numbers), ""),
        "mask": _padded([[1.0] * len(row) for row in written], _longest(numbers), 0.0),
        "truncated": numbers["text.truncated"],
        "score": numbers["reward.scores"],
        "greedy": numbers["reward.greedy"],
        "group.response": places.reshape(-1, _group(numbers)),
        "response.number": places,
        "policy.logprobs": np.zeros((len(written), _longest(numbers))),
        **{name: _padded(numbers[name], _longest(numbers), 0.0) for name in PER_TOKEN if name in numbers.parts},
    }


def _padded(rows: object, width: int, blank: object) -> object:
    made = [[*row, *[blank] * (width - len(row))] for row in rows]  # type: ignore[attr-defined]
    return np.array(made, dtype=object if blank == "" else float)
