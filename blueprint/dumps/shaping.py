"""Arrays of a file brought to slots of responses, [B, T]: layout found, mask found, prompts cut off, rows left out."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from blueprint.dumps.checks import refuse_pairs
from blueprint.dumps.formats import Array, MinibatchError, Raw
from blueprint.dumps.formats.limits import said_shape
from blueprint.dumps.layout import RESPONSE, layout_of
from blueprint.dumps.masks import Masks, said, zero_one
from blueprint.dumps.names import AID, NAMES, TENSOR
from blueprint.dumps.recognise import Recognised
from blueprint.dumps.words import Words, cut, places, whole_numbers
from blueprint.quoting import unquoted

_TOKENWISE = (
    "logprobs_old", "logprobs_ref", "logprobs_new", "logprobs_rollout", "entropy", "values_old", "values_new", "rewards",
    "advantages", "returns",
)  # fmt: skip
_ONE_MORE = ("logprobs_ref", "logprobs_new", "logprobs_rollout", "values_old", "scores", "rewards", "advantages")
_PER_ROW = (
    "ended",
    "last_slots",
    "response_lengths",
    "prompt_lengths",
    "input_lengths",
    "sample_mask",
    "truncated",
    "row_index",
)
_EITHER = ("scores", "advantages")
"""What may be one number of a response, or of each word. GRPO and its family have one advantage for a whole response."""


@dataclass(frozen=True)
class Shaped:
    """Tensors of a minibatch, [B, T], and where they stood: see `Minibatch`; rows: [B], which row of the file each is."""

    tensors: dict[str, Array]
    slots: Array
    first: Array
    dtypes: dict[str, str]
    rows: Array
    notes: list[str]


def shape(raw: Raw, found: Recognised) -> Shaped:
    """Brings what was recognised to slots of responses.

    Raises:
        MinibatchError: missing tensors, shapes that disagree, two possible layouts, a mask that is not 0/1, no whole numbers.
    """
    check_enough(found)
    given = {name: _axes(name, raw.tensors[called], called) for name, called in found.called.items()}
    lengths = {name: raw.lengths[called] for name, called in found.called.items() if _ragged(raw, called, given[name])}
    _check_rows(given, found)
    _check_lengths(given, lengths, found)
    layout, reason = layout_of(given, raw.metadata, found.preset)
    mask, note = Masks(given, found.called, lengths, layout).find()
    first, slots = places(mask, layout != RESPONSE, lengths.get("logprobs_old"))
    notes = [f"layout: {layout}, {reason}", *([note] if note else []), *_empty(mask)]
    tensors = {"response_mask": cut(mask, first, slots)}
    words, said_of_words = Words(given, lengths, first, slots, layout).find()
    tensors |= words
    notes += said_of_words
    for name in (*_TOKENWISE, "scores"):
        if name in given:
            notes += _one_each(name, given[name])
            numbers = _numbers(name, given[name], found.called[name])
            tensors[name] = numbers if numbers.ndim == 1 else cut(_fitting(name, numbers, given, found), first, slots)
    tensors |= _broadcast(tensors) | _ended(given, found) | _row_index(given)
    dtypes = {name: raw.dtypes.get(found.called.get(name, ""), tensors[name].dtype.name) for name in tensors}
    return _left_out(Shaped(tensors, slots, first, dtypes, np.arange(len(mask)), notes), given, found)


def check_enough(found: Recognised) -> None:
    """Refuses a file with too little in it: logprobs_old and one tensor more are the least.

    Raises:
        MinibatchError: naming what is missing.
    """
    meanings = {row.name: row.meaning for row in NAMES.rows if row.kind in (TENSOR, AID)}
    if "logprobs_old" not in found.called:
        refuse_pairs(found)
        has = ", ".join(unquoted(called) for called in found.called.values()) or "nothing that is known"
        asked = next((name for name in found.unknown if "logp" in name.lower().replace("_", "")), None)
        near = f'; did you mean {unquoted(asked)}? Say so in the metadata: "names"' if asked else ""
        raise MinibatchError(f"logprobs_old is missing ({meanings['logprobs_old']}); the file has {has}{near}.")
    if not any(name in found.called for name in _ONE_MORE):
        raise MinibatchError(f"logprobs_old alone tells nothing; save at least one of {', '.join(_ONE_MORE)} with it.")


def _empty(mask: Array) -> list[str]:
    """Says which responses have no word."""
    rows = np.flatnonzero(~mask.any(axis=1))
    if not len(rows):
        return []
    listed = ", ".join(map(str, rows[:8])) + (" …" if len(rows) > 8 else "")
    count = f"{len(rows)} of {len(mask)} responses are empty, row {listed}"
    return [f"{count}: only what the preset keeps behind the last word counts of them"]


def _ragged(raw: Raw, called: str, array: Array) -> bool:
    return called in raw.lengths and array.ndim == 2


def _axes(name: str, array: Array, called: str) -> Array:
    """Returns one number per row as [B] and one per word as [B, T]; a last axis of length 1 is dropped."""
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if name in _PER_ROW or name in _EITHER:
        array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    expected = (1,) if name in _PER_ROW else (1, 2) if name in _EITHER else (2,)
    if array.ndim not in expected:
        row = next(row for row in NAMES.rows if row.name == name)
        raise MinibatchError(f"{said(name, called)}: found the shape {said_shape(array.shape)}, expected {row.shape}.")
    return array


def _check_rows(given: dict[str, Array], found: Recognised) -> None:
    count = len(given["logprobs_old"])
    if not count or not given["logprobs_old"].shape[1]:
        raise MinibatchError(
            f"{said('logprobs_old', found.called['logprobs_old'])} is empty; there is no response in the file."
        )
    for name, array in given.items():
        if len(array) != count:
            raise _disagree(name, array, given, found)


def _check_lengths(given: dict[str, Array], lengths: dict[str, Array], found: Recognised) -> None:
    """Refuses lists of one row that have different lengths, where they are about the same words."""
    if "logprobs_old" not in lengths:
        return
    for name in (*_TOKENWISE, "response_mask"):
        other, mine = lengths.get(name), lengths["logprobs_old"]
        if other is not None and given[name].shape == given["logprobs_old"].shape and not np.array_equal(other, mine):
            row = int(np.argmax(other != mine))
            raise MinibatchError(
                f"row {row}: {said(name, found.called[name])} has {other[row]} entries, "
                f"{said('logprobs_old', found.called['logprobs_old'])} {mine[row]}; they need the same."
            )


def _disagree(name: str, array: Array, given: dict[str, Array], found: Recognised) -> MinibatchError:
    one = f"{said(name, found.called[name])} {said_shape(array.shape)}"
    other = f"{said('logprobs_old', found.called['logprobs_old'])} {said_shape(given['logprobs_old'].shape)}"
    return MinibatchError(f"{one} and {other} disagree; they need the same rows and columns.")


def _fitting(name: str, array: Array, given: dict[str, Array], found: Recognised) -> Array:
    if array.shape != given["logprobs_old"].shape:
        raise _disagree(name, array, given, found)
    return array


def _numbers(name: str, array: Array, called: str) -> Array:
    if array.dtype.kind == "b":
        raise MinibatchError(f"{said(name, called)}: found true and false, expected numbers.")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _one_each(name: str, array: Array) -> list[str]:
    alone = name == "advantages" and array.ndim == 1
    return ["advantages: one number of each response, which counts for each of its words"] if alone else []


def _broadcast(tensors: Mapping[str, Array]) -> dict[str, Array]:
    """Returns advantages of responses, [B], as those of their words, [B, T]; 0 outside the mask."""
    if "advantages" not in tensors or tensors["advantages"].ndim > 1:
        return {}
    mask, advantages = tensors["response_mask"], tensors["advantages"]
    return {"advantages": np.where(mask, advantages[:, None], advantages.dtype.type(0))}


def _ended(given: dict[str, Array], found: Recognised) -> dict[str, Array]:
    if "ended" in given:
        return {"ended": zero_one("ended", given["ended"], found.called["ended"])}
    if "truncated" in given:
        return {"ended": ~zero_one("truncated", given["truncated"], found.called["truncated"])}
    return {}


def _row_index(given: dict[str, Array]) -> dict[str, Array]:
    if "row_index" not in given:
        return {}
    found = whole_numbers("row_index", given["row_index"])
    if (found < 0).any():
        raise MinibatchError(f"row_index: found {found.min()}, expected rows of the rollout, counted from 0.")
    return {"row_index": found}


def _left_out(shaped: Shaped, given: dict[str, Array], found: Recognised) -> Shaped:
    """Leaves out the rows whose sample_mask is 0."""
    if "sample_mask" not in given:
        return shaped
    keep = zero_one("sample_mask", given["sample_mask"], found.called["sample_mask"])
    if keep.all():
        return shaped
    if not keep.any():
        raise MinibatchError(f"{said('sample_mask', found.called['sample_mask'])} is 0 in every row; nothing is left.")
    out = np.flatnonzero(~keep)
    listed = ", ".join(str(row) for row in out[:8]) + (" …" if len(out) > 8 else "")
    note = f"{len(out)} of {len(keep)} rows are left out, their sample_mask is 0: {listed}"
    tensors = {name: array[keep] for name, array in shaped.tensors.items()}
    return Shaped(
        tensors, shaped.slots[keep], shaped.first[keep], shaped.dtypes, shaped.rows[keep], [*shaped.notes, note]
    )
