"""Likely causes: what a wrong row would show by a mistake that is often made, held against what it does show.

The mistakes are data of the kind of workbook (`Kind.slips`). Each is tried on the numbers of the file itself, so that one is
recognised however far its consequences reach back into what the row reads.
"""

import fnmatch
import re
from collections.abc import Iterator

import numpy as np

from blueprint.checking.deviations import Deviation
from blueprint.checking.files import Checked
from blueprint.language import Array

NUMBER = r"\d+(?:\.\d+)*"
"""That of a step or a repetition: 2, or 2.1 for a part of the second."""
NEAR = 1e-9
"""How near the wrong row must come, as a part of its largest number: rounding takes 1e-12 of it, another mistake none of it."""


class Shown:
    """The rows of a file as a mistake reads them: by names in which {braces} stand for what they stood for in the row's own.

    meant: what torch has in the row. bound: what the braces stand for. Cells at the edges of a block are left out, blanks are 0.
    """

    def __init__(self, file: Checked, name: str, meant: Array, bound: dict[str, str | None]):
        self._file, self._within = file, bound.get("within") or ""
        self.meant, self.bound = self._cut(name, meant), bound

    def __contains__(self, row: str) -> bool:
        return self._called(row) in self._file.places

    def __getitem__(self, row: str) -> Array:
        """Returns a row of the same repetition, if rows are repeated. Raises KeyError for one that the file has not."""
        name = self._called(row)
        return self._cut(name, self._file.arrays[name])

    def before(self, row: str, count: str) -> Array | None:
        """Returns a row as it is one repetition earlier, None in the first. count: the braces that count the repetitions."""
        names = fnmatch.filter(self._file.places, row.format(**{**self.bound, count: "*"}))
        at = names.index(row.format(**self.bound))
        return self[names[at - 1]] if at else None

    def _called(self, row: str) -> str:
        name = row.format(**self.bound)
        return next((each for each in (f"{self._within}{name}", name) if each in self._file.places), name)

    def _cut(self, name: str, array: Array) -> Array:
        return np.asarray(np.nan_to_num(array[self.inside(name)].astype(float)))

    def inside(self, name: str) -> tuple[slice, ...]:
        """Returns where the cells of a block are that are no edges."""
        return tuple(slice(int(along.start), along.start + along.size) for along in self._file.places[name].shape)


def likely(file: Checked, line: Deviation, meant: Array) -> str:
    """Returns how the mistake is said by which all deviating cells of a row show what they show; "" if none is known.

    meant: what torch has in the row.
    """
    ours = file.arrays[line.name]
    differs = np.zeros(ours.shape, dtype=bool)
    for at in line.differing:
        differs[at] = True
    for said, wrong, inside in _wrong(file, line.name, meant):
        here = differs[inside]
        far = np.abs(ours[inside].astype(float) - wrong)[here]
        if far.size and np.all(far <= NEAR * np.abs(wrong).max()):
            return said
    return ""


def _wrong(file: Checked, name: str, meant: Array) -> Iterator[tuple[str, Array, tuple[slice, ...]]]:
    """Yields what a row would show by each mistake that is known of it, and where its cells are."""
    for row, said, made in file.slips:
        if found := named_like(row).fullmatch(name):
            rows = Shown(file, name, meant, found.groupdict())
            try:
                yield said, np.broadcast_to(made(rows), rows.meant.shape), rows.inside(name)
            except (KeyError, ValueError):  # rows that this file has not, or in which somebody changed how they lie
                continue


def named_like(row: str) -> re.Pattern[str]:
    """Returns what the names of rows look like that a mistake is known of; they may be repeated: `epoch2.`."""
    texts = re.split(r"\{(\w+)\}", row)
    parts = (f"(?P<{text}>{NUMBER if text == 'step' else '.+?'})" for text in texts[1::2])
    made = "".join(next(parts) if place % 2 else re.escape(text) for place, text in enumerate(texts))
    return re.compile(rf"(?P<within>[a-z]+{NUMBER}\.)?{made}")
