"""What the losses of a file were divided by, where they are shares of the loss of a larger batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from blueprint.dumps.batch import MinibatchError
from blueprint.quoting import unquoted

INFO = "loss_batch_info"
"""OpenRLHF's name for all of them together, an object."""

TOKENS, RESPONSES, RANKS, SLOTS = KEYS = ("batch_num_tokens", "global_batch_size", "dp_size", "loss_scale_factor")
"""Metadata that say what losses were divided by, as verl 0.9.1 (core_algos.py, agg_loss) and OpenRLHF 0.11.2 call it."""


@dataclass(frozen=True)
class Share:
    """What losses were divided by, as metadata say it; None where they do not.

    tokens: of a mean over words, Σ z / tokens · ranks. responses: of a mean over responses, likewise. Neither needs to be a
    whole number: OpenRLHF divides both by the microbatches of an update. ranks: processes whose gradients are averaged.
    slots: what seq-mean-token-sum-norm divides a response's sum by.
    """

    tokens: float | None = None
    responses: float | None = None
    ranks: float = 1.0
    slots: float | None = None


def share_of(metadata: Mapping[str, Any]) -> Share | None:
    """Returns what metadata say that losses were divided by, None if they say nothing.

    Raises:
        MinibatchError: what is no number above 0, or is said twice, differently.
    """
    said = {key: each for key, each in metadata.items() if key in KEYS and _there(each)}
    inside = {key: each for key, each in _info(metadata.get(INFO)).items() if key in KEYS and _there(each)}
    found = {key: _number(each, key) for key, each in (inside | said).items()}
    for key in said.keys() & inside.keys():
        if _number(inside[key], key) != found[key]:
            raise MinibatchError(f"metadata, {key}: found {found[key]:g}, and {_number(inside[key], key):g} in {INFO}.")
    if not found:
        return None
    return Share(found.get(TOKENS), found.get(RESPONSES), found.get(RANKS, 1.0), found.get(SLOTS))


def _there(found: Any) -> bool:
    return found is not None and found not in ("", "None", "null")


def _info(found: Any) -> Mapping[str, Any]:
    """Returns the object; metadata of some formats are texts."""
    if not _there(found):
        return {}
    try:
        read = json.loads(found) if isinstance(found, str) else found
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise MinibatchError(f"metadata, {INFO}: found {unquoted(str(found))}, expected an object, names with numbers.")
    return read


def _number(found: Any, key: str) -> float:
    try:
        number = float(found) if isinstance(found, int | float | str) and not isinstance(found, bool) else 0.0
    except (ValueError, OverflowError):
        number = 0.0
    if not isfinite(number) or number <= 0:
        raise MinibatchError(f"metadata, {key}: found {unquoted(str(found))}, expected a number above 0.")
    return number
