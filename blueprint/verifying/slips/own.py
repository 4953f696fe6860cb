"""Some responses of a file with the file's own rows: what a quantity was made of, whatever went wrong behind it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from torch import Tensor

from blueprint.dumps import MinibatchError
from blueprint.verifying.file_inputs import TENSORS, Rows, moved
from blueprint.verifying.settings import Setting, Settings, laid_over, number_of, options_of
from blueprint.verifying.tiled_passes import Work
from blueprint.witness import WHOLE, Named, Options, Sums, Texts, with_end

ON_PADS = {"advantages_used": "advantages", "returns": "returns"}
"""By row that a loss is made of, the tensor of a file that it is."""


@dataclass(frozen=True)
class Own:
    """Responses `at` of a file. rows: by name, as far as the advantages, the file's own where it has them, [1, N, T].

    whole: numbers of the whole file, made of its own rows. settings, options: the conventions in force.
    altered: rows that stand in place of those that are computed of others.
    """

    work: Work
    whole: Mapping[str, float]
    at: Rows
    texts: Texts
    rows: Named
    settings: Mapping[str, Setting]
    options: Options
    altered: Named = field(default_factory=dict)

    @classmethod
    def of(cls, work: Work, whole: Mapping[str, float], at: Rows) -> Self:
        """Computes the rows of some responses."""
        texts, options, rows = work.before_losses(at)
        return cls(work, whole, at, texts, rows, work.settings, options)

    def under(self, changes: Settings, sums: Sums = WHOLE) -> Self:
        """Returns the same rows, with other conventions for what is made of them."""
        settings = laid_over(self.settings, changes)
        options = options_of(settings, str(self.texts.mask.device)) if changes else self.options
        return replace(self, settings=settings, options=replace(options, sums=sums))

    def having(self, given: Named) -> Self:
        """Returns the same responses with other inputs, by their names in the witness, or other rows."""
        inputs = {name: each for name, each in given.items() if name in TENSORS}
        rows = {name: each for name, each in given.items() if name not in TENSORS}
        return replace(self, texts=replace(self.texts, **inputs), rows=self.rows | rows, altered=self.altered | rows)

    def __getitem__(self, name: str) -> Tensor:
        """Returns a row without the columns behind the slots."""
        return self.rows[name][..., : self.texts.slots.shape[-1]]

    def number(self, key: str) -> float:
        """Returns an option as a number; a limit that is off is infinite."""
        return number_of(key, self.settings[key])

    @property
    def everywhere(self) -> Self:
        """The same responses as if each slot had a word: the file's tensors as they are, on the pads, too."""
        there = self.work.batch.tensors
        found = {key: self.file(name) for key, name in (TENSORS | ON_PADS).items() if name in there}
        found |= {"values.kept": with_end(self.file("values_old"))} if "values_old" in there else {}
        return self.having(found | {"response": self.texts.slots})

    def file(self, name: str, across: int = 0, down: int = 0, around: bool = False) -> Tensor:
        """Returns a tensor of the file as it is, pads and all, [1, N, T]; 0 where it is not finite.

        across: so many columns to the right; what comes in at the edge is 0, or, `around`, what went out at the other.
        down: so many rows down, the last ones becoming the first.
        Raises MinibatchError where the file does not have it.
        """
        batch = self.work.batch
        if name not in batch.tensors:
            raise MinibatchError(f"{batch.path} has no {name}")
        rows = (np.arange(len(batch.slots))[self.at] - down) % len(batch.slots)
        values = np.asarray(batch.tensors[name][rows], dtype=np.float64)
        return across_by(moved(np.where(np.isfinite(values), values, 0.0), self.options)[None], across, around)


def across_by(values: Tensor, by: int, around: bool = False) -> Tensor:
    """Returns values [..., T] so many columns to the right."""
    if not by:
        return values
    found = values.roll(by, dims=-1)
    if not around:
        found[..., slice(0, by) if by > 0 else slice(by, None)] = 0.0
    return found


Read = Callable[[Own], Tensor]
"""How something is read or made of the file's own rows."""

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


def read(name: str, across: int = 0, down: int = 0, around: bool = False) -> Read:
    """Returns how a tensor of the file is read, from another place if so."""
    return lambda own: own.file(name, across, down, around)


def beside(name: str) -> Iterator[tuple[str, Read]]:
    """Yields how a tensor may have been read beside its place: how that is said, and how it is read."""
    for where, across, down, around in BESIDE:
        yield f"{name} {where}", read(name, across, down, around)
