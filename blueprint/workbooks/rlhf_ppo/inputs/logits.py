"""Check that the numbers of level "logits" belong to the same slots and words, and freeze them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from blueprint.inputs.errors import NumbersError, check_count, counted, refusal, shown
from blueprint.inputs.limits import LIMITS, LONGEST_TEXT
from blueprint.inputs.result import Array, Settings
from blueprint.workbooks.common.conventions.data import PLAIN, Conventions
from blueprint.workbooks.common.conventions.table import gathered
from blueprint.workbooks.rlhf_ppo.inputs.files import LogitFile

POLICIES = ("old", "reference", "policy")
CRITICS = ("old_critic", "critic")


@dataclass(frozen=True, eq=False)
class LogitNumbers:
    """Hold all numbers of level "logits": a row per episode, an entry per slot.

    Attributes:
        vocabulary: the words; end_word ends a response.
        words: the words of every slot, (episodes, slots); mask: 1 on those of the response.
        logits: by policy, (episodes, slots, words). values: by critic, (episodes, slots). scores: (episodes,).
        ppo: the settings the file gives, and only those.
    """

    kind: ClassVar = "rlhf_ppo"

    name: str
    title: str
    about: str
    vocabulary: tuple[str, ...]
    end_word: str
    words: tuple[tuple[str, ...], ...]
    mask: Array
    logits: dict[str, Array]
    values: dict[str, Array]
    scores: Array
    ppo: Settings
    conventions: Conventions = PLAIN
    drawn_anew: tuple[str, ...] = ()


def logit_numbers(name: str, file: LogitFile) -> LogitNumbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if tables differ in shape, a word is not in the vocabulary, or the mask is not 0 and 1.
    """
    if file.conventions == "plain":
        raise NumbersError("conventions: found plain, expected live, the only ones of numbers that begin at logits.")
    ppo, conventions = gathered(file)
    text, words = file.text, file.text.responses
    _check_words(words, text.vocabulary)
    end = text.end_word or text.vocabulary[0]
    _check_known(end, "text.end_word", text.vocabulary)
    slots = len(words[0])
    mask = _mask(words, end) if text.mask is None else _given_mask(text.mask, words)
    rows = _rows(text.episodes, len(words))
    logits = {
        each: _cube(f"{each}.logits", getattr(file, each).logits, len(words), slots, len(text.vocabulary))
        for each in POLICIES
    }
    values = {each: _square(f"{each}.values", getattr(file, each).values, len(words), slots) for each in CRITICS}
    scores = file.reward_model.scores
    if len(scores) != len(words):
        raise refusal("reward_model.scores", counted(len(scores), "number"), f"{len(words)}, one per response")
    return LogitNumbers(
        name=name,
        title=file.title or name,
        about=file.about,
        vocabulary=tuple(text.vocabulary),
        end_word=end,
        words=tuple(tuple(words[row]) for row in rows),
        mask=mask[rows],
        logits={each: array[rows] for each, array in logits.items()},
        values={each: array[rows] for each, array in values.items()},
        scores=np.array(scores)[rows],
        ppo=ppo,
        conventions=replace(conventions, live=True),
    )


def _check_words(words: list[list[str]], vocabulary: list[str]) -> None:
    check_count("text.responses", len(words), "episode", *LIMITS["episodes"])
    check_count("text.vocabulary", len(vocabulary), "word", *LIMITS["vocabulary"])
    if len({word.lower() for word in vocabulary}) < len(vocabulary):
        raise NumbersError("text.vocabulary: two words are equal but for capitals; a sheet cannot tell them apart.")
    for row, response in enumerate(words, start=1):
        check_count(f"text.responses, row {row}", len(response), "word", 1, LONGEST_TEXT)
        if len(response) != len(words[0]):
            found = counted(len(response), "word")
            raise refusal(f"text.responses, row {row}", found, f"{len(words[0])}, as in row 1")
        for word in response:
            _check_known(word, f"text.responses, row {row}", vocabulary)


def _check_known(word: str, where: str, vocabulary: list[str]) -> None:
    if word not in vocabulary:
        raise refusal(where, shown(word), "a word of the vocabulary")


def _mask(words: Sequence[Sequence[str]], end: str) -> Array:
    """Mark the words up to and including the first end word."""
    is_end = np.array([[word == end for word in row] for row in words])
    ended_before = np.cumsum(is_end, axis=1) - is_end
    mask: Array = (ended_before == 0).astype(float)
    return mask


def _given_mask(given: list[list[float]], words: list[list[str]]) -> Array:
    mask = _square("text.mask", given, len(words), len(words[0]))
    if not np.isin(mask, (0, 1)).all():
        raise refusal("text.mask", shown(float(mask[~np.isin(mask, (0, 1))][0])), "0 or 1")
    return mask


def _rows(episodes: list[int] | None, count: int) -> list[int]:
    """Pick the episodes that are asked for, counted from 1; without a wish, all of them."""
    chosen = list(range(1, count + 1)) if episodes is None else episodes
    if not chosen or len(set(chosen)) < len(chosen) or not all(1 <= each <= count for each in chosen):
        raise refusal("text.episodes", str(chosen), f"numbers from 1 to {count}, each once")
    return [each - 1 for each in chosen]


def _square(key: str, rows: Sequence[Sequence[float]], episodes: int, slots: int) -> Array:
    if len(rows) != episodes:
        raise refusal(key, counted(len(rows), "row"), f"{episodes}, one per response")
    for number, row in enumerate(rows, start=1):
        if len(row) != slots:
            raise refusal(f"{key}, row {number}", counted(len(row), "number"), f"{slots}, one per slot")
    return np.array(rows, dtype=float)


def _cube(key: str, given: Sequence[Sequence[Sequence[float]]], episodes: int, slots: int, words: int) -> Array:
    if len(given) != episodes:
        raise refusal(key, counted(len(given), "episode"), f"{episodes}, one per response")
    for number, rows in enumerate(given, start=1):
        if len(rows) != slots or any(len(row) != words for row in rows):
            found = f"{len(rows)} rows of {' or '.join(sorted({str(len(row)) for row in rows}))}"
            raise refusal(f"{key}, episode {number}", found, f"{slots} rows of {words}, a number per word")
    return np.array(given, dtype=float)
