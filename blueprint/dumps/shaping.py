"""Arrays of a file brought to slots of responses, [B, T]: layout found, mask found, prompts cut off, rows left out."""

from dataclasses import replace

import numpy as np

from blueprint.dumps.batch import Minibatch
from blueprint.dumps.formats import Array, MinibatchError, Raw, require, said_shape
from blueprint.dumps.given import TOKENWISE, Given
from blueprint.dumps.layout import RESPONSE, SHIFTED, layout_of, mask_of
from blueprint.dumps.names import NAMES
from blueprint.dumps.recognise import Recognised, refuse_pairs
from blueprint.quoting import unquoted

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
        advantages = tensors["advantages"]
        tensors["advantages"] = np.where(tensors["response_mask"], advantages[:, None], advantages.dtype.type(0))
    tensors |= _of_rows(given)
    dtypes = {name: raw.dtypes.get(found.called.get(name, ""), array.dtype.name) for name, array in tensors.items()}
    called = {name: found.called[name] for name in tensors if name in found.called}
    return _left_out(Minibatch("", tensors, dtypes, called, slots, first, notes=tuple(filter(None, notes))), given)


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
    count = f"{len(rows)} of {len(mask)} responses are empty, row {_listed(rows)}"
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
        notes=(*batch.notes, f"{len(out)} of {len(keep)} rows are left out, their sample_mask is 0: {_listed(out)}"),
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
