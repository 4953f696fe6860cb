"""The way back: the numbers of a saved workbook of the KL controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.workbooks.kl_controller.schema import ControllerNumbers

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved


def numbers_in(file: Saved) -> ControllerNumbers:
    """Return what is typed in a file, or, of a blank one, numbers of its sizes."""
    sums, lengths = file.rows("responses.kl"), file.whole("responses.length")
    return ControllerNumbers(**file.head(), ppo=file.settings(), kl_sums=sums, lengths=lengths)
