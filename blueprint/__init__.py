"""RLHF PPO by hand: equations written once become numbers, spreadsheet formulas and printed mathematics."""

import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

from blueprint import interrupted as _first  # noqa: F401  # before the others, which take half a second
from blueprint.api import build, built_in, check, compare, lab, open, presets, run, verify, which, worksheet
from blueprint.book import Book, book  # noqa: F401  # not the module of that name
from blueprint.moved import Moved as _Moved
from blueprint.workbooks.registry import add_kind

__all__ = [
    "Book",
    "add_kind",
    "build",
    "built_in",
    "check",
    "compare",
    "lab",
    "open",
    "presets",
    "run",
    "verify",
    "which",
    "worksheet",
]

_sys.meta_path.append(_Moved())


def __getattr__(name: str) -> _Any:
    """Returns a word of the notation, which stands in `blueprint.notation`: `from blueprint import Axis` works, too."""
    notation = _import_module("blueprint.notation")
    if name in notation.__all__:
        return getattr(notation, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
