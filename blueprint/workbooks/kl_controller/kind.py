"""The record of the adaptive KL controller."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.workbooks.kind import Kind

if TYPE_CHECKING:
    from blueprint.page.outline import Blueprint
    from blueprint.workbooks.common.sheets.beside import Witnessed


def _build(numbers: Any, witnessed: Witnessed | None) -> Blueprint:
    from blueprint.workbooks.common.guides import with_guides
    from blueprint.workbooks.kl_controller.build import kl_controller

    return with_guides(kl_controller(numbers, witnessed))


KIND = Kind(
    "kl_controller",
    "the adaptive KL controller",
    {"controller": "blueprint.workbooks.kl_controller.schema:ControllerFile"},
    _build,
    settings="blueprint.workbooks.kl_controller.schema:CONTROLLER",
    numbers=Path(__file__).parent / "numbers",
    saved={"controller": ("responses.kl", "blueprint.workbooks.kl_controller.saved:numbers_in")},
)
