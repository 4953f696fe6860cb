"""Level "preferences": the logits of policy and reference on the texts of all pairs are given."""

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Axis
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common import InView, Witnessed, checks
from blueprint.workbooks.dpo.definitions.axes import n, p, t, v
from blueprint.workbooks.dpo.definitions.steps import LABELS
from blueprint.workbooks.dpo.inputs import MODELS, inputs_sheet, model_sheet, texts
from blueprint.workbooks.dpo.schema import TYPED, dpo_presets
from blueprint.workbooks.dpo.whole import Start, chosen_in, whole

WRITTEN, MASKS = ("word_written", "mismatched.word_written"), ("mask", "text.mask", "mismatched.tokens")
"""Typed rows: of tokens, and of 0 and 1."""


def logits_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    given = dict(texts())
    inputs, head = inputs_sheet(given), InView(given["word_written"], given["response.tokens"])
    models = {name: model_sheet(name, given, head) for name in MODELS}
    for _, rows in models.values():
        given |= rows
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, dpo_presets()),
        given=given,
        head=head,
        sheets=(inputs, *(sheet for sheet, _ in models.values())),
        sizes=_sizes(numbers),
        names={v: given["vocabulary"]},
        checked=(checks.is_0_or_1("mask", *(given[name] for name in MASKS), use=LABELS),),
        typed=_typed(numbers),
        ranges=dict.fromkeys((*MASKS, "response.chosen"), (0, 1)),
        words=WRITTEN,
    )
    return whole(start, witnessed)


def _sizes(numbers: Numbers) -> dict[Axis, int]:
    """Counts the members of every axis."""
    responses, positions, tokens = np.shape(numbers["policy.logits"])
    return {n: responses, p: responses // 2, t: positions, v: tokens}


def _typed(numbers: Numbers) -> dict[str, object]:
    """Lists what is typed by the names of its blocks; a column of Pairs is the pair of its number."""
    parts = {**_unasked(numbers), **numbers.parts}
    given = {name: _array(parts[key]) for key, name in TYPED.items()}
    return {**given, "pair.column": np.arange(1.0, 1 + len(numbers["text.pair"]) // 2)}


def _unasked(numbers: Numbers) -> dict[str, object]:
    """Lists what stands for what no loss in use reads: true rewards of 0, and each text itself, as both models alike see it."""
    own = np.array(numbers["policy.logits"])
    return {
        "rewards.true": np.zeros(len(own)),
        "mismatched.texts": tuple(row[1:] for row in numbers["text.texts"]),
        "mismatched.response": numbers["text.response"],
        **dict.fromkeys((f"mismatched.{name}" for name in MODELS), own),
    }


def _array(value: object) -> object:
    return np.array(value, dtype=object) if isinstance(value, tuple) else value
