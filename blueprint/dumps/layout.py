"""How the columns of a file's arrays belong to tokens: three layouts, told by metadata or by the shapes, never guessed.

"response": column t is slot t of the response (verl, TRL 1.12, the neutral schema).
"sequence": column i belongs to token i of prompt and response, the first has none and holds 0 (NeMo-RL).
"shifted": one column fewer than tokens; column i belongs to token i + 1, as logits do (OpenRLHF, TRL 0.11.4).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from blueprint.dumps.formats import Array, MinibatchError, require, said_shape
from blueprint.dumps.given import Given
from blueprint.quoting import unquoted

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
