"""The arrays of a file by neutral name, brought to slots of responses, [B, T]: their axes, or the sentence where they are odd;
layout found, mask found, prompts cut off, rows left out.

How columns belong to tokens is told by metadata or by the shapes, never guessed. Three layouts:
"response": column t is slot t of the response (verl, TRL 1.12, the neutral schema).
"sequence": column i belongs to token i of prompt and response, the first has none and holds 0 (NeMo-RL).
"shifted": one column fewer than tokens; column i belongs to token i + 1, as logits do (OpenRLHF, TRL 0.11.4).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from blueprint.dumps.batch import Minibatch
from blueprint.dumps.formats import Array, MinibatchError, Raw, require, said_shape
from blueprint.dumps.recognise import NAMES, Recognised, refuse_pairs
from blueprint.inputs import counted
from blueprint.quoting import unquoted

TOKENWISE = (
    "logprobs_old", "logprobs_ref", "logprobs_new", "logprobs_rollout", "entropy", "values_old", "values_new", "rewards",
    "advantages", "returns", "ratio", "token_loss", "kl_new", "rollout_weights",
)  # fmt: skip


class Given:
    """Arrays that were recognised: [B] for one number of a response, [B, T] for one of each token.

    called: by neutral name, what the file calls them. lengths: [B], of those that were lists of different lengths.
    """

    def __init__(self, raw: Raw, found: Recognised) -> None:
        """Takes what was recognised, logprobs_old among it. Raises MinibatchError where shapes are odd or disagree."""
        self.called = found.called
        self._shapes = {row.name: row.shape for row in found.names.rows if row.shape}
        self.arrays = {name: self._with_axes(name, raw.tensors[called]) for name, called in found.called.items()}
        self.lengths = {
            name: raw.lengths[called]
            for name, called in found.called.items()
            if called in raw.lengths and self[name].ndim == 2
        }
        self.shape = rows, width = self["logprobs_old"].shape
        require(rows * width > 0, f"{self.called_by('logprobs_old')} is empty; there is no response in the file.")
        for name in self.arrays:
            require(len(self[name]) == rows, self._disagree(name))
        self._check_lengths()

    def __contains__(self, name: str) -> bool:
        """Tells whether the file has it."""
        return name in self.arrays

    def __getitem__(self, name: str) -> Array:
        """Returns the array of a name."""
        return self.arrays[name]

    def called_by(self, name: str) -> str:
        """Names an array, with the file's own name where that is another."""
        return said(name, self.called[name])

    def shaped(self, name: str) -> str:
        """Names an array and its shape."""
        return f"{self.called_by(name)} {said_shape(self[name].shape)}"

    def _disagree(self, name: str) -> str:
        return f"{self.shaped(name)} and {self.shaped('logprobs_old')} disagree; they need the same rows and columns."

    def mask(self, name: str) -> Array:
        """Returns a mask as true and false; behind a row's length nothing counts.

        Raises:
            MinibatchError: an entry that is neither 0 nor 1, with the first position.
        """
        array = self[name]
        inside = np.arange(array.shape[-1]) < self.lengths[name][:, None] if name in self.lengths else np.True_
        odd = (array != 0) & (array != 1) & inside
        if odd.any():
            at = tuple(np.argwhere(odd)[0].tolist())
            where = ", ".join(f"{axis} {each}" for axis, each in zip(("row", "column"), at, strict=False))
            raise MinibatchError(f"{self.called_by(name)}: found {array[at]} in {where}; a mask is 0 or 1.")
        return np.asarray((array == 1) & inside)

    def whole(self, name: str) -> Array:
        """Returns whole numbers, −1 for NaN, as behind the end of a row of tokens.

        Raises:
            MinibatchError: numbers with a fraction, infinity, or true and false.
        """
        array = self[name]
        if array.dtype.kind in "iu":
            return array
        fractions = array.dtype.kind == "b" or np.any((array != np.floor(array)) & ~np.isnan(array))
        require(
            not (fractions or np.any(np.isinf(array))), f"{name}: found {array.dtype.name}, expected whole numbers."
        )
        require(not np.any(np.abs(array) > 2.0**53), f"{name}: found a number beyond 2⁵³, expected whole numbers.")
        return np.nan_to_num(array, nan=-1).astype(np.int64)

    def numbers(self, name: str) -> Array:
        """Returns numbers, one of a response or one of each token as logprobs_old has them. Raises MinibatchError."""
        array = self[name]
        require(array.dtype.kind != "b", f"{self.called_by(name)}: found true and false, expected numbers.")
        require(array.ndim == 1 or array.shape == self.shape, self._disagree(name))
        return array if array.dtype.kind == "f" else array.astype(np.float64)

    def _with_axes(self, name: str, array: Array) -> Array:
        """Returns one number per row as [B] and one per token as [B, T]; a last axis of length 1 is dropped."""
        shape = self._shapes[name]
        expected = [each.count(",") + 1 for each in shape.split(" or ")]
        if array.ndim == 3 and array.shape[2] == 1:
            array = array[:, :, 0]
        if 1 in expected and array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        require(
            array.ndim in expected,
            f"{self.called_by(name)}: found the shape {said_shape(array.shape)}, expected {shape}.",
        )
        return array

    def _check_lengths(self) -> None:
        """Refuses lists of one row that have different lengths, where they are about the same tokens."""
        mine = self.lengths.get("logprobs_old")
        for name in (*TOKENWISE, "response_mask"):
            other = self.lengths.get(name)
            if mine is None or other is None or self[name].shape != self.shape or np.array_equal(other, mine):
                continue
            row = int(np.argmax(other != mine))
            raise MinibatchError(
                f"row {row}: {self.called_by(name)} has {counted(int(other[row]), 'entry', 'entries')}, "
                f"{self.called_by('logprobs_old')} {mine[row]}; they need the same."
            )


