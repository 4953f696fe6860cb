"""What a kind of workbook is: one record, through which commands work on any kind without knowing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blueprint.page.outline import Blueprint
    from blueprint.workbooks.common.sheets.beside import Witnessed


@dataclass(frozen=True)
class Kind:
    """A kind of workbook: a folder with its definitions, its sheets, and the schema of its numbers.

    name: that of its folder. levels: the words under `level` in its numbers files. build: makes the blueprint of its
    numbers, with an outside witness's numbers on Checks if there are any.
    """

    name: str
    levels: tuple[str, ...]
    build: Callable[[Any, Witnessed | None], Blueprint]
