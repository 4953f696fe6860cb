"""The mask of the response, read or worked out from what else tells which words are of the response."""

from collections.abc import Mapping

import numpy as np

from blueprint.dumps.formats import Array, MinibatchError
from blueprint.dumps.formats.limits import said_shape
from blueprint.dumps.layout import RESPONSE, SEQUENCE, SHIFTED

_NEEDED = (
    "the file has no response_mask, and nothing to work it out from: attention_mask beside response_ids, padding_mask, "
    "last_slots, response_lengths, prompt_lengths with input_lengths or attention_mask, or rows of different lengths."
)


def zero_one(name: str, array: Array, called: str, lengths: Array | None = None) -> Array:
    """Returns a mask as true and false; behind a row's length nothing counts.

    Raises:
        MinibatchError: an entry that is neither 0 nor 1, with the first position.
    """
    if array.dtype == np.bool_:
        found = array
    else:
        odd = (array != 0) & (array != 1)
        if lengths is not None and array.ndim == 2:
            odd &= np.arange(array.shape[1]) < lengths[:, None]
        if odd.any():
            place = tuple(int(each) for each in np.argwhere(odd)[0])
            where = f"row {place[0]}" + (f", column {place[1]}" if len(place) > 1 else "")
            raise MinibatchError(f"{said(name, called)}: found {array[place]} in {where}; a mask is 0 or 1.")
        found = array == 1
    if lengths is not None and array.ndim == 2:
        found = found & (np.arange(array.shape[1]) < lengths[:, None])
    return np.asarray(found)


def said(name: str, called: str) -> str:
    """Names a tensor, with the file's own name where that is another."""
    return name if name == called else f"{name} ({called})"


class Masks:
    """Works out the mask that belongs to the columns of logprobs_old, [B, W], and says from what."""

    def __init__(
        self, given: Mapping[str, Array], called: Mapping[str, str], lengths: Mapping[str, Array], layout: str
    ) -> None:
        self.given, self.called, self.lengths, self.layout = given, called, lengths, layout
        self.rows, self.width = given["logprobs_old"].shape

    def find(self) -> tuple[Array, str]:
        """Returns the mask and, where it was worked out, a note on how.

        Raises:
            MinibatchError: nothing tells the response, a mask that is not 0/1, or one of another shape.
        """
        for way in (self._read, self._of_padding, self._of_slots, self._of_attention, self._of_prompts, self._of_rows):
            found = way()
            if found is not None:
                return found
        raise MinibatchError(_NEEDED)

    def _mask(self, name: str) -> Array:
        return zero_one(name, self.given[name], self.called[name], self.lengths.get(name))

    def _fitted(self, name: str, mask: Array) -> Array:
        """Returns a mask with as many columns as logprobs_old; one of whole sequences loses its first word when shifted."""
        if self.layout == SHIFTED and mask.shape[1] == self.width + 1:
            mask = mask[:, 1:]
        if mask.shape != (self.rows, self.width):
            raise MinibatchError(
                f"{said(name, self.called[name])} {said_shape(self.given[name].shape)} and "
                f"{said('logprobs_old', self.called['logprobs_old'])} {said_shape((self.rows, self.width))} disagree."
            )
        return mask

    def _read(self) -> tuple[Array, str] | None:
        return (
            (self._fitted("response_mask", self._mask("response_mask")), "") if "response_mask" in self.given else None
        )

    def _of_padding(self) -> tuple[Array, str] | None:
        if "padding_mask" not in self.given:
            return None
        return self._fitted("padding_mask", ~self._mask("padding_mask")), "response_mask is where padding_mask is 0"

    def _of_slots(self) -> tuple[Array, str] | None:
        for name, more in (("last_slots", 1), ("response_lengths", 0)):
            if name in self.given and self.layout == RESPONSE:
                ends = self.given[name].astype(np.int64)[:, None] + more
                return np.arange(self.width) < ends, f"response_mask was worked out from {self.called[name]}"
        return None

    def _of_attention(self) -> tuple[Array, str] | None:
        """The last columns of whole sequences, where prompts are padded to one length, as in verl."""
        known = self.layout == RESPONSE and {"attention_mask", "response_ids"} <= self.given.keys()
        if not known or "attention_mask" in self.lengths:
            return None
        mask = self._mask("attention_mask")[:, -self.width :]
        if not mask[:, 0].all():
            return None  # a response begins somewhere else
        return self._fitted("attention_mask", mask), f"response_mask is the last {self.width} columns of attention_mask"

    def _of_prompts(self) -> tuple[Array, str] | None:
        """Words from the end of the prompt to the end of the text."""
        if "prompt_lengths" not in self.given or self.layout == RESPONSE:
            return None
        prompt = self.given["prompt_lengths"].astype(np.int64)[:, None]
        if "attention_mask" in self.given:
            texts = self._mask("attention_mask")
            mask = texts & (np.cumsum(texts, axis=1) > prompt)
            mask = mask[:, 1:] if self.layout == SHIFTED and mask.shape[1] == self.width + 1 else mask
            return self._fitted(
                "attention_mask", mask
            ), "response_mask was worked out from prompt_lengths and attention_mask"
        if "input_lengths" not in self.given:
            return None
        word = np.arange(self.width) + (0 if self.layout == SEQUENCE else 1)
        ends = self.given["input_lengths"].astype(np.int64)[:, None]
        return (word >= prompt) & (word < ends), "response_mask was worked out from prompt_lengths and input_lengths"

    def _of_rows(self) -> tuple[Array, str] | None:
        """Every entry of a list of log-probs is of the response, where lists hold responses alone."""
        if "logprobs_old" not in self.lengths or self.layout != RESPONSE:
            return None
        mask = np.arange(self.width) < self.lengths["logprobs_old"][:, None]
        return mask, f"response_mask: every entry of {self.called['logprobs_old']} counts"
