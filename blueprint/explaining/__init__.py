"""Explanations: the chain of one cell down to the inputs, as a tree, as text, in LaTeX and as JSON."""

from blueprint.explaining.cells import (
    block_at,
    label,
    numbers_along,
    parse_address,
    places_named,
    sheet_named,
    spots_on,
)
from blueprint.explaining.explanation import Explanation, Shown, block_named, explain, is_address, shown

__all__ = [
    "Explanation", "Shown", "block_at", "block_named", "explain", "is_address", "label", "numbers_along",
    "parse_address", "places_named", "sheet_named", "shown", "spots_on",
]  # fmt: skip
