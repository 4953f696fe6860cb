"""Compares numbers field by field, arrays exactly."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from blueprint.inputs import Numbers

NOT_IN_A_FILE = {"drawn_anew", "built_in"}
"""What follows from numbers, or is said once when they are loaded; test_cli_rebuild holds that a file keeps the latter."""


def fields_that_differ(one: Numbers, other: Numbers) -> list[str]:
    """Lists the fields, and the keys of dictionaries (`weights.old.E`), in which numbers differ; the class is one too."""
    if type(one) is not type(other):
        return ["level"]
    found = []
    for name in (each.name for each in fields(one) if each.name not in NOT_IN_A_FILE):
        ours, theirs = getattr(one, name), getattr(other, name)
        if isinstance(ours, dict):
            keys = sorted(ours.keys() | theirs.keys())
            found += [f"{name}.{key}" for key in keys if not _same(ours.get(key), theirs.get(key))]
        elif not _same(ours, theirs):
            found.append(name)
    return found


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.shape(one) == np.shape(other) and bool(np.array_equal(one, other))
    return bool(one == other)
