"""The words themselves, as a file has them or cut out of whole sequences; and how arrays are cut to the slots of the response."""

from collections.abc import Mapping

import numpy as np

from blueprint.dumps.formats import Array, MinibatchError
from blueprint.dumps.formats.limits import said_shape
from blueprint.dumps.layout import RESPONSE, SHIFTED

_LEFT_ASIDE = "tokens were left aside: nothing tells in which column the responses begin (response_ids, prompt_lengths)"


class Words:
    """Finds the words of prompts and responses; first and slots are those of `Minibatch`, [B]."""

    def __init__(
        self, given: Mapping[str, Array], lengths: Mapping[str, Array], first: Array, slots: Array, layout: str
    ) -> None:
        self.given, self.lengths, self.first, self.slots, self.layout = given, lengths, first, slots, layout
        self.shape = given["logprobs_old"].shape
        self.ids = {
            name: whole_numbers(name, given[name]) for name in ("prompt_ids", "response_ids", "tokens") if name in given
        }

    def find(self) -> tuple[dict[str, Array], list[str]]:
        """Returns prompt_ids and response_ids as far as they can be told, and notes.

        Raises:
            MinibatchError: no whole numbers, or words that do not fit the log-probs.
        """
        found = {name: self.ids[name] for name in ("prompt_ids",) if name in self.ids}
        if self.layout == RESPONSE and "response_ids" in self.ids:
            found["response_ids"] = self._fitting(self.ids["response_ids"])
        if "tokens" not in self.ids:
            return found, []
        tokens, start = self.ids["tokens"], self._starts()
        if start is None:
            return found, [_LEFT_ASIDE]
        if np.any(start < 0) or np.any(start + self.slots > tokens.shape[1]):
            raise MinibatchError(
                f"tokens {said_shape(tokens.shape)} do not hold the words of logprobs_old {said_shape(self.shape)} in the "
                f"layout {self.layout}."
            )
        return {"prompt_ids": prompts(tokens, start), "response_ids": cut(tokens, start, self.slots)} | found, []

    def _fitting(self, ids: Array) -> Array:
        if ids.shape[1] != self.shape[1]:
            raise MinibatchError(
                f"response_ids {said_shape(ids.shape)} and logprobs_old {said_shape(self.shape)} disagree in their columns."
            )
        return ids

    def _starts(self) -> Array | None:
        """Returns in which column of tokens the word of slot 0 stands, [B]; None where nothing tells."""
        if self.layout != RESPONSE:
            return np.asarray(self.first + (1 if self.layout == SHIFTED else 0))
        tokens, width = self.ids["tokens"], self.shape[1]
        ends = self.lengths.get("tokens", np.full(len(tokens), tokens.shape[1], np.int64))
        start = ends - self.lengths.get("logprobs_old", np.full(len(tokens), width, np.int64))
        same = "response_ids" in self.ids and np.array_equal(tokens[:, -width:], self.ids["response_ids"])
        # Lists are as long as their words, so that responses end where they do; arrays may be padded anywhere.
        return start if same or ("tokens" in self.lengths and "logprobs_old" in self.lengths) else None


def whole_numbers(name: str, array: Array) -> Array:
    """Returns whole numbers, −1 for NaN, as behind the end of a row of words.

    Raises:
        MinibatchError: numbers with a fraction, infinity, or true and false.
    """
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind == "b" or np.any((array != np.floor(array)) & ~np.isnan(array)) or np.any(np.isinf(array)):
        raise MinibatchError(f"{name}: found {array.dtype.name}, expected whole numbers.")
    if np.any(np.abs(array) > 2.0**53):
        raise MinibatchError(f"{name}: found a number beyond 2⁵³, expected whole numbers.")
    return np.nan_to_num(array, nan=-1).astype(np.int64)


NO_WORD = -1
"""Stands in prompt_ids before a shorter prompt, where words were cut out of whole sequences."""


def places(mask: Array, whole_rows: bool, lengths: Array | None) -> tuple[Array, Array]:
    """Returns in which column slot 0 of each row stands, and how many slots follow, both [B].

    whole_rows: columns hold prompts too, so that a response begins where its mask does. An empty one begins where all
    others do, or else has no slots.
    """
    rows, width = mask.shape
    first = np.argmax(mask, axis=1) if whole_rows and width else np.zeros(rows, np.int64)
    ends = np.full(rows, width, np.int64) if lengths is None else lengths
    empty = ~mask.any(axis=1)
    if whole_rows and empty.any() and not empty.all():
        others = np.unique(first[~empty])
        first = np.where(empty, others[0] if len(others) == 1 else ends, first)
    return first, ends - first


def cut(array: Array, first: Array, slots: Array) -> Array:
    """Returns [B, T] from [B, W], T the most slots of a row: a view where all rows begin in one column.

    Columns behind a row's slots hold 0 where rows were moved.
    """
    width = int(slots.max(initial=0))
    if np.all(first == first[:1]):
        start = int(first[0]) if len(first) else 0
        return array[:, start : start + width]
    found = np.zeros((len(array), width), array.dtype)
    for row, (start, count) in enumerate(zip(first.tolist(), slots.tolist(), strict=True)):
        found[row, :count] = array[row, start : start + count]
    return found


def prompts(tokens: Array, start: Array) -> Array:
    """Returns the words before the response, [B, P], at the right; before shorter ones stands `NO_WORD`."""
    width = int(start.max(initial=0))
    if np.all(start == width):
        return tokens[:, :width]
    found = np.full((len(tokens), width), NO_WORD, np.int64)
    for row, count in enumerate(start.tolist()):
        found[row, width - count :] = tokens[row, :count]
    return found
