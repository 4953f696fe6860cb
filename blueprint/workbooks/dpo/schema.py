"""Level "preferences": two responses to each prompt, one chosen and one rejected; logits under two models are given."""

from collections.abc import Mapping
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
    shown,
)
from blueprint.inputs.entries import Flag, Number, Positive, Word
from blueprint.workbooks.common.side_by_side import compared_by_name, parts_of_presets, presets_in

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
DPO = RECORDS.settings
"""The settings, their records being `conventions.toml`."""
PRESETS = parts_of_presets("trl_1.16", "openrlhf")
FIRST = "the first token of a text, which nothing predicts, has no entry"
"""Why a text has one position less than tokens."""
SETTINGS = "settings; one that is left out is as in the preset"
_SLOTS = ("response", "position")
MODELS = {"policy": "the policy in training", "reference": "the reference"}
TYPED = {
    "text.vocabulary": "vocabulary", "text.texts": "word_written", "text.response": "mask", "text.there": "text.mask",
    "text.pair": "pair.number", "text.chosen": "response.chosen", "rewards.true": "true.reward",
    "mismatched.texts": "mismatched.word_written", "mismatched.response": "mismatched.tokens",
    **{f"{name}.logits": f"{name}.logits" for name in MODELS},
    **{f"mismatched.{name}": f"mismatched.{name}.logits" for name in MODELS},
}  # fmt: skip
"""By key in a numbers file the block in which it is typed."""
WORDS = ("text.texts", "mismatched.texts")
MISMATCHED = tuple(key for key in TYPED if key.startswith("mismatched."))
Readers = tuple[tuple[str, tuple[str, ...]], ...]
"""Settings that read something: with these words, or, where there are none, if it is not the default."""
READ_BY: Mapping[str, Readers] = {
    "rewards": (("loss.form", ("rpo_squared", "rpo_backward", "rpo_forward")),),
    "mismatched": (("loss.form", ("kto",)),),
}
"""By table of a numbers file what reads it; to all others it may be left out."""


def reader_in(readers: Readers, in_force: Mapping[str, float | str]) -> tuple[str, float | str] | None:
    """Return the first setting in force that reads something, with its word; None where none does."""
    for key, words in readers:
        if in_force[key] in words if words else in_force[key] != DPO[key].value:
            return key, in_force[key]
    return None


@cache
def dpo_presets() -> Catalogue:
    """Read the presets of DPO and its relatives: the default and the libraries, by version."""
    return catalogue(FOLDER, RECORDS)


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes."""
    parts: dict[str, Any] = {key: file.array(name) for key, name in TYPED.items()}
    parts["text.vocabulary"] = tuple(map(str, parts["text.vocabulary"]))
    for key in WORDS:
        parts[key] = tuple(tuple(map(str, row)) for row in parts[key])
    head = {"kind": "dpo", "level": "preferences", **file.head()}
    return Numbers(**head, ppo=file.settings(), parts=parts | presets_in(file, dpo_presets()))


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, a token is unknown, or a pair is not one chosen and
            one rejected response.
    """
    parts = compared_by_name(draft.fitted(), dpo_presets())
    check_one_more(parts, "text.texts", "text.response", FIRST)
    _check_read(parts, draft.settings)
    known = {each.casefold() for each in parts["text.vocabulary"]}
    for key in filter(parts.__contains__, WORDS):
        for place, row in enumerate(parts[key], start=1):
            if stray := next((word for word in row if word.casefold() not in known), ""):
                raise refusal(f"{key}, row {place}", stray, "a token of text.vocabulary")
    found = sorted(zip(parts["text.pair"], parts["text.chosen"], strict=True))
    pairs = [(number, chosen) for number in range(1, len(found) // 2 + 1) for chosen in (0, 1)]
    if not np.array_equal(np.array(found, dtype=float), np.array(pairs, dtype=float)):
        raise refusal("text.pair", "pairs that are not one chosen and one rejected response each", "1, 1, 2, 2, …")
    return draft.numbers(parts)


def _check_read(parts: Mapping[str, Any], settings: Mapping[str, float | str]) -> None:
    """Check that everything is given that a loss in use reads, and of mismatched texts all or nothing.

    Raises:
        NumbersError: with what reads what is missing.
    """
    used: list[Mapping[str, float | str]] = [{**dpo_presets().preset(parts["preset"]).values, **settings}]
    used += [dpo_presets().preset(name).values for name in parts["compare"]]
    for table, readers in READ_BY.items():
        keys = [key for key in TYPED if key.startswith(f"{table}.")]
        missing = [key for key in keys if key not in parts]
        asked = next(filter(None, (reader_in(readers, in_force) for in_force in used)), None)
        if missing and asked:
            key, word = asked
            raise refusal(
                missing[0], f"nothing, and {key} = {shown(word)} reads it", f"{', '.join(missing)}; or another loss"
            )
        if missing and len(missing) < len(keys):
            raise refusal(missing[0], "nothing", f"all of {', '.join(keys)}, or none of them")


LEVEL = Level(
    "dpo",
    "preferences",
    "logits of pairs of responses, one chosen and one rejected, are given",
    parts=(
        *PRESETS,
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token"),
        Part("text.texts", Word, ("response", "token of the text"), "a text per row, its prompt first, pads last", noun="token"),
        Part("text.response", Flag, _SLOTS, "1 on the tokens of the response; the first token of a text has no entry"),
        Part("text.there", Flag, _SLOTS, "1 on prompt and response, 0 on pads; the first token of a text has no entry"),
        Part("text.pair", Positive, ("response",), "the number of the pair"),
        Part("text.chosen", Flag, ("response",), "1 on the chosen response of the pair"),
        Part("rewards.true", Number, ("response",), "the true reward of each response, which RPO alone reads; else 0", None),
        Part("mismatched.texts", Word, _SLOTS, "for KTO alone: each prompt with the response to another one", None, noun="token"),
        Part("mismatched.response", Flag, _SLOTS, "1 on the tokens of the mismatched response", None),
        *(Part(f"{name}.logits", Number, (*_SLOTS, "token"), f"{says}: a list per response, a row per position")
          for name, says in MODELS.items()),
        *(Part(f"mismatched.{name}", Number, (*_SLOTS, "token"), f"{says} on the mismatched texts", None)
          for name, says in MODELS.items()),
    ),
    tables={
        **dict.fromkeys(RECORDS.titles, SETTINGS), "text": "what was asked, chosen and rejected", "rewards": "what was meant",
        "mismatched": "each prompt with another response", **MODELS, "reference": "logits, and settings",
    },
    settings=DPO,
    of_settings="dpo",
    presets=dpo_presets,
    limits={"response": ROWS, "position": (1, LONGEST), "token": (2, 64), "token of the text": (2, LONGEST + 1)},
    why={"position": FIRST},
    make=_numbers,
)  # fmt: skip
