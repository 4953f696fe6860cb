"""The kinds of workbooks there are: each is found by the name of its folder, and imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from blueprint.workbooks.kind import Kind

if TYPE_CHECKING:
    from blueprint.page.outline import Blueprint
    from blueprint.workbooks.common.sheets.beside import Witnessed


def kind_named(name: str) -> Kind:
    """Return the kind whose folder has this name."""
    found: Kind = import_module(f"blueprint.workbooks.{name}.kind").KIND
    return found


def kind_of(numbers: Any) -> Kind:
    """Return the kind to which numbers belong: they say it themselves, under `kind`."""
    return kind_named(numbers.kind)


def blueprint_of(numbers: Any, witnessed: Witnessed | None = None) -> Blueprint:
    """Make the blueprint of numbers of any kind.

    witnessed: numbers of an outside witness, to stand beside the workbook's own on the sheet Checks.
    """
    return kind_of(numbers).build(numbers, witnessed)
