"""Where a logged number may come from, if not from its own equation: from another row or number of the step, or from the right one
moved, scaled or summed up in another way.

A tensor is compared with every other one of its length, and with itself doubled, turned, or of the pair before; of a number it is
asked whether it is the mean, the sum, the largest … of some row. What is written so may be written alone, or be what all the
rest is made of.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array

Change = Callable[[Array], Array]
MOVED: dict[str, Change] = {
    "doubled": lambda row: 2 * row,
    "halved": lambda row: row / 2,
    "of the opposite sign": lambda row: -row,
    "that of the row before": lambda row: np.roll(row, 1),
    "that of the row behind": lambda row: np.roll(row, -1),
    "in the opposite order": lambda row: row[::-1],
    "squared": lambda row: row * row,
    "its size, without the sign": np.abs,
}  # fmt: skip
BOTH: dict[str, Change] = {
    "those of the response before": lambda rows: np.roll(rows, 1),
    "those of the response behind": lambda rows: np.roll(rows, -1),
    "taken from pairs that lie side by side, chosen and rejected in turns": lambda rows: rows.reshape(-1, 2).T.ravel(),
    "taken from pairs whose halves were stacked, as if they lay side by side": lambda rows: rows.reshape(2, -1).T.ravel(),
}  # fmt: skip
"""What is done to the rows of both sides at once, the chosen ones in front."""
STATISTICS: Mapping[str, Callable[[Array], float]] = MappingProxyType({
    "the mean": lambda row: float(row.mean()),
    "the sum": lambda row: float(row.sum()),
    "the largest": lambda row: float(row.max()),
    "the smallest": lambda row: float(row.min()),
    "the median": lambda row: float(np.median(row)),
    "the standard deviation (by N)": lambda row: float(row.std()),
    "the standard deviation (by N − 1)": lambda row: float(row.std(ddof=1)) if len(row) > 1 else np.nan,
})  # fmt: skip
SIDES = ("chosen", "rejected")


class Stand(NamedTuple):
    """What stands where a quantity should: rows by name, one behind the other, and what is made of them, by its name.

    on: whether everything that is made of the quantity is made of what stands there. half: which half of it is meant, 1 or 2;
        0: all of it.
    """

    of: tuple[str, ...]
    how: str = ""
    on: bool = False
    half: int = 0

    def made(self, rows: Mapping[str, Array]) -> Array | float:
        """Returns it, a row or a number."""
        row = np.concatenate([rows[name] for name in self.of])
        if self.how in STATISTICS:
            return STATISTICS[self.how](row)
        row = (MOVED | BOTH)[self.how](row) if self.how else row
        return np.split(row, 2)[self.half - 1] if self.half else row


Stands = Mapping[str, Stand]
"""By quantity."""


def stands(rows: Mapping[str, Array], name: str) -> Iterator[tuple[str, Stands]]:
    """Yields what may stand for a quantity, and how that is said; rows: those of the step, by name."""
    if name in rows:
        yield from _of_row(rows, name)
    else:
        yield from _of_number(rows, name)


def _of_row(rows: Mapping[str, Array], name: str) -> Iterator[tuple[str, Stands]]:
    """Of a row that either side of a pair has, both are changed, then the one alone."""
    other = _of_other_side(name)
    sources = [each for each in rows if each != name and rows[each].shape == rows[name].shape]
    said = {f"{{}} is {how}": Stand((name,), how) for how in MOVED}
    said |= {f"{each} stands for {{}}": Stand((each,)) for each in sources}
    for on, more in ((True, ", and in all that is made of it"), (False, ", in what is written of it alone")):
        for label, stand in said.items():
            theirs = Stand(tuple(map(_of_other_side, stand.of)), stand.how, on)
            if other in rows and rows.keys() >= {*theirs.of}:
                yield f"{label.format(name)}, on both sides{more}", {name: stand._replace(on=on), other: theirs}
        for how in BOTH if other != name and other in rows else ():
            sides = sorted((name, other))  # the chosen one in front
            yield (
                f"{sides[0]} and {sides[1]} are {how}{more}",
                {each: Stand((*sides,), how, on, 1 + at) for at, each in enumerate(sides)},
            )
        for label, stand in said.items():
            yield f"{label.format(name)}{more}", {name: stand._replace(on=on)}


def _of_number(rows: Mapping[str, Array], name: str) -> Iterator[tuple[str, Stands]]:
    together = [(each, _of_other_side(each)) for each in rows if each.startswith(SIDES[0])]
    for of in (*((each,) for each in rows), *(each for each in together if each[1] in rows)):
        for how in STATISTICS:
            yield f"{name} is {how} of {' and '.join(of)}", {name: Stand(of, how)}


def _of_other_side(name: str) -> str:
    """Returns what a quantity of one side is called on the other; of no side, its own name."""
    side, dot, rest = name.partition(".")
    return f"{SIDES[SIDES[0] == side]}{dot}{rest}" if side in SIDES else name


def made(of: Stands, rows: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, float]]:
    """Returns what stands for quantities, rows and numbers; rows: what it is made of."""
    found = {name: stand.made(rows) for name, stand in of.items()}
    numbers = {name: each for name, each in found.items() if isinstance(each, float)}
    return {name: np.asarray(each) for name, each in found.items() if name not in numbers}, numbers
