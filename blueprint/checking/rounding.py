"""Rounding: how far two honest computations may be apart where large numbers stood on the way.

A value of −1e10 leaves a return of 1 with the rounding of 1e10, and so everything that follows from it: the sheet adds in
another order than torch. So what follows from a row of words may differ by a part of that row's largest number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.checking.deviations import Deviation
from blueprint.checking.files import Checked

Array = npt.NDArray[Any]

SHARE = 0.01
"""Of the tolerance: 1e-14 in float64, the rounding of some forty additions. Below 100 a number widens nothing."""
WORDS = "t"
"""The letter of the axis along which sums run; settings and tables of presets have other axes, or none."""
CHECKS, WORST = "check.", ".worst"


def carried(file: Checked, witness: Mapping[str, Array], tolerance: float) -> dict[str, float]:
    """Returns, by quantity, how much it may differ because of large numbers in what it follows from.

    The numbers are those typed and torch's: what a sheet shows must not widen what it is allowed.
    """
    found: dict[str, float] = {}
    for name, place in file.places.items():
        if not any(along.letter == WORDS for along in place.shape) or place.words:
            continue
        array = file.arrays[name] if place.kind == "typed" else witness.get(name)
        largest = _largest(array)
        if largest * SHARE > 1:
            for reader in file.followers(name):
                found[reader] = max(found.get(reader, 0.0), tolerance * SHARE * largest)
    return found


def _largest(array: Array | None) -> float:
    """Returns the largest number of an array of words; 0 for ids and masks, which nothing rounds."""
    if array is None or array.dtype == object:
        return 0.0
    finite = array[np.isfinite(array)]
    return float(np.abs(finite).max()) if finite.size and (finite != np.trunc(finite)).any() else 0.0


def undecided(file: Checked, lines: list[Deviation]) -> set[str]:
    """Returns the checks of the sheet that rounding alone decides: what they may differ by is more than they tolerate."""
    stems = {line.name.removesuffix(WORST): line for line in lines if line.name.endswith(WORST) and line.agrees}
    tolerances = {stem: file.arrays.get(f"{stem}.tolerance") for stem in stems}
    return {stem for stem, tolerance in tolerances.items() if tolerance is not None and tolerance < stems[stem].allowed}


def left_open(line: Deviation, stems: set[str]) -> bool:
    """Says whether a line only tells how checks came out that rounding decides: a verdict, their number, or all of them."""
    if not stems or line.agrees or not line.name.startswith(CHECKS):
        return False
    stem, _, last = line.name.rpartition(".")
    return (
        line.name == f"{CHECKS}master"
        or (last == "verdict" and stem in stems)
        or (last == "failed" and line.largest <= len(stems))
    )
