"""The one error of this room."""

from __future__ import annotations


class WitnessError(ValueError):
    """Something was asked of the witness, or stands in a file, with which nothing can be computed."""
