"""What a line of a notebook asks with: of another type than its door takes it is refused by the door's own error, in a sentence
that says what was found and what to write.
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from reprlib import repr as short
from typing import Any

Refusal = type[Exception]


def refuse_unless(holds: object, error: Refusal, called: str, found: object, expected: str) -> None:
    """Raises an error that says what was found where something else is expected."""
    if not holds:
        raise error(f"{called}: found {short(found)}, expected {expected}")


def is_path(found: object) -> bool:
    """Whether it is a path, or the text of one."""
    return isinstance(found, str) or (isinstance(found, PathLike) and isinstance(found.__fspath__(), str))


def path_of(found: Any, error: Refusal, called: str, example: str) -> Path:
    """Returns a path. Raises the error for what is none; a list is told how several are written."""
    several = (
        f", or several, each by itself: {example.removesuffix(')')}, …)" if isinstance(found, list | tuple) else ""
    )
    refuse_unless(is_path(found), error, called, found, f"the path of a file, as in {example}{several}")
    return Path(found)


def changes_of(found: Any, error: Refusal, example: str) -> Mapping[str, Any]:
    """Returns other values by key, none where nothing was asked for. Raises the error for what is no such table."""
    known = found is None or (isinstance(found, Mapping) and all(isinstance(key, str) for key in found))
    refuse_unless(known, error, "set", found, f"other values by key: set={example}")
    return found or {}


def word_of(found: Any, error: Refusal, called: str, example: str) -> str | None:
    """Returns a word, None where none was said. Raises the error for anything else."""
    refuse_unless(found is None or isinstance(found, str), error, called, found, f"a name: {called}={example!r}")
    return found if found is None else str(found)
