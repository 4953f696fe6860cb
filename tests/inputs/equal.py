"""Whether two sets of numbers are the same, down to the bytes of their arrays."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from blueprint.inputs import Numbers


def differing(first: Numbers, second: Numbers) -> list[str]:
    """Lists what differs between two sets of numbers; reports (what was drawn anew, which set they are) are no numbers."""
    assert type(first) is type(second)
    names = [field.name for field in fields(first) if field.name not in ("drawn_anew", "built_in")]
    return [name for name in names if not _same(getattr(first, name), getattr(second, name))]


def _same(first: Any, second: Any) -> bool:
    """Compares bytes, types and the order of keys: −0 is not 0, and 1 is not 1.0."""
    if isinstance(first, np.ndarray):
        return (first.dtype, first.shape, first.tobytes()) == (second.dtype, second.shape, second.tobytes())
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(_same(first[key], second[key]) for key in first)
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    return type(first) is type(second) and repr(first) == repr(second)
