"""Bugs as data, read from planted.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Bug(NamedTuple):
    """library: whose code. said: what was done to it. place: file and function. old, new: what stands there, and what instead.

    named: the cause that is named first holds one of these words.
    """

    library: str
    said: str
    place: str
    old: str
    new: str
    named: tuple[str, ...]


def planted() -> Mapping[str, tuple[Bug, ...]]:
    """Returns the bugs, by the set that they were listed in."""
    read = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: tuple(Bug(**{**bug, "named": tuple(bug["named"])}) for bug in bugs) for name, bugs in read.items()}
