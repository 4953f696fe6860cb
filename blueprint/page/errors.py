"""What goes wrong with a file that somebody else may have written or changed."""

from __future__ import annotations

from blueprint.quoting import Told


class ReadError(Told):
    """A file is no workbook of ours, or has been changed so that a block cannot be found whole; one sentence says how."""
