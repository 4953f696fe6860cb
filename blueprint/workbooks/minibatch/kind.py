"""The record of a real minibatch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blueprint.workbooks.kind import Kind

if TYPE_CHECKING:
    from blueprint.page.outline import Blueprint
    from blueprint.workbooks.common.sheets.beside import Witnessed


def _build(numbers: Any, witnessed: Witnessed | None) -> Blueprint:
    from blueprint.workbooks.common.guides import with_guides
    from blueprint.workbooks.common.notes import with_notes
    from blueprint.workbooks.minibatch.level import minibatch_level

    return with_guides(with_notes(minibatch_level(numbers), live=True))


KIND = Kind(
    "minibatch",
    "a real minibatch",
    {},
    _build,
    saved={"minibatch": ("episode.number", "blueprint.workbooks.minibatch.saved:numbers_in")},
)
