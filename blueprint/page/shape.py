"""How a block lies in its range, in words that the Contents sheet prints and a reader takes apart again.

`n→2/12 t→8(start,end) v↓8`: two weeks every 12 columns, 8 days with a start and an end cell, 8 cities downwards.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from blueprint.language import Block, Values
from blueprint.page.place import Place
from blueprint.quoting import quoted

_AXIS = re.compile(r"(?P<letter>\S+?)(?P<way>[→↓])(?P<size>\d+)(?:/(?P<step>\d+))?(?:\((?P<edges>[a-z,]+)\))?")


class Along(NamedTuple):
    """One axis of a block: its letter, members, rows and columns from one to the next, and which edge cells exist."""

    letter: str
    size: int
    down: int
    right: int
    start: bool
    end: bool

    @property
    def cells(self) -> int:
        """Returns how many cells lie along the axis, edges included."""
        return self.size + self.start + self.end

    def __str__(self) -> str:
        step = self.down or self.right
        edges = ",".join(word for word, there in (("start", self.start), ("end", self.end)) if there)
        way = "↓" if self.down else "→"
        return f"{self.letter}{way}{self.size}{f'/{step}' if step > 1 else ''}{f'({edges})' if edges else ''}"


def shape_of(block: Block, place: Place, values: Values) -> tuple[Along, ...]:
    """Returns how a block lies in its range."""
    return tuple(
        Along(axis.letter, values.size(axis), *place.steps[axis], (axis, -1) in block.edges, (axis, 1) in block.edges)
        for axis in block.axes
    )


def parse_shape(text: str) -> tuple[Along, ...]:
    """Takes a printed shape apart. Raises ValueError if it is none."""
    found = []
    for word in text.split():
        match = _AXIS.fullmatch(word)
        if not match or match["step"] == "0":
            raise ValueError(f"{quoted(word)} says not how a block lies")
        step = int(match["step"] or 1)
        edges = (match["edges"] or "").split(",")
        down, right = (step, 0) if match["way"] == "↓" else (0, step)
        found.append(Along(match["letter"], int(match["size"]), down, right, "start" in edges, "end" in edges))
    return tuple(found)
