"""The record of classic PPO."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.workbooks.kind import Kind

if TYPE_CHECKING:
    from blueprint.page.outline import Blueprint
    from blueprint.workbooks.common.sheets.beside import Witnessed


def _build(numbers: Any, witnessed: Witnessed | None) -> Blueprint:
    from blueprint.workbooks.classic_ppo.build import classic_ppo
    from blueprint.workbooks.common.guides import with_guides

    return with_guides(classic_ppo(numbers, witnessed))


KIND = Kind(
    "classic_ppo",
    "classic PPO",
    {"classic": "blueprint.workbooks.classic_ppo.schema:ClassicFile"},
    _build,
    presets="blueprint.workbooks.classic_ppo.presets:classic_presets",
    settings="blueprint.workbooks.classic_ppo.presets:CLASSIC",
    numbers=Path(__file__).parent / "numbers",
    saved={"classic": ("terminated", "blueprint.workbooks.classic_ppo.saved:numbers_in")},
)
