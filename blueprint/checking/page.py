"""The results that one looks for, once more by the paper's page: what an equation itself has wrong is seen here.

A page is fed what is typed, before anything is masked, and shares nothing with the definitions (`blueprint.papers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from blueprint.checking.deviations import TOLERANCES, WHITENED, Deviation, carried, compare, widened
from blueprint.checking.files import Checked
from blueprint.checking.notation import Recomputed
from blueprint.language import Array

if TYPE_CHECKING:
    from blueprint.witness.raw import Page


@dataclass(frozen=True)
class OfPage:
    """How the equations' results compare with the page's.

    lines: by result. why: why none could be compared, "" where they were.
    """

    lines: tuple[Deviation, ...] = ()
    why: str = ""

    @property
    def differing(self) -> tuple[Deviation, ...]:
        """The results that are others."""
        return tuple(line for line in self.lines if not line.agrees)


def of_page(file: Checked, found: Recomputed, dtype: str, device: str) -> OfPage:
    """Compares what the equations make of a file with what its kind's page makes of it. Raises WitnessError as the page does."""
    if file.kind.paper is None:
        return OfPage(why=f"{file.kind.title} has no page")
    page = file.kind.part("paper")
    ours, pages = {}, {}
    for name, row in results_of(page, found.typed, found.rows, dtype, device).items():
        if name in found.rows:
            counts = _counts(page.masks.get(name, ""), found, row.shape)
            ours[name], pages[name] = (_compared(each, counts) for each in (found.rows[name], row))
    wider = widened(found.rows, {name: file.followers(name) for name in WHITENED if name in file.places})
    far = carried(file, found.rows, TOLERANCES[dtype])
    return OfPage(tuple(compare(ours, pages, TOLERANCES[dtype], wider, carried=far)))


def results_of(
    page: Page, typed: Mapping[str, Array], computed: Mapping[str, Array], dtype: str, device: str
) -> dict[str, Array]:
    """Returns what a page computes from what is typed. Raises WitnessError as the page does.

    typed, computed: the blocks of a workbook by name. The page sees which are computed, and none of their numbers.
    """
    from blueprint.witness.device import DTYPES
    from blueprint.witness.raw import Raw

    unread = {name: np.full(row.shape, np.nan) for name, row in computed.items() if row.dtype != object}
    found = page.results(Raw({**unread, **typed}, DTYPES[dtype], device))
    return {name: tensor.detach().cpu().numpy().astype(float) for name, tensor in found.items()}


def _compared(row: Array, counts: Array) -> Array:
    """Returns what counts of a row, 0 elsewhere; infinity is no number, as in a sheet."""
    numbers = np.asarray(row, dtype=float)
    return np.where(counts, np.where(np.isfinite(numbers), numbers, np.nan), 0.0)


def _counts(mask: str, found: Recomputed, shape: tuple[int, ...]) -> Array:
    """Returns where a row counts; a mask may have cells before the first and after the last position, which the row has not."""
    ones = found.rows.get(mask, found.typed.get(mask))
    if ones is None or ones.ndim != len(shape):
        return np.ones(shape, dtype=bool)
    before = (ones.shape[-1] - shape[-1] + 1) // 2
    counts: Array = ones[..., before : before + shape[-1]] == 1
    return counts
