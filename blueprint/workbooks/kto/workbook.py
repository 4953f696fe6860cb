"""The blueprint of KTO: single responses with their log-probs, and settings; what it says and its sheets stand in `lesson.toml`."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import (
    LONGEST,
    ROWS,
    Catalogue,
    Draft,
    Level,
    Numbers,
    Part,
    catalogue,
    padded,
    refusal,
    settings_in,
    within,
)
from blueprint.inputs.entries import About, Flag, LogProb
from blueprint.language import Block
from blueprint.workbooks.common import Choices, Rows, Settings, all_in_range
from blueprint.workbooks.common.lesson import Lesson
from blueprint.workbooks.kto.definitions import LABELS, STEPS, in_turn, n, t

FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
KTO = RECORDS.settings
MODELS = ("policy", "reference")
_TOKEN = "token of the response"


@cache
def kto_presets() -> Catalogue:
    """Read the presets of KTO: the default and the libraries, by version."""
    return catalogue(FOLDER, RECORDS)


def _checked(draft: Draft) -> Numbers:
    """Make the numbers of a checked file. Raises NumbersError where no response has a token."""
    parts = draft.fitted()
    if not any(map(len, parts["policy.logprobs"])):
        raise refusal("policy.logprobs", "no token in any response", "a token in at least one of them")
    return draft.numbers(parts)


def _typed(numbers: Numbers) -> dict[str, Any]:
    """Lay the log-probs of each response out, 0 behind its last token."""
    rows = {model: numbers[f"{model}.logprobs"] for model in MODELS}
    width = max(map(len, rows["policy"]))
    return {
        "mask": padded([[1.0] * len(row) for row in rows["policy"]], width, 0.0),
        **{f"{model}.logprobs": padded(each, width, 0.0) for model, each in rows.items()},
    }


def _saved(file: Any, parts: Any) -> dict[str, Any]:
    """Return the log-probs of a saved workbook, each response as long as it is."""
    mask = np.nan_to_num(file.array("mask", 2))
    return {f"{model}.logprobs": within(file.array(f"{model}.logprobs", 2), mask, float) for model in MODELS}


LEVEL = Level(
    "kto",
    "single-responses",
    "single responses, each good or bad by itself, with their log-probs",
    parts=(
        Part("responses.prompts", About, ("response",), "what was asked; a line for each response", noun="prompt", block="prompt"),
        Part("responses.good", Flag, ("response",), "1 where the response is desirable, 0 where it is not", block="response.good"),
        Part("policy.logprobs", LogProb, ("response", _TOKEN), "a list for each response, a log-prob for each of its tokens"),
        Part("policy.elsewhere", LogProb, ("response",), "log-prob of the response to another prompt, behind this prompt",
             block="elsewhere.policy"),
        Part("reference.logprobs", LogProb, ("response", _TOKEN), "the same under the reference"),
        Part("reference.elsewhere", LogProb, ("response",), "the same under the reference", block="elsewhere.reference"),
    ),
    tables={
        "kto": "settings; one that is left out is as here", "responses": "what was asked, and whether the response is good",
        "policy": "log-probs of the policy in training", "reference": "log-probs of the reference",
    },
    settings=KTO,
    of_settings="kto",
    limits={"response": ROWS, _TOKEN: (0, LONGEST)},
    ragged=(_TOKEN,),
    make=_checked,
    more_typed=_typed,
    more_saved=_saved,
)  # fmt: skip


def checks_of(of: Rows, chosen: Settings, use: Choices) -> list[Block]:
    """Measure how far from 0 is what must be 0."""
    return [*in_turn(of, use), all_in_range(chosen)]


LESSON = Lesson(FOLDER, LEVEL, LABELS, n=n, steps=STEPS, checks=checks_of, sizes={n: "response.good", t: ("mask", 1)})
