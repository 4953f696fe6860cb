"""Level "scores": a score after every token of every response is given."""

from typing import TYPE_CHECKING

import numpy as np

from blueprint.inputs import LONGEST, Draft, Level, Numbers, Part, counted, refusal
from blueprint.inputs.entries import Number
from blueprint.language import typed
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common import Witnessed
from blueprint.workbooks.reward_model.definitions.axes import n, t
from blueprint.workbooks.reward_model.inputs import texts, typed_texts
from blueprint.workbooks.reward_model.schema import (
    MOST_RESPONSES,
    OF_PAIRS,
    RAGGED,
    REWARD_MODEL,
    TABLES,
    TEXTS,
    checked,
    parts_in,
    rm_presets,
)
from blueprint.workbooks.reward_model.whole import Start, whole

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

WORDS, HEAD = "scored.word", "head.score"
"""Blocks that are typed at this level alone: the texts, and the score after each token."""


def scores_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    head = typed(HEAD, (n, t), "r_t", "score that the head gives after the token", decimals=2)
    given = {**texts(WORDS), "head": head}
    responses, columns = np.shape(numbers["scores.head"])
    start = Start(
        numbers=numbers,
        given=given,
        words=WORDS,
        models=(),
        sizes={n: responses, t: columns},
        typed={**typed_texts(numbers, WORDS, columns), HEAD: numbers["scores.head"]},
    )
    return whole(start, witnessed)


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes."""
    parts = {**parts_in(file, WORDS), "scores.head": file.array(HEAD, 2)}
    return Numbers(kind="reward_model", level="scores", **file.head(), ppo=file.settings(), parts=parts)


def _numbers(draft: Draft) -> Numbers:
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


LEVEL = Level(
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
        ),
    ),
    tables={**TABLES, "scores": "what the head says after each token"},
    settings=REWARD_MODEL,
    of_settings="reward",
    presets=rm_presets,
    limits={"response": (1, MOST_RESPONSES), "position": (1, LONGEST), "token": (2, 64)},
    ragged=RAGGED,
    make=_numbers,
)