def said(name: str, called: str) -> str:
    """Names a tensor, with the file's own name where that is another."""
    return name if name == called else f"{name} ({called})"


RESPONSE, SEQUENCE, SHIFTED = LAYOUTS = ("response", "sequence", "shifted")
_OF_LIBRARY = {"nemo_rl": SEQUENCE, "openrlhf": SHIFTED, "trl_0.11.4": SHIFTED}
DECIDES = 'say "layout": "response", "sequence" or "shifted" in the metadata'


def layout_of(given: Given, metadata: Mapping[str, Any], preset: str | None) -> tuple[str, str]:
    """Returns the layout and the reason for it, as a sentence's end.

    Raises:
        MinibatchError: two layouts are possible, or the metadata name none.
    """
    named = metadata.get("layout")
    if named is not None:
        require(
            named in LAYOUTS, f"metadata, layout: found {unquoted(str(named))}, expected one of {', '.join(LAYOUTS)}."
        )
        return str(named), "as the metadata say"
    width = given.shape[1]
    name = next((name for name in ("tokens", "attention_mask") if name in given), "")
    whole = given[name].shape[1] if name else None
    fits = "response_ids" in given and given["response_ids"].shape[1] == width
    if fits and whole != width + 1:
        return RESPONSE, "response_ids have as many columns as logprobs_old"
    if fits or whole is None:  # the longest response may follow a prompt of one token, or all do
        return _by_mask(given, preset)
    if whole == width + 1:
        return SHIFTED, f"{whole} tokens and {width} log-probs in a row"
    if whole > width:
        return RESPONSE, f"{whole} tokens of prompt and response, {width} log-probs in a row"
    require(whole >= width, f"{_shape(given, name)} has fewer columns than {_shape(given, 'logprobs_old')}.")
    if preset == "nemo_rl" or not np.any(given["logprobs_old"][:, 0]):
        return SEQUENCE, "as many log-probs as tokens in a row, the first of them 0"
    raise MinibatchError(
        f"logprobs_old has as many columns ({width}) as {name}, and its first column is not 0: column i could belong to token i "
        f"or to token i + 1; {DECIDES}."
    )


def _shape(given: Given, name: str) -> str:
    return f"{name} {said_shape(given[name].shape)}"


