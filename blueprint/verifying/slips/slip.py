"""What a slip is: how a report puts it, and what the quantity then comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor

from blueprint.verifying.slips.own import Own


@dataclass(frozen=True)
class Words:
    """What a number is added up from: what each word adds, and where one counts, [1, N, T].

    by: the aggregation, where it is not that of the quantity.
    """

    each: Tensor
    counted: Tensor
    by: str = ""


@dataclass(frozen=True)
class TensorSlip:
    """A mistake in one tensor alone. said: how a report puts it, behind "matches with".

    made: what it makes of the file's own rows, [1, N, T]. whitened: whether that is whitened, too, where the preset whitens.
    over: the words that it is then whitened over, made of those of the response and its slots, if not over these.
    Slips of several quantities that are said the same are one mistake.
    """

    said: str
    made: Callable[[Own], Tensor]
    whitened: bool = True
    over: Callable[[Tensor, Tensor], Tensor] | None = None


@dataclass(frozen=True)
class WordsSlip:
    """A mistake in a number that is added up from words."""

    said: str
    made: Callable[[Own], Words]


@dataclass(frozen=True)
class TotalSlip:
    """A mistake in a number that is made of other numbers, given by name."""

    said: str
    made: Callable[[Mapping[str, float]], float]


BEFORE = "of the slot before (shifted by one column to the right)"
BEHIND = "of the slot behind (shifted by one column to the left)"
BESIDE = (
    (BEFORE, 1, 0, False),
    (BEHIND, -1, 0, False),
    (BEFORE, 1, 0, True),
    (BEHIND, -1, 0, True),
    ("of the row before", 0, 1, False),
    ("of the row behind", 0, -1, False),
)
"""Where else a tensor may have been read: how it is said, how many columns to the right, how many rows down, and whether
what goes out at one edge comes in at the other, as with roll."""


def read(name: str, across: int = 0, down: int = 0, around: bool = False) -> Callable[[Own], Tensor]:
    """Returns how a tensor of the file is read, from another place if so."""
    return lambda own: own.file(name, across, down, around)


def beside(name: str) -> Iterator[tuple[str, Callable[[Own], Tensor]]]:
    """Yields how a tensor may have been read beside its place: how that is said, and how it is read."""
    for where, across, down, around in BESIDE:
        yield f"{name} {where}", read(name, across, down, around)
