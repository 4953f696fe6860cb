"""How the columns of a file's arrays belong to words: three layouts, told by metadata or by the shapes, never guessed.

"response": column t is slot t of the response (verl, TRL 1.12, the neutral schema).
"sequence": column i belongs to word i of prompt and response, the first has none and holds 0 (NeMo-RL).
"shifted": one column fewer than words; column i belongs to word i + 1, as logits do (OpenRLHF, TRL 0.11.4).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from blueprint.dumps.formats import Array, MinibatchError
from blueprint.dumps.formats.limits import said_shape
from blueprint.quoting import unquoted

RESPONSE, SEQUENCE, SHIFTED = LAYOUTS = ("response", "sequence", "shifted")
_OF_LIBRARY = {"nemo_rl": SEQUENCE, "openrlhf": SHIFTED, "trl_0.11.4": SHIFTED}
DECIDES = 'say "layout": "response", "sequence" or "shifted" in the metadata'


def layout_of(given: Mapping[str, Array], metadata: Mapping[str, Any], preset: str | None) -> tuple[str, str]:
    """Returns the layout and the reason for it, as a sentence's end; given: arrays by neutral name.

    Raises:
        MinibatchError: two layouts are possible, or the metadata's word is none.
    """
    told = metadata.get("layout")
    if told is not None:
        if told not in LAYOUTS:
            raise MinibatchError(
                f"metadata, layout: found {unquoted(str(told))}, expected one of {', '.join(LAYOUTS)}."
            )
        return str(told), "as the metadata say"
    width = given["logprobs_old"].shape[1]
    whole = next((given[name].shape[1] for name in ("tokens", "attention_mask") if name in given), None)
    if "response_ids" in given and given["response_ids"].shape[1] == width:
        if whole == width + 1:  # the longest response follows a prompt of one word, or all do
            return _by_mask(given, preset)
        return RESPONSE, "response_ids have as many columns as logprobs_old"
    return _by_mask(given, preset) if whole is None else _by_width(given, width, whole, preset)


def _by_width(given: Mapping[str, Array], width: int, whole: int, preset: str | None) -> tuple[str, str]:
    """Tells by how many more words there are than columns of logprobs_old."""
    if whole == width + 1:
        return SHIFTED, f"{whole} words and {width} log-probs in a row"
    if whole > width:
        return RESPONSE, f"{whole} words of prompt and response, {width} log-probs in a row"
    name = "tokens" if "tokens" in given else "attention_mask"
    if whole < width:
        raise MinibatchError(
            f"{name} {said_shape(given[name].shape)} has fewer columns than logprobs_old {said_shape(given['logprobs_old'].shape)}."
        )
    if preset == "nemo_rl" or not np.any(given["logprobs_old"][:, 0]):
        return SEQUENCE, "as many log-probs as words in a row, the first of them 0"
    raise MinibatchError(
        f"logprobs_old has as many columns ({width}) as {name}, and its first column is not 0: column i could belong to word i "
        f"or to word i + 1; {DECIDES}."
    )


def _by_mask(given: Mapping[str, Array], preset: str | None) -> tuple[str, str]:
    """Tells by where the masks begin, where the words themselves are missing or do not tell."""
    mask = given.get("response_mask")
    if preset in _OF_LIBRARY:
        return _OF_LIBRARY[preset], f"as {preset} has them"
    if mask is None or not mask.size:
        return RESPONSE, "every response begins in the first column"
    begins = (mask[:, 0] == 1) | ~np.any(mask == 1, axis=1)
    if np.all(begins):
        return RESPONSE, "every response begins in the first column"
    row = int(np.argmin(begins))
    raise MinibatchError(
        f"the mask of row {row} begins behind column 0, and nothing tells whether a prompt stands before it or the response "
        f"has a hole there; {DECIDES}."
    )
