"""What is kept of the rows of every tile: the numbers of its responses, and how large the rows are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from blueprint.dumps.batch import Array
from blueprint.witness.tensors import Named


@dataclass
class Gathered:
    """Numbers of so many responses, by name; and of rows the largest size of a number, and the sum of sizes."""

    count: int
    responses: dict[str, Array] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)

    def add(self, at: slice, rows: Named) -> None:
        """Adds the rows of a tile [1, N, …], whose responses stand at a slice of the batch."""
        for name, row in rows.items():
            if row.dim() == 2:
                # Numbers are copied: small tensors that live on between tiles would keep the memory of the tiles apart.
                self.responses.setdefault(name, np.empty(self.count))[at] = row[0].cpu().numpy()
            elif row.dim() == 3:
                size = row.abs()
                # numpy's maximum keeps NaN, Python's max may lose it
                self.largest[name] = float(np.maximum(self.largest.get(name, 0.0), float(size.max())))
                self.sizes[name] = self.sizes.get(name, 0.0) + float(size.sum())
