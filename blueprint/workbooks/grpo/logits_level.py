"""The blueprint that begins at logits: responses, scores, and what four models say of every next token, are given."""

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Axis
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common import InView, Witnessed, checks
from blueprint.workbooks.grpo.definitions.axes import i, n, q, t, v
from blueprint.workbooks.grpo.inputs import MODELS, inputs_sheet, model_sheet, texts
from blueprint.workbooks.grpo.schema import TYPED, presets_of_given
from blueprint.workbooks.grpo.whole import Start, chosen_in, whole


def logits_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of GRPO from logits and scores; with a witness's numbers if there are any."""
    given = dict(texts())
    inputs, head = inputs_sheet(given), InView(given["word_written"], given["response.tokens"])
    models = {name: model_sheet(name, given, head) for name in MODELS}
    for _, rows in models.values():
        given |= rows
    start = Start(
        numbers=numbers,
        chosen=chosen_in(numbers, presets_of_given()),
        given=given,
        head=head,
        sheets=(inputs, *(sheet for sheet, _ in models.values())),
        sizes=_sizes(numbers),
        names={v: given["vocabulary"], q: given["prompt"]},
        checked=(checks.is_0_or_1("mask", given["mask"]),),
        typed=_typed(numbers),
        ranges={"mask": (0, 1), "truncated": (0, 1)},
        words=("word_written",),
    )
    return whole(start, witnessed)


def _sizes(numbers: Numbers) -> dict[Axis, int]:
    """Counts the members of every axis."""
    (responses, positions, tokens), prompts = np.shape(numbers["policy.logits"]), len(numbers["text.prompts"])
    return {q: prompts, i: responses // prompts, n: responses, t: positions, v: tokens}


def _typed(numbers: Numbers) -> dict[str, object]:
    """Lists what is typed by the names of its blocks; the responses to a prompt stand side by side."""
    places = np.arange(1.0, 1 + len(numbers["reward.scores"])).reshape(len(numbers["text.prompts"]), -1)
    return {
        "group.response": places,
        "response.number": places.ravel(),
        **{name: _array(numbers[key]) for key, name in TYPED.items()},
    }


def _array(value: object) -> object:
    return np.array(value, dtype=object) if isinstance(value, tuple) else value