def _by_mask(given: Given, preset: str | None) -> tuple[str, str]:
    """Tells by where the masks begin, where the tokens themselves are missing or do not tell."""
    if preset in _OF_LIBRARY:
        return _OF_LIBRARY[preset], f"as {preset} has them"
    mask = given["response_mask"] if "response_mask" in given else np.ones(given.shape)
    begins = (mask[:, :1] == 1).all(axis=1) | ~np.any(mask == 1, axis=1)
    if np.all(begins):
        return RESPONSE, "every response begins in the first column"
    raise MinibatchError(
        f"the mask of row {int(np.argmin(begins))} begins behind column 0, and nothing tells whether a prompt stands before it "
        f"or the response has a hole there; {DECIDES}."
    )


_NEEDED = (
    "the file has no response_mask, and nothing to work it out from: attention_mask beside response_ids, padding_mask, "
    "last_slots, response_lengths, prompt_lengths with input_lengths or attention_mask, or rows of different lengths."
)


def mask_of(given: Given, layout: str) -> tuple[Array, str]:
    """Returns the mask that belongs to the columns of logprobs_old, and, where it was worked out, a note on how.

    Raises:
        MinibatchError: nothing tells the response, a mask that is not 0/1, or one of another shape.
    """
    if "response_mask" in given:
        return _fitted(given, layout, "response_mask", given.mask("response_mask")), ""
    if "padding_mask" in given:
        return (
            _fitted(given, layout, "padding_mask", ~given.mask("padding_mask")),
            "response_mask is where padding_mask is 0",
        )
    found = _of_responses(given) if layout == RESPONSE else _of_prompts(given, layout)
    if found is None:
        raise MinibatchError(_NEEDED)
    return found


def _fitted(given: Given, layout: str, name: str, mask: Array) -> Array:
    """Returns a mask with as many columns as logprobs_old; one of whole sequences loses its first token when shifted."""
    if layout == SHIFTED and mask.shape[1] == given.shape[1] + 1:
        mask = mask[:, 1:]
    require(mask.shape == given.shape, f"{given.shaped(name)} and {given.shaped('logprobs_old')} disagree.")
    return mask


def _of_responses(given: Given) -> tuple[Array, str] | None:
    """Tells by the ends of responses that begin in the first column, or by the lengths of lists that hold responses alone."""
    width = given.shape[1]
    columns = np.arange(width)
    for name, more in (("last_slots", 1), ("response_lengths", 0)):
        if name in given:
            ends = given[name].astype(np.int64)[:, None] + more
            return columns < ends, f"response_mask was worked out from {given.called[name]}"
    if "attention_mask" in given and "response_ids" in given and "attention_mask" not in given.lengths:
        mask = given.mask("attention_mask")[:, -width:]  # prompts are padded to one length, as in verl
        if mask[:, 0].all():  # else a response begins somewhere else
            mask = _fitted(given, RESPONSE, "attention_mask", mask)
            return mask, f"response_mask is the last {width} columns of attention_mask"
    if "logprobs_old" in given.lengths:
        mask = columns < given.lengths["logprobs_old"][:, None]
        return mask, f"response_mask: every entry of {given.called['logprobs_old']} counts"
    return None


def _of_prompts(given: Given, layout: str) -> tuple[Array, str] | None:
    """Tells by where prompts end: the response goes from there to the end of the text."""
    if "prompt_lengths" not in given:
        return None
    prompt = given["prompt_lengths"].astype(np.int64)[:, None]
    note = "response_mask was worked out from prompt_lengths and"
    if "attention_mask" in given:
        text = given.mask("attention_mask")
        mask = text & (np.cumsum(text, axis=1) > prompt)
        return _fitted(given, layout, "attention_mask", mask), f"{note} attention_mask"
    if "input_lengths" not in given:
        return None
    token = np.arange(given.shape[1]) + (layout == SHIFTED)
    return (token >= prompt) & (token < given["input_lengths"].astype(np.int64)[:, None]), f"{note} input_lengths"


_ONE_MORE = ("logprobs_ref", "logprobs_new", "logprobs_rollout", "values_old", "scores", "rewards", "advantages")
_LEFT_ASIDE = "tokens were left aside: nothing tells in which column the responses begin (response_ids, prompt_lengths)"


