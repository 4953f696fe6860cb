"""Deviations: the sheet's numbers against the witness's, quantity by quantity, in the order of derivation.

Two honest computations may be further apart where large numbers stood on the way: a value of −1e10 leaves a return of 1 with
the rounding of 1e10, and so everything that follows from it, since the sheet adds in another order than torch. So what
follows from a row of words may differ by a part of that row's largest number.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.checking.files import Checked

Array = npt.NDArray[Any]
Odd = Mapping[str, Collection[tuple[int, ...]]]

TOLERANCES = {"float64": 1e-12, "float32": 2e-5}
"""Two honest computations differ by rounding, which grows with the largest number of a row, not with each number: a
difference counts above tolerance · (1 + max|row|). float32 has 24 bits, and the longest chain here some hundred steps."""

SHARE = 0.01
"""Of the tolerance: 1e-14 in float64, the rounding of some forty additions. Below 100 a number widens nothing."""
WORDS = "t"
"""The letter of the axis along which sums run; settings and tables of presets have other axes, or none."""
CHECKS, WORST = "check.", ".worst"
WHITENED = {
    "reward.whitened": "reward.divisor",
    "advantage.whitened": "advantage.divisor",
    "library.reward.whitened": "library.reward.divisor",
    "library.advantage.whitened": "library.advantage.divisor",
    "explained_variance.old": "returns.variance",
    "explained_variance.new": "returns.variance",
}
"""What divides by how far a row spreads, and the row that says what was divided by; plain files have no such row."""


@dataclass(frozen=True)
class Allowed:
    """What a quantity may differ by: `relative` to 1 plus its largest number, and `least` whatever that is."""

    name: str
    relative: float
    least: float

    def of(self, theirs: Array) -> float:
        """Returns the distance that is allowed of the witness's numbers."""
        finite = np.abs(theirs[np.isfinite(theirs)])
        return max(self.least, self.relative * (1.0 + (float(finite.max()) if finite.size else 0.0)))


@dataclass(frozen=True)
class Deviation:
    """How one quantity compares: cells, the largest difference, where (edge cells counted), and what is allowed.

    differing: every cell that is further away than that.
    """

    name: str
    cells: int
    largest: float
    at: tuple[int, ...]
    allowed: float
    differing: tuple[tuple[int, ...], ...]

    @property
    def agrees(self) -> bool:
        """Whether every cell is near enough."""
        return not self.differing


def compare(
    sheet: Mapping[str, Array],
    witness: Mapping[str, Array],
    tolerance: float,
    wider: Mapping[str, float],
    odd: Odd = MappingProxyType({}),
    carried: Mapping[str, float] = MappingProxyType({}),
) -> list[Deviation]:
    """Compares every quantity that both have, in the witness's order.

    wider: by quantity, how many times more than usual may differ (whitening divides by a small σ). odd: by quantity,
    cells that show no number at all, which is never right. carried: by quantity, what may differ at least.
    """
    bounds = {name: Allowed(name, tolerance * wider.get(name, 1.0), carried.get(name, 0.0)) for name in witness}
    return [_compared(sheet[name], witness[name], bounds[name], odd.get(name, ())) for name in witness if name in sheet]


def widened(witness: Mapping[str, Array], followers: Mapping[str, Iterable[str]]) -> dict[str, float]:
    """Returns how much wider the tolerance is for what is whitened and what follows from it: 1/σ, each time.

    followers: by whitened quantity, what follows from it. Of libraries the smallest σ counts.
    """
    found: dict[str, float] = {}
    for whitened, names in followers.items():
        wider = max(1.0, 1.0 / _deviation(witness, whitened))
        for name in {whitened, *names}:
            found[name] = found.get(name, 1.0) * wider
    return found


def _deviation(witness: Mapping[str, Array], whitened: str) -> float:
    """Returns the smallest number that a whitened quantity was divided by; 1 for σ = 0, where nothing is left to divide."""
    if WHITENED[whitened] in witness:
        return float(np.min(witness[WHITENED[whitened]])) or 1.0
    return float(np.sqrt(witness.get("advantage.variance", np.ones(())))) or 1.0


def _compared(ours: Array, theirs: Array, allowed: Allowed, odd: Collection[tuple[int, ...]]) -> Deviation:
    if ours.dtype == object or theirs.dtype == object:
        differs = np.asarray(ours != theirs)
        return _result(allowed.name, differs.astype(float), differs, 0.0)
    with np.errstate(invalid="ignore"):
        distance = np.abs(ours - theirs)
    # A limit that is off is infinite on both sides, and infinity less infinity is no number.
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    distance = np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
    for at in odd:
        distance[at] = np.inf
    most = allowed.of(theirs)
    return _result(allowed.name, distance, distance > most, most)


def _result(name: str, distance: Array, differs: Array, allowed: float) -> Deviation:
    if distance.size == 0:
        return Deviation(name, 0, 0.0, (), allowed, ())
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(distance)), distance.shape))
    differing = tuple(map(tuple, np.argwhere(differs).tolist()))
    return Deviation(name, int(distance.size), float(distance.max()), at, allowed, differing)


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
