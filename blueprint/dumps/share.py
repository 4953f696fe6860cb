"""How the numbers of a file came about, as its metadata say: whose the old log-probs are, in which dtype models computed, and what
the losses were divided by.
"""

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


OLD_FROM, FORWARD_DTYPE = "logprobs_old_from", "forward_dtype"
FORWARD_KEYS = (OLD_FROM, FORWARD_DTYPE)

TRAINER, ENGINE = "trainer", "engine"
"""Who computed the old log-probs: the policy in the trainer, or the engine that generated the responses (vLLM, SGLang)."""

DTYPES = ("float64", "float32", "float16", "bfloat16")


def old_from(metadata: Mapping[str, Any]) -> str | None:
    """Returns who computed the old log-probs, None if metadata do not say it.

    Raises:
        MinibatchError: another word than the two.
    """
    return _one_of((TRAINER, ENGINE), metadata.get(OLD_FROM), OLD_FROM)


def forward_dtype(metadata: Mapping[str, Any]) -> str | None:
    """Returns in which dtype the models computed, also where it is written as torch does; None if metadata do not say it.

    Raises:
        MinibatchError: no dtype that models compute in.
    """
    found = metadata.get(FORWARD_DTYPE)
    return _one_of(DTYPES, found.removeprefix("torch.") if isinstance(found, str) else found, FORWARD_DTYPE)


def _one_of(words: tuple[str, ...], found: Any, key: str) -> str | None:
    if found is None or found in words:
        return None if found is None else str(found)
    listed = f"{', '.join(words[:-1])} or {words[-1]}"
    raise MinibatchError(f"metadata, {key}: found {found!r:.40}, expected {listed}.")
