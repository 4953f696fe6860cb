"""Deviations: the sheet's numbers against the witness's, quantity by quantity, in the order of derivation.

Two honest computations may be further apart where large numbers stood on the way: a value of −1e10 leaves a return of 1 with
the rounding of 1e10, and so everything that follows from it, since the sheet adds in another order than torch. So what
follows from a row of words may differ by a part of that row's largest number.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from blueprint.checking.files import Checked
from blueprint.language import Array

TOLERANCES = {"float64": 1e-12, "float32": 2e-5}
"""Two honest computations differ by rounding, which grows with the largest number of a row, not with each number: a
difference counts above tolerance · (1 + max|row|). float32 has 24 bits, and the longest chain here some hundred steps."""

SHARE = 0.01
"""Of the tolerance: 1e-14 in float64, the rounding of some forty additions. Below 100 a number widens nothing."""
WORDS = "t"
"""The letter of the axis along which sums run; settings and tables of presets have other axes, or none."""
CHECKS, WORST = "check.", ".worst"
DIRECTION, RATES = ".direction.", ("optimiser.lr", "optimiser.critic_lr")
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
class Deviation:
    """How one quantity compares: cells, the largest difference, where (edge cells counted), and what is allowed.

    differing: every cell that is further away than that. open: how many cells more there are, which are empty blanks or wait.
    """

    name: str
    cells: int
    largest: float
    at: tuple[int, ...]
    allowed: float
    differing: tuple[tuple[int, ...], ...]
    open: int = 0

    @property
    def agrees(self) -> bool:
        """Whether every cell is near enough."""
        return not self.differing


def compare(
    sheet: Mapping[str, Array],
    witness: Mapping[str, Array],
    tolerance: float,
    wider: Mapping[str, float],
    odd: Mapping[str, Collection[tuple[int, ...]]] | None = None,
    carried: Mapping[str, float] | None = None,
    right: Mapping[str, Collection[tuple[int, ...]]] | None = None,
) -> list[Deviation]:
    """Compares every quantity that both have, in the witness's order.

    wider: by quantity, how many times more than usual may differ (whitening divides by a small σ). odd: by quantity,
    cells that show no number at all, which is right only of an error where torch has none either. carried: by quantity, what
    may differ at least. right: by quantity, the cells that rightly show an error.
    """
    least, errors, ended = carried or {}, odd or {}, right or {}
    return [
        _compared(
            name,
            sheet[name],
            theirs,
            tolerance * wider.get(name, 1.0),
            least.get(name, 0.0),
            {at: at in ended.get(name, ()) for at in (*errors.get(name, ()), *ended.get(name, ()))},
        )
        for name, theirs in witness.items()
        if name in sheet
    ]


def _compared(
    name: str, ours: Array, theirs: Array, relative: float, least: float, odd: Mapping[tuple[int, ...], bool]
) -> Deviation:
    """Compares one quantity; odd: its cells that show no number, and whether that is right."""
    allowed = 0.0
    if ours.dtype == object or theirs.dtype == object:
        distance = np.asarray(ours != theirs).astype(float)
        for at in (at for at, right in odd.items() if right):
            distance[at] = 0.0
    else:
        allowed = allowed_of(theirs, relative, least)
        # A limit that is off is infinite on both sides, and infinity less infinity is no number.
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        with np.errstate(invalid="ignore"):
            distance = np.where(same, 0.0, np.nan_to_num(np.abs(ours - theirs), nan=np.inf, posinf=np.inf))
        for at, right in odd.items():
            distance[at] = 0.0 if right else np.inf
    where = np.unravel_index(int(np.argmax(distance)), distance.shape) if distance.size else ()
    differing = tuple(map(tuple, np.argwhere(distance > allowed).tolist()))
    return Deviation(
        name, int(distance.size), float(distance.max(initial=0.0)), tuple(map(int, where)), allowed, differing
    )


def allowed_of(theirs: Array, relative: float, least: float) -> float:
    """Returns the distance allowed of the witness's numbers: relative to 1 plus the largest of them, and at least so much."""
    return max(least, relative * (1.0 + _largest(theirs)))


def _largest(array: Array) -> float:
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


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


def carried(file: Checked, witness: Mapping[str, Array], tolerance: float) -> dict[str, float]:
    """Returns, by quantity, how much it may differ because of large numbers in what it follows from.

    The numbers are those typed and torch's: what a sheet shows must not widen what it is allowed.
    """
    found: dict[str, float] = {}
    for name, place in file.places.items():
        array = file.arrays[name] if place.kind == "typed" else witness.get(name)
        runs = any(along.letter == WORDS for along in place.shape)
        # Ids and masks are whole numbers, which nothing rounds.
        if array is not None and array.dtype != object and runs and np.any(array[np.isfinite(array)] % 1):
            least = tolerance * SHARE * _largest(array)
            for reader in file.followers(name) if least > tolerance else ():
                found[reader] = max(found.get(reader, 0.0), least)
    for name, least in _directions(file, witness, tolerance * SHARE):
        rate = max(float(file.arrays[rate]) for rate in RATES if rate in file.arrays)
        for reader in (name, *file.followers(name)):
            found[reader] = max(found.get(reader, 0.0), least if reader == name else least * rate)
    return found


def _directions(file: Checked, witness: Mapping[str, Array], rounding: float) -> Iterator[tuple[str, float]]:
    """Lists the directions of an optimiser, and how far apart they may be: the rounding of a gradient, divided as the gradient was.

    A gradient whose terms cancel is nothing but rounding, and Adam divides it by ε. One of 0 on both sides is no rounding.
    """
    for name in witness:
        step, _, weight = name.partition(DIRECTION)
        if weight and name in file.places:
            squares = witness[f"{step}.v.{weight}"]
            shown = file.arrays.get(f"{step}.v.{weight}", squares)
            rounded = (squares > 0) | ((shown > 0) & (shown <= rounding**2))
            sizes = np.sqrt(squares[rounded] / (1.0 - witness[f"{step}.power2"]))
            divisors = sizes + file.arrays["optimiser.eps"]
            yield name, rounding / float(divisors.min(initial=np.inf))


def undecided(file: Checked, lines: list[Deviation]) -> set[str]:
    """Returns the checks of the sheet that rounding alone decides: what they may differ by is more than they tolerate."""
    stems = {line.name.removesuffix(WORST): line for line in lines if line.name.endswith(WORST) and line.agrees}
    tolerances = {stem: file.arrays.get(f"{stem}.tolerance") for stem in stems}
    return {stem for stem, tolerance in tolerances.items() if tolerance is not None and tolerance < stems[stem].allowed}


def left_open(line: Deviation, stems: set[str]) -> bool:
    """Says whether a line only tells how checks came out that rounding decides: a verdict, their number, or all of them."""
    stem, _, last = line.name.rpartition(".")
    is_verdict = line.name == f"{CHECKS}master" or (last == "verdict" and stem in stems)
    is_count = last == "failed" and line.largest <= len(stems)
    return bool(stems) and not line.agrees and line.name.startswith(CHECKS) and (is_verdict or is_count)
