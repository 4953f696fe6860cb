"""Levels of supervised fine-tuning: "labelled", where the policy's logits are given, and "demonstrations", where it is run."""

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
    check_one_more,
    refusal,
    settings_in,
)
from blueprint.inputs.entries import Flag, Number, Text, Word
from blueprint.workbooks.common import epochs, numbers_file

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved


FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
SFT = RECORDS.settings
"""The settings, their records being `conventions.toml`."""
SETTINGS = "settings; one that is left out is as in the preset"
_SLOTS = ("text", "position")
FIRST = "the first token of a text, which nothing predicts, has no entry"
"""Why a text has one position less than tokens."""
TEXTS = {
    "text.vocabulary": "vocabulary", "text.end_word": "end_word", "text.texts": "word_written", "text.response": "mask",
    "text.there": "text.mask",
}  # fmt: skip
"""By key in a numbers file the block in which it is typed."""
LOGITS = {"policy.logits": "policy.logits"}
WEIGHTS = {f"policy.{name}": f"policy.{name}" for name in "EWY"}
UPDATE = "update"
"""What numbers of level "demonstrations" say besides their parts: how the weights move (`epochs.Update`)."""


@cache
def sft_presets() -> Catalogue:
    """Read the presets of supervised fine-tuning: the default and the libraries, by version."""
    return catalogue(FOLDER, RECORDS)


def saved_labelled(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook that begins at logits, or, of a blank one, numbers of its sizes."""
    return _saved(file, "labelled", LOGITS)


def saved_demonstrations(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook that begins at weights, or, of a blank one, numbers of its sizes."""
    return _saved(file, "demonstrations", WEIGHTS, **{UPDATE: epochs.update_in(file)})


def _saved(file: "Saved", level: str, policy: dict[str, str], **more: Any) -> Numbers:
    parts: dict[str, Any] = {key: file.array(name) for key, name in (TEXTS | policy).items()}
    parts["text.vocabulary"] = tuple(map(str, parts["text.vocabulary"]))
    parts["text.texts"] = tuple(tuple(map(str, row)) for row in parts["text.texts"])
    parts["text.end_word"] = str(parts["text.end_word"])
    head = {"kind": "sft", "level": level, **file.head()}
    return Numbers(**head, ppo=file.settings(), parts=parts | more | {"preset": file.preset(sft_presets())})


def _labelled(draft: Draft) -> Numbers:
    return draft.numbers(_checked(draft))


def _demonstrations(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: as `_checked`, or if W has not a row for each number of x and of h, and one for 1.
    """
    parts, update = _checked(draft), epochs.update_of(draft)
    numbers_file.check_inputs(parts, "policy")
    kept = {key: value for key, value in parts.items() if not key.startswith("update.")}
    return draft.numbers(kept | {UPDATE: update})


def _checked(draft: Draft) -> dict[str, Any]:
    """Return the parts of a file as arrays and tuples.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, a token is unknown, or a response is outside its text.
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
    return parts


def _values(numbers: Numbers) -> dict[str, Any]:
    """Return what a file of level "demonstrations" says."""
    parts = dict(numbers.parts)
    update = parts.pop(UPDATE, None)
    return parts if update is None else parts | epochs.values_of(update)


def _level(word: str, begins: str, policy: tuple[Part, ...], **more: Any) -> Level:
    texts = (
        Part("preset", Text, (), "the library or paper whose settings are used where none is given", "default"),
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token"),
        Part("text.end_word", Text, (), "the token that ends a response"),
        Part(
            "text.texts",
            Word,
            ("text", "token of the text"),
            "a text per row, its prompt first, pads last",
            noun="token",
        ),
        Part("text.response", Flag, _SLOTS, "1 on the tokens of the response; the first token of a text has no entry"),
        Part("text.there", Flag, _SLOTS, "1 on prompt and response, 0 on pads; the first token of a text has no entry"),
    )
    tables = {**dict.fromkeys(RECORDS.titles, SETTINGS), "text": "what was demonstrated", **more.pop("tables")}
    return Level(
        "sft", word, begins, (*texts, *policy), tables, settings=SFT, of_settings="sft", presets=sft_presets,
        limits={"text": ROWS, "position": (1, LONGEST), "token of the text": (2, LONGEST + 1),
                **numbers_file.LIMITS}, why={"position": FIRST}, **more,
    )  # fmt: skip


LABELLED = _level(
    "labelled",
    "demonstrations and the logits of a policy are given",
    (Part("policy.logits", Number, (*_SLOTS, "token"), "a list per text, a row per position"),),
    tables={"policy": "the policy in training"},
    make=_labelled,
)
DEMONSTRATIONS = _level(
    "demonstrations",
    "a policy is run over demonstrations, whose tokens it reads",
    (
        *epochs.PARTS,
        *map(numbers_file.weight, WEIGHTS),
    ),
    tables={"update": epochs.ABOUT, "policy": "the policy in training"},
    make=_demonstrations,
    values=_values,
)
