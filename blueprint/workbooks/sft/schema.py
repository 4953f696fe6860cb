"""Levels of supervised fine-tuning: "labelled", where the policy's logits are given, and "demonstrations", where it is run."""

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
    check_one_more,
    refusal,
    settings_in,
)
from blueprint.inputs.entries import Flag, Number, Text, Word
from blueprint.workbooks.common import numbers_file, update

FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
SFT = RECORDS.settings
"""The settings, their records being `conventions.toml`."""
SETTINGS = "settings; one that is left out is as in the preset"
_SLOTS = ("text", "position")
FIRST = "the first token of a text, which nothing predicts, has no entry"
"""Why a text has one position less than tokens."""
WEIGHTS = ("policy.E", "policy.W", "policy.Y")


@cache
def sft_presets() -> Catalogue:
    """Read the presets of supervised fine-tuning: the default and the libraries, by version."""
    return catalogue(FOLDER, RECORDS)


def _labelled(draft: Draft) -> Numbers:
    return draft.numbers(_checked(draft))


def _demonstrations(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: as `_checked`, or if W has not a row for each number of x and of h, and one for 1.
    """
    parts = update.with_update(draft, _checked(draft), dict(zip(WEIGHTS, WEIGHTS, strict=True)))
    numbers_file.check_inputs(parts, "policy")
    return draft.numbers(parts)


def _checked(draft: Draft) -> dict[str, Any]:
    """Return the parts of a file as arrays and tuples.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, a token is unknown, a response is outside its text, or
            there are more microbatches than texts.
    """
    sft_presets().preset(draft.parts["preset"])
    parts = draft.fitted()
    check_one_more(parts, "text.texts", "text.response", FIRST)
    known = {each.casefold() for each in parts["text.vocabulary"]}
    for place, row in enumerate((*parts["text.texts"], (parts["text.end_word"],)), start=1):
        if stray := next((word for word in row if word.casefold() not in known), ""):
            where = f"text.texts, row {place}" if place <= len(parts["text.texts"]) else "text.end_word"
            raise refusal(where, stray, "a token of text.vocabulary")
    there, response = (np.asarray(parts[f"text.{name}"], float) for name in ("there", "response"))
    if (np.diff(there, axis=1) > 0).any():
        raise refusal("text.there", "a token behind a pad", "1 on every token of a text, then 0: pads come last")
    if (response > there).any():
        raise refusal("text.response", "1 on a pad", "1 on tokens of the response alone, which text.there has, too")
    if (microbatches := int(draft.settings.get("microbatches", 1))) > (texts := len(parts["text.texts"])):
        raise refusal("sft.microbatches", str(microbatches), f"at most {texts}: each of them has a text")
    return parts


def _numbered(numbers: Numbers) -> dict[str, Any]:
    """Return the numbers of the texts, in a block whose name says the level."""
    return {f"{numbers.level}.number": np.arange(1.0, 1 + len(numbers["text.texts"]))}


def _level(word: str, begins: str, policy: tuple[Part, ...], **more: Any) -> Level:
    texts = (
        numbers_file.PRESET,
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token", block="vocabulary"),
        Part("text.end_word", Text, (), "the token that ends a response", block="end_word"),
        Part("text.texts", Word, ("text", "token of the text"), "a text per row, its prompt first, pads last",
             noun="token", block="word_written"),
        Part("text.response", Flag, _SLOTS, "1 on the tokens of the response; the first token of a text has no entry",
             block="mask"),
        Part("text.there", Flag, _SLOTS, "1 on prompt and response, 0 on pads; the first token of a text has no entry",
             block="text.mask"),
    )  # fmt: skip
    tables = {**dict.fromkeys(RECORDS.titles, SETTINGS), "text": "what was demonstrated", **more.pop("tables")}
    return Level(
        "sft", word, begins, (*texts, *policy), tables, settings=SFT, of_settings="sft", presets=sft_presets,
        limits={"text": ROWS, "position": (1, LONGEST), "token of the text": (2, LONGEST + 1),
                **numbers_file.LIMITS}, why={"position": FIRST}, more_typed=_numbered, **more,
    )  # fmt: skip


LABELLED = _level(
    "labelled",
    "demonstrations and the logits of a policy are given",
    (Part("policy.logits", Number, (*_SLOTS, "token"), "a list per text, a row per position", block="policy.logits"),),
    tables={"policy": "the policy in training"},
    make=_labelled,
)
DEMONSTRATIONS = _level(
    "demonstrations",
    "a policy is run over demonstrations, whose tokens it reads",
    (*update.PARTS, *update.kept_parts(WEIGHTS), *map(numbers_file.weight, WEIGHTS)),
    tables={"update": update.ABOUT, "policy": "the policy in training"},
    make=_demonstrations,
    values=update.stated,
    more_saved=update.saved_update,
)