def shape(raw: Raw, found: Recognised) -> Minibatch:
    """Brings what was recognised to slots of responses; of the metadata only the layout is read.

    Raises:
        MinibatchError: missing tensors, shapes that disagree, two possible layouts, a mask that is not 0/1, no whole numbers.
    """
    check_enough(found)
    given = Given(raw, found)
    layout, reason = layout_of(given, raw.metadata, found.preset)
    mask, note = mask_of(given, layout)
    first, slots = places(mask, layout != RESPONSE, given.lengths.get("logprobs_old"))
    tokens, left_aside = tokens_of(given, first, slots, layout)
    notes = [f"layout: {layout}, {reason}", note, _empty(mask), left_aside]
    tensors = {"response_mask": cut(mask, first, slots), **tokens}
    for name in (*TOKENWISE, "scores"):
        if name in given:
            numbers = given.numbers(name)
            tensors[name] = numbers if numbers.ndim == 1 else cut(numbers, first, slots)
    if "advantages" in given and given["advantages"].ndim == 1:
        notes.append("advantages: one number of each response, which counts for each of its tokens")
        advantages, there = tensors["advantages"], tensors["response_mask"].copy()
        there[~there.any(axis=1), :1] = True  # of an empty response it stands in the first column, where no token is
        tensors["advantages"] = np.where(there, advantages[:, None], advantages.dtype.type(0))
    tensors |= _of_rows(given)
    dtypes = {name: raw.dtypes.get(found.called.get(name, ""), array.dtype.name) for name, array in tensors.items()}
    called = {name: found.called[name] for name in tensors if name in found.called}
    single = tuple(name for name in TOKENWISE if name in given and given[name].ndim == 1)
    sentences = tuple(filter(None, notes))
    return _left_out(Minibatch("", tensors, dtypes, called, slots, first, notes=sentences, of_responses=single), given)


def check_enough(found: Recognised) -> None:
    """Refuses a file with too little in it: logprobs_old and one tensor more are the least.

    Raises:
        MinibatchError: naming what is missing.
    """
    if "logprobs_old" not in found.called:
        refuse_pairs(found)
        has = ", ".join(unquoted(called) for called in found.called.values()) or "nothing that is known"
        likely = [unquoted(name) for name in found.unknown if "logp" in name.lower().replace("_", "")]
        near = f'; did you mean {likely[0]}? Say so in the metadata: "names"' if likely else ""
        raise MinibatchError(f"logprobs_old is missing ({NAMES.meanings['logprobs_old']}); the file has {has}{near}.")
    require(
        any(name in found.called for name in _ONE_MORE),
        f"logprobs_old alone tells nothing; save at least one of {', '.join(_ONE_MORE)} with it.",
    )


def _listed(rows: Array) -> str:
    return ", ".join(map(str, rows[:8])) + (" …" if len(rows) > 8 else "")


def _empty(mask: Array) -> str:
    """Says which responses have no token, if any."""
    rows = np.flatnonzero(~mask.any(axis=1))
    count = f"{len(rows)} of {counted(len(mask), 'response')} {'is' if len(rows) == 1 else 'are'} empty, row {_listed(rows)}"
    return f"{count}: only what the preset keeps behind the last token counts of them" if len(rows) else ""


def _of_rows(given: Given) -> dict[str, Array]:
    """Returns which responses ended by themselves, and which rows of the rollout they are, as far as the file says it."""
    found = {"ended": given.mask("ended")} if "ended" in given else {}
    if "truncated" in given and not found:
        found = {"ended": ~given.mask("truncated")}
    if "row_index" in given:
        found["row_index"] = index = given.whole("row_index")
        require(
            bool((index >= 0).all()), f"row_index: found {index.min()}, expected rows of the rollout, counted from 0."
        )
    return found


def _said_left_out(out: Array, count: int) -> str:
    are, their = ("is", "its") if len(out) == 1 else ("are", "their")
    return f"{len(out)} of {counted(count, 'row')} {are} left out, {their} sample_mask is 0: {_listed(out)}"


