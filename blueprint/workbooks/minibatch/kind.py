"""The record of a real minibatch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.workbooks.kind import Kind

if TYPE_CHECKING:
    from blueprint.page.outline import Blueprint
    from blueprint.workbooks.common.sheets.beside import Witnessed


def _build(numbers: Any, witnessed: Witnessed | None) -> Blueprint:
    from blueprint.workbooks.minibatch.level import minibatch_level

    return minibatch_level(numbers)


HERE = Path(__file__).parent
KIND = Kind(
    "minibatch",
    "a real minibatch",
    {},
    _build,
    saved={"minibatch": ("episode.number", "blueprint.workbooks.minibatch.saved:numbers_in")},
    settings="blueprint.workbooks.common.conventions.data:LIVE",
    notes=(HERE.parent / "common" / "notes", HERE / "notes.toml"),
    models=HERE.parent / "common" / "guides" / "models.toml",
    dumps="blueprint.workbooks.minibatch.dumps:DUMPS",
    verifier="blueprint.workbooks.minibatch.verifying:VERIFIER",
    witness="blueprint.workbooks.minibatch.witness:WITNESS",
    whole="blueprint.workbooks.common.facts:RESPONSE",
)
