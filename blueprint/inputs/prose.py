"""Read data that is kept as TOML: text in it may be wrapped at will."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def data_in(file: Path) -> Mapping[str, Any]:
    """Return what a TOML file holds, the lines of every text joined into one; it is read once, and nobody may change it."""
    found: Mapping[str, Any] = _joined(tomllib.loads(file.read_text(encoding="utf-8")))
    return found


def _joined(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _joined(each) for key, each in node.items()}
    if isinstance(node, list):
        return [_joined(each) for each in node]
    return " ".join(node.split()) if isinstance(node, str) else node
