"""Packages that a library imports and its arithmetic does not use (Ray, DeepSpeed, vLLM …): put aside, with every name in them."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock


class _Empty(ModuleType):
    """A module with any name; `remote` decorates and changes nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _unchanged if name == "remote" else MagicMock()


def _unchanged(*given: Any, **_: Any) -> Any:
    return given[0] if given and callable(given[0]) else lambda each: each


class _Finder(MetaPathFinder, Loader):
    def __init__(self, packages: tuple[str, ...], missing: tuple[str, ...]) -> None:
        self.packages, self.missing = packages, missing

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname in self.missing:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        known = fullname.split(".")[0] in self.packages
        return ModuleSpec(fullname, self, is_package=True) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leaves the module empty."""


def put_aside(*packages: str, missing: tuple[str, ...] = ()) -> None:
    """Has packages and everything in them imported as empty ones, from now on, but for modules that are to be missing."""
    sys.meta_path.insert(0, _Finder(packages, missing))
