"""Level "responses": the responses to several prompts, logits under four models and scores given; its presets."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    check_vocabulary,
    refusal,
    settings_in,
)
from blueprint.inputs.entries import Flag, Number, Text, Word
from blueprint.workbooks.common.side_by_side import compared_by_name, parts_of_presets, presets_in

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
GRPO = RECORDS.settings
"""The settings, their records being `conventions.toml`."""
MODELS = {"policy": "the policy in training", "old": "the policy at the step's start", "reference": "the reference",
          "engine": "the generation engine, which wrote the tokens"}  # fmt: skip
SETTINGS = "settings; one that is left out is as in the preset"
_SLOTS = ("response", "position")
TYPED = {
    "text.vocabulary": "vocabulary", "text.prompts": "prompt", "text.responses": "word_written", "text.mask": "mask",
    "text.truncated": "truncated", "reward.scores": "score", "reward.greedy": "greedy",
    **{f"{name}.logits": f"{name}.logits" for name in MODELS},
}  # fmt: skip
"""By key in a numbers file the block in which it is typed."""


ONLY_RUN = (
    "update_step", "reward.from", "reward.answer", "reward.right", "reward.form", "reward.free_tokens", "reward.token_cost",
)  # fmt: skip
"""Settings that say something only where models are run, and rules score what they write."""
GIVEN = {key: each for key, each in GRPO.items() if key not in ONLY_RUN}
"""The settings where logits, or log-probs, and scores are given."""
PRESETS = parts_of_presets("trl_grpo", "verl_grpo")
TABLES = {"ppo": SETTINGS, **{group: SETTINGS for group in RECORDS.titles if group not in ("ppo", "reward")}}
"""The tables of settings, with what describes them."""


@cache
def grpo_presets() -> Catalogue:
    """Read the presets of GRPO and its family: the default, the libraries and the papers."""
    return catalogue(FOLDER, RECORDS)


@cache
def presets_of_given() -> Catalogue:
    """Read the same with the settings that say something where models are not run."""
    return replace(grpo_presets(), settings=GIVEN)


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes."""
    parts: dict[str, Any] = {key: file.array(name) for key, name in TYPED.items()}
    for key in ("text.vocabulary", "text.prompts"):
        parts[key] = tuple(map(str, parts[key]))
    parts["text.responses"] = tuple(tuple(map(str, row)) for row in parts["text.responses"])
    head = {"kind": "grpo", "level": "responses", **file.head()}
    return Numbers(**head, ppo=file.settings(), parts=parts | presets_in(file, grpo_presets()))


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, or the responses are not as many for each prompt.
    """
    parts = compared_by_name(draft.fitted(), grpo_presets())
    responses, prompts, known = parts["text.responses"], parts["text.prompts"], parts["text.vocabulary"]
    check_vocabulary(known)
    if len(responses) % len(prompts):
        raise refusal(
            "text.responses", f"{len(responses)} responses", f"as many for each of the {len(prompts)} prompts"
        )
    for place, row in enumerate(responses, start=1):
        if stray := next((word for word in row if word.casefold() not in {each.casefold() for each in known}), ""):
            raise refusal(f"text.responses, row {place}", stray, "a token of text.vocabulary")
    if np.any(np.diff(np.asarray(parts["text.mask"]), axis=1) > 0):
        raise refusal("text.mask", "a 1 behind a 0", "1 from the first position to the last token, 0 behind")
    return draft.numbers(parts)


LEVEL = Level(
    "grpo",
    "responses",
    "logits and scores of several responses to each prompt are given, nothing is drawn",
    parts=(
        *PRESETS,
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token"),
        Part("text.prompts", Text, ("prompt",), "a text for each prompt; the responses to one stand side by side"),
        Part("text.responses", Word, _SLOTS, "a response per row, a token of the vocabulary per position", noun="token"),
        Part("text.mask", Flag, _SLOTS, "1 on the tokens of the response, 0 behind"),
        Part("text.truncated", Flag, ("response",), "1 where the response was cut off before its end"),
        Part("reward.scores", Number, ("response",), "a number per response"),
        Part("reward.greedy", Number, ("prompt",), "the score of the greedy response to each prompt, which ReMax subtracts"),
        *(
            Part(f"{name}.logits", Number, (*_SLOTS, "token"), f"{says}: a list per response, a row per position")
            for name, says in MODELS.items()
        ),
    ),
    tables={
        **TABLES,
        "text": "what was asked and written", "reward": "scores, and settings", **MODELS,
    },
    settings=GIVEN,
    presets=presets_of_given,
    limits={"response": ROWS, "position": (1, LONGEST), "token": (2, 64), "prompt": ROWS},
    make=_numbers,
)  # fmt: skip
