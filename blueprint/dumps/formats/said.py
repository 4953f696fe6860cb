"""Metadata as files carry it: strings in safetensors and parquet, of which ours hold JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blueprint.dumps.batch import MinibatchError
from blueprint.dumps.formats.limits import from_json

WHOLE = "metadata"
"""The key, array or line that holds all metadata as one JSON object."""

JSON_KEYS = ("schema", "step", "hyperparameters", "logged", "names")
"""Keys whose values are JSON; library, version, preset and layout are plain words (a version "0.9" is no number)."""


def from_strings(said: Mapping[str, str]) -> dict[str, Any]:
    """Returns metadata from strings: those of `JSON_KEYS` read as JSON, a key `metadata` taken apart.

    Raises:
        MinibatchError: a value that should be JSON and is not.
    """
    found: dict[str, Any] = {}
    for key, text in said.items():
        if key == WHOLE:
            found |= whole(text, f"metadata, key {key}")
        else:
            found[key] = from_json(text, f"metadata, key {key}") if key in JSON_KEYS else text
    return found


def whole(text: str | bytes, where: str) -> dict[str, Any]:
    """Returns metadata that is one JSON object.

    Raises:
        MinibatchError: not an object.
    """
    found = from_json(text, where)
    if not isinstance(found, dict):
        raise MinibatchError(f"{where}: found {type(found).__name__}, expected a JSON object {{…}}.")
    return found
