"""Some responses of a file with the file's own rows: what a quantity was made of, whatever went wrong behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from blueprint.dumps import MinibatchError
from blueprint.verifying.file_inputs import TENSORS, Rows, moved
from blueprint.verifying.settings import Setting, Settings, laid_over, number_of, options_of
from blueprint.verifying.tiled_passes import Work
from blueprint.witness.options import Options, Texts
from blueprint.witness.sums import WHOLE, Sums
from blueprint.witness.tensors import Named, with_end

ON_PADS = {"advantages_used": "advantages", "returns": "returns"}
"""By row that a loss is made of, the tensor of a file that it is."""


@dataclass(frozen=True)
class Own:
    """Responses `at` of a file. rows: by name, as far as the advantages, the file's own where it has them, [1, N, T].

    whole: numbers of the whole file, made of its own rows. settings, options: the conventions in force.
    """

    work: Work
    whole: Mapping[str, float]
    at: Rows
    texts: Texts
    rows: Named
    settings: Mapping[str, Setting]
    options: Options

    @classmethod
    def of(cls, work: Work, whole: Mapping[str, float], at: Rows) -> Own:
        """Computes the rows of some responses."""
        texts, options, rows = work.before_losses(at)
        return cls(work, whole, at, texts, rows, work.settings, options)

    def under(self, changes: Settings, sums: Sums | None = None) -> Own:
        """Returns the same rows, with other conventions for what is made of them."""
        settings = laid_over(self.settings, changes)
        options = options_of(settings, str(self.texts.mask.device)) if changes else self.options
        return self.with_options(settings, replace(options, sums=sums or WHOLE))

    def with_options(self, settings: Mapping[str, Setting], options: Options) -> Own:
        """Returns the same rows with the conventions of settings, which the options are, too."""
        return replace(self, settings=settings, options=options)

    def __getitem__(self, name: str) -> Tensor:
        """Returns a row without the columns behind the slots."""
        return self.rows[name][..., : self.texts.slots.shape[-1]]

    def number(self, key: str) -> float:
        """Returns an option as a number; a limit that is off is infinite."""
        return number_of(key, self.settings[key])

    @property
    def everywhere(self) -> Own:
        """The same responses as if each slot had a word: the file's tensors as they are, on the pads, too."""
        there = self.work.batch.tensors
        texts = {key: self.file(name) for key, name in TENSORS.items() if name in there}
        rows = {row: self.file(name) for row, name in ON_PADS.items() if name in there}
        rows |= {"values.kept": with_end(self.file("values_old"))} if "values_old" in there else {}
        return replace(self, texts=replace(self.texts, **texts), rows=self.rows | rows | {"response": self.texts.slots})

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
        found = moved(np.where(np.isfinite(values), values, 0.0), self.options)[None]
        return across_by(found, across, around)


def across_by(values: Tensor, by: int, around: bool = False) -> Tensor:
    """Returns values [..., T] so many columns to the right."""
    if not by:
        return values
    found = values.roll(by, dims=-1)
    if not around:
        found[..., slice(0, by) if by > 0 else slice(by, None)] = 0.0
    return found
