"""Where each piece comes from: the paper with its equation, or the library with version and function, as `sources.toml` has it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from blueprint.inputs.catalogue import data_in
from blueprint.workbooks.common.conventions.data import LIVE

HERE = Path(__file__).parent


@cache
def sources_in(folder: Path = HERE) -> Mapping[str, str]:
    """Reads `sources.toml` of a folder; what is not in it, kinds share, or the record of a convention says, by its key."""
    found = data_in(folder / "sources.toml")
    shared = {key: convention.source for key, convention in LIVE.items()} if folder == HERE else sources_in()
    return {**shared, **{name: text.format(**found["papers"]) for name, text in found["sources"].items()}}


def source_of(name: str, folder: Path = HERE) -> str:
    """Returns a source by its name. Raises AttributeError, since it is asked for as an attribute of a module."""
    if name not in sources_in(folder):
        raise AttributeError(f"{name}: there is no such source in {folder / 'sources.toml'}")
    return sources_in(folder)[name]


def __getattr__(name: str) -> str:
    """Returns a source: `sources.CLIP` is the text under CLIP."""
    return source_of(name)
