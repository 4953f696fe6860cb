"""How the log-probs of a file came about, as its metadata say: whose the old ones are, and in which dtype models computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blueprint.dumps.batch import MinibatchError

OLD_FROM, FORWARD_DTYPE = "logprobs_old_from", "forward_dtype"
KEYS = (OLD_FROM, FORWARD_DTYPE)

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
