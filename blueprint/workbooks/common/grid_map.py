"""What kinds on a grid share: the words of a map, how a file's map is checked, and the arrows of a policy."""

from typing import Annotated, Any

from pydantic import WithJsonSchema

from blueprint.inputs import Draft, Numbers, NumbersError, refusal
from blueprint.inputs.entries import Word, must_be

WALL, GOAL, START, FREE = "#", "G", "S", "."
CELLS = (WALL, GOAL, START, FREE)
"""What may stand in a cell of a map."""
MOVES = ("up", "down", "left", "right")
DOWNWARDS, RIGHTWARDS = (-1.0, 1.0, 0.0, 0.0), (0.0, 0.0, -1.0, 1.0)
"""The moves, and how many rows and columns further each of them leads."""
ARROWS = ("·", "↑", "↓", "↑↓", "←", "↑←", "↓←", "↑↓←", "→", "↑→", "↓→", "↑↓→", "←→", "↑←→", "↓←→", "any")
"""Every set of moves, by the sum of 1 for up, 2 for down, 4 for left and 8 for right."""
Cell: Any = Annotated[
    Word, must_be("S, G, # or a dot", lambda text: text in CELLS), WithJsonSchema({"enum": list(CELLS)})
]


def with_map(draft: Draft, most: int | None = None) -> Numbers:
    """Make the numbers of a checked file with a map. most: cells of it. Raises NumbersError for two starts, or too many cells."""
    parts = draft.fitted()
    rows = parts["grid.map"]
    many = sum(cell == START for row in rows for cell in row)
    if many > 1:
        raise refusal("grid.map", f"{many} cells S", "one start at most")
    if most is not None and len(rows) * len(rows[0]) > most:
        raise NumbersError(
            f"grid.map: found {len(rows)} by {len(rows[0])} cells, expected {most} at most, for every step has all of them."
        )
    return draft.numbers(parts)