def _left_out(batch: Minibatch, given: Given) -> Minibatch:
    """Leaves out the rows whose sample_mask is 0."""
    keep = given.mask("sample_mask") if "sample_mask" in given else np.ones(len(batch.slots), np.bool_)
    if keep.all():
        return batch
    require(bool(keep.any()), f"{given.called_by('sample_mask')} is 0 in every row; nothing is left.")
    out = np.flatnonzero(~keep)
    return replace(
        batch,
        tensors={name: array[keep] for name, array in batch.tensors.items()},
        slots=batch.slots[keep],
        first=batch.first[keep],
        rows=np.flatnonzero(keep),
        notes=(*batch.notes, _said_left_out(out, len(keep))),
    )


def tokens_of(given: Given, first: Array, slots: Array, layout: str) -> tuple[dict[str, Array], str]:
    """Returns prompt_ids and response_ids as far as they can be told, as in the file or cut out of whole sequences, and a note.

    Raises:
        MinibatchError: no whole numbers, or tokens that do not fit the log-probs.
    """
    ids = {name: given.whole(name) for name in ("prompt_ids", "response_ids", "tokens") if name in given}
    tokens = ids.pop("tokens", None)
    if layout != RESPONSE:
        ids.pop("response_ids", None)
    elif "response_ids" in ids and ids["response_ids"].shape[1] != given.shape[1]:
        raise MinibatchError(
            f"response_ids {said_shape(ids['response_ids'].shape)} and logprobs_old {said_shape(given.shape)} disagree in "
            "their columns."
        )
    if tokens is None:
        return ids, ""
    start = _starts(given, tokens, ids) if layout == RESPONSE else first + (layout == SHIFTED)
    if start is None:
        return ids, _LEFT_ASIDE
    require(
        bool(np.all(start >= 0) and np.all(start + slots <= tokens.shape[1])),
        f"tokens {said_shape(tokens.shape)} do not hold the tokens of logprobs_old {said_shape(given.shape)} in the "
        f"layout {layout}.",
    )
    return {"prompt_ids": prompts(tokens, start), "response_ids": cut(tokens, start, slots)} | ids, ""


def _starts(given: Given, tokens: Array, ids: dict[str, Array]) -> Array | None:
    """Returns in which column of tokens a response begins that stands by itself elsewhere, [B]; None where nothing tells."""
    count, width = given.shape
    # Lists are as long as their tokens, so that responses end where they do; arrays may be padded anywhere.
    if {"tokens", "logprobs_old"} <= given.lengths.keys():
        return np.asarray(given.lengths["tokens"] - given.lengths["logprobs_old"])
    at_end = "response_ids" in ids and np.array_equal(tokens[:, -width:], ids["response_ids"])
    return np.full(count, tokens.shape[1] - width) if at_end else None


NO_TOKEN = -1
"""Stands in prompt_ids before a shorter prompt, where tokens were cut out of whole sequences."""


def places(mask: Array, whole_rows: bool, lengths: Array | None) -> tuple[Array, Array]:
    """Returns in which column slot 0 of each row stands, and how many slots follow, both [B].

    whole_rows: columns hold prompts too, so that a response begins where its mask does. An empty one begins where all
    others do, or else has no slots.
    """
    rows, width = mask.shape
    first = np.argmax(mask, axis=1) if whole_rows else np.zeros(rows, np.int64)
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
    width = int(slots.max())
    if np.all(first == first[0]):
        return array[:, first[0] : first[0] + width]
    found = np.zeros((len(array), width), array.dtype)
    for row, (start, count) in enumerate(zip(first.tolist(), slots.tolist(), strict=True)):
        found[row, :count] = array[row, start : start + count]
    return found


def prompts(tokens: Array, start: Array) -> Array:
    """Returns the tokens before the response, [B, P], at the right; before shorter ones stands `NO_TOKEN`."""
    width = int(start.max())
    if np.all(start == width):
        return tokens[:, :width]
    found = np.full((len(tokens), width), NO_TOKEN, np.int64)
    for row, count in enumerate(start.tolist()):
        found[row, width - count :] = tokens[row, :count]
    return found
