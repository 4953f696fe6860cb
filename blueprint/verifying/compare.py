"""A logged tensor, or a logged number, beside the row that was computed again; and what is said of it, of a file and of a step:
that it agrees, follows from what is before it, or differs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from blueprint.dumps import COUNTED_IN, Array, Dump, Place
from blueprint.verifying.logged import before

if TYPE_CHECKING:
    from blueprint.verifying.verdict import Verdict


class Axes(NamedTuple):
    """What rows and columns of a tensor are called, and one of its numbers; without columns it has one number for each row."""

    row: str = "row"
    column: str = "column"
    cell: str = "token"


OF_RESPONSES = Axes("row", "", "response")


def once_each(where: Array) -> Array:
    """Returns the first place of each row in which a number is compared, [N, T]: one number of a response is compared once."""
    return np.asarray(where & (np.cumsum(where, axis=1) == 1))


@dataclass(frozen=True)
class Spot:
    """Where a tensor first deviates: a response, its first and last deviating column, and both numbers at the first.

    episode: the response in the minibatch, from 0; row: the row of the file that it is. Columns are those of the file.
    """

    episode: int
    row: int
    first: int
    last: int
    words: int
    logged: float
    recomputed: float


FEW, NO_SHARE = 32, 1e-7
"""A number that is a share of so many, or of fewer; and by how much it may be off as float32 keeps it."""
MOST_BITS, BITS_OF_FEW = 50.0, 5.0
"""So many bits one number has at most, as float64 keeps it; and a share of few."""
SHARE = 0.005
"""A quantity agrees only if its tolerance is at most this share of its size: a fault of twice as much, 1 %, is then found even
where rounding works against it."""


@dataclass(frozen=True)
class Compared:
    """A logged quantity beside its row.

    means: what the name means here, where that is not what the preset says.
    cells, deviating: how many numbers were compared, and how many of them are further apart than `allowed`, by which rounding
        alone may move them.
    largest: the largest difference. size: the mean size of what was computed again.
    extra: the part of `allowed` that is due to few digits, or to tokens near a clip.
    measured: by how much rounding was seen to move it (`measured.py`), where `allowed` is more than a `SHARE` of the size.
    arithmetic: by how much the library's own arithmetic may move it. dtype: the coarsest of what it is made of.
    logged, recomputed: both numbers, where it is a number.
    axes: what its rows, columns and numbers are called.
    ours: of a tensor, what was computed again, `folded`; None where nobody asks whether two causes give the same.
    """

    name: str
    row: str
    means: str
    cells: int
    deviating: int
    largest: float
    allowed: float
    spot: Spot | None = None
    logged: float | None = None
    recomputed: float | None = None
    size: float = 0.0
    extra: float = 0.0
    measured: float | None = None
    arithmetic: float = 0.0
    dtype: str = ""
    axes: Axes = field(default_factory=Axes)
    ours: Array | None = field(default=None, repr=False, compare=False)

    @property
    def agrees(self) -> bool:
        """Whether no number is further off than rounding alone may explain; it may still be too coarse to tell."""
        return not self.deviating

    @property
    def bits(self) -> float:
        """How many bits of evidence the numbers are that deviate: each says more, the further it is off beside its rounding."""
        return self.bits_down_to(self.allowed)

    def bits_down_to(self, left: float) -> float:
        """Returns how many bits of evidence a cause explains that leaves so much."""
        least = max(left, sys.float_info.epsilon * self.size, sys.float_info.min)
        each = math.log2(max(self.largest, sys.float_info.min)) - math.log2(least)
        return self.deviating * min(BITS_OF_FEW if self.of_few else MOST_BITS, max(0.0, each))

    @property
    def of_few(self) -> bool:
        """Whether it is a fraction with a small denominator, such as an accuracy of four pairs (five values)."""
        if self.logged is None or self.recomputed is None:
            return False
        both = float(self.logged), float(self.recomputed)
        shares = all(0 <= each <= 1 and abs(each - Fraction(each).limit_denominator(FEW)) <= NO_SHARE for each in both)
        return shares and max(both) > NO_SHARE  # numbers near 0 are shares of anything

    @property
    def rounding(self) -> float:
        """How far rounding may move it."""
        return self.allowed - self.extra if self.measured is None else self.measured

    @property
    def doubtful(self) -> bool:
        """Whether rounding might hide more than a `SHARE` of it."""
        return not self.rounding <= SHARE * self.size

    @property
    def tolerance(self) -> float:
        """How far off a number may be and still be said to agree.

        Where rounding might hide too much, what agrees to within the library's arithmetic has not been rounded on the way.
        """
        if self.doubtful:
            return min(self.arithmetic, SHARE * self.size)
        return self.rounding + self.extra if self.rounding + self.extra <= SHARE * self.size else self.rounding

    @property
    def too_coarse(self) -> bool:
        """Whether rounding may explain the difference, but might hide a fault, too, or decides every number of it; what is equal
        to the last bit agrees."""
        return self.agrees and (not self.cells or (self.largest != 0 and not self.largest <= self.tolerance))


EQUAL = 1e-10
"""So far apart, as a share of their size, rounding of float64 may leave equal numbers; that of float32 is 600 times as much."""


BLOCK = 4096
WEIGHTS = 1.5 + np.cos(np.arange(BLOCK) ** 2.0)


def folded(ours: Array) -> Array:
    """Returns numbers in few: of a large tensor one for each block, a sum with weights; whatever differs in it is seen there."""
    flat = np.ravel(ours)
    if flat.size <= BLOCK:
        return flat
    with np.errstate(all="ignore"):  # of numbers beyond the largest one, infinity or NaN
        return np.asarray(np.pad(flat, (0, -flat.size % BLOCK)).reshape(-1, BLOCK) @ WEIGHTS / BLOCK**0.5)


def same_numbers(one: Compared, other: Compared) -> bool:
    """Tells whether a quantity was recomputed to the same numbers twice, to rounding of float64: not merely to numbers near by."""
    if one is other:  # as it is, without either cause
        return True
    if one.logged is not None and other.logged is not None:
        both = np.asarray(one.recomputed), np.asarray(other.recomputed)
    elif one.ours is not None and other.ours is not None and one.ours.shape == other.ours.shape:
        both = one.ours, other.ours
    else:
        return False
    scale = EQUAL * (max(one.size, other.size) + np.abs(both[0]))
    return bool(np.all(~(distance(*both) > np.where(np.isfinite(scale), scale, 0.0))))


def first_spot(dump: Dump, wrong: Array, theirs: Array, ours: Array, rows: Sequence[int] | Array) -> Spot | None:
    """Returns where numbers [N, T] first deviate, None where none does; rows: which rows of the dump these are, [N]."""
    if not wrong.any():
        return None
    at = int(wrong.any(axis=1).argmax())
    columns = wrong[at].nonzero()[0]
    file_row, moved = dump.position(int(rows[at]))
    first, last = moved + int(columns[0]), moved + int(columns[-1])
    logged, recomputed = (float(each[at, columns[0]]) + 0.0 for each in (theirs, ours))  # −0 is 0
    return Spot(int(rows[at]), file_row, first, last, len(columns), logged, recomputed)


def distance(theirs: Array, ours: Array) -> Array:
    """Returns |theirs − ours|: 0 where both are the same infinity or both no number, infinity where only one of them is."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(theirs - ours)
    same = (theirs == ours) | (np.isnan(theirs) & np.isnan(ours))
    return np.asarray(np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart)))


def compare_number(name: str, row: str, means: str, both: tuple[float, float], allowed: float) -> Compared:
    """Compares a logged number, the first of both, with the one that was computed again; −0 is 0."""
    logged, ours = (each + 0.0 for each in both)
    apart = float(distance(np.asarray(logged), np.asarray(ours)))
    wrong = (apart != 0 and not apart <= allowed) or np.isinf(apart)
    return Compared(name, row, means, 1, int(wrong), apart, allowed, None, logged, ours, abs(ours))


AGREES, TOO_COARSE, FOLLOWS, DIFFERS = "agrees", "too coarse", "follows", "DIFFERS"
NEEDS_OTHERS = "needs the others"

LEAST_SHARE = 0.01
"""How much of its tolerance a difference must take to be named."""

EARLY, BESIDE = "before the first update, rms", "beside the trainer's, rms"
"""What a quantity means that two forwards of the same policy make: before the first update, or the generating engine and the
trainer. It is said of it how far both are apart."""


@dataclass(frozen=True)
class Line:
    """A logged quantity: what the file calls it, what it was compared to, and what that says.

    says: agrees; too coarse, if rounding may explain the difference but might hide a fault, too; follows, if it agrees with the
        file's own rows before it or with the cause of the first deviation; DIFFERS, also from the file's own rows before it; or
        that it needs the other files of the step, where nothing but their mean and deviation could make a difference.
    why: what makes it too coarse, where that is no rounding.
    within: what it follows from where nothing before it deviates: rows before it that agree, and how much of their
        tolerance they take.
    """

    called: str
    compared: Compared
    says: str
    within: Mapping[str, float] = field(default_factory=dict)
    why: str = ""

    @property
    def allowed(self) -> float:
        """How far apart it may be: to agree, or else by rounding alone."""
        found = self.compared
        return min(found.tolerance, SHARE * found.size) if self.says == AGREES else found.allowed


def lines_of(
    quantities: Mapping[str, Any],
    called: Callable[[str], str],
    straight: Mapping[str, Compared],
    local: Mapping[str, Compared],
) -> list[Line]:
    """Says of each quantity whether it agrees, or else whether it follows from what the file has before it.

    quantities: all of a kind of dump, each with those that it is made of, `after`. called: what the file calls one.
    """
    lines: list[Line] = []
    for name, compared in straight.items():
        says, within = TOO_COARSE if compared.too_coarse else AGREES, dict[str, float]()
        if not compared.agrees:
            earlier = [straight[each] for each in before(name, quantities) if each in straight]
            follows = bool(earlier) and name in local and local[name].agrees
            says = FOLLOWS if follows else DIFFERS
            within = _within(earlier) if follows and all(each.agrees for each in earlier) else within
        lines.append(Line(called(name), replace(compared, ours=None), says, within))
    return lines


def _within(earlier: Sequence[Compared]) -> dict[str, float]:
    """Returns how much of its tolerance each takes, the most first; where none takes a hundredth, only the first."""
    shares = {each.name: each.largest / each.allowed for each in earlier if each.allowed}
    order = sorted(shares, key=lambda name: -shares[name])
    return {name: shares[name] for place, name in enumerate(order) if shares[name] >= LEAST_SHARE or not place}


def first_of(lines: Sequence[Line]) -> Line | None:
    """Returns the first line that differs by itself, or else the first that deviates; None where none does."""
    wrong = [line for line in lines if not settled(line)]
    return next((line for line in wrong if line.says == DIFFERS), next(iter(wrong), None))


def settled(line: Line) -> bool:
    """Whether nothing is left to be explained: it agrees, or only other files can judge it."""
    return line.compared.agrees or line.says == NEEDS_OTHERS


def following(line: Line) -> Line:
    """Returns a line that follows from the cause of the first deviation."""
    return replace(line, says=FOLLOWS, within={})


SEVERITY = {AGREES: 0, FOLLOWS: 2, DIFFERS: 3}
"""How severe it is what a line says; all else is no deviation, and more severe than that it agrees."""


@dataclass(frozen=True)
class StepLine:
    """A logged quantity of a step: where it is worst among the files, and where it first deviates.

    line, worst: the most severe line of the files, and in which it is; where several say the same, the one that takes the most of
        its tolerance. files: how many files have it. deviating: those in which it deviates, in their order; and first: the line
        of the first of them that says the most severe, and that file.
    """

    line: Line
    worst: Dump
    files: int
    deviating: tuple[Dump, ...]
    first: tuple[Line, Dump] | None

    @property
    def name(self) -> str:
        """Its neutral name."""
        return self.line.compared.name

    @property
    def of_forwards(self) -> bool:
        """Whether it is what two forwards of the same policy make."""
        return self.line.compared.means in (EARLY, BESIDE)


def step_lines(verdicts: Sequence[Verdict], quantities: Collection[str]) -> list[StepLine]:
    """Returns the lines of a step: what two forwards of the same policy make, then the quantities in the order of derivation."""
    found: dict[tuple[bool, int, str], list[tuple[Line, Dump]]] = {}
    places = {name: place for place, name in enumerate(quantities)}
    for verdict in verdicts:
        for line in verdict.lines:
            name, forwards = line.compared.name, line.compared.means in (EARLY, BESIDE)
            found.setdefault((not forwards, places.get(name, -1), name), []).append((line, verdict.replayed.batch))
    return [_together(found[each]) for each in sorted(found)]


def _together(lines: Sequence[tuple[Line, Dump]]) -> StepLine:
    def severity(each: tuple[Line, Dump]) -> tuple[int, float]:
        found = each[0].compared
        return SEVERITY.get(each[0].says, 1), found.largest / (found.allowed or 1.0)

    (worst, batch), wrong = max(lines, key=severity), [each for each in lines if not settled(each[0])]
    first = next((each for each in wrong if each[0].says == worst.says), None)
    return StepLine(worst, batch, len(lines), tuple(each for _, each in wrong), first)


def first_line(lines: Sequence[StepLine]) -> StepLine | None:
    """Returns the first that differs by itself, or else the first that deviates at all; what two forwards of the same policy make
    comes after everything else."""
    wrong = sorted((each for each in lines if each.deviating), key=lambda each: each.of_forwards)
    return next((each for each in wrong if each.line.says == DIFFERS), next(iter(wrong), None))


def only_in(deviating: Sequence[Dump], batches: Sequence[Dump]) -> Iterator[str]:
    """Yields what the files in which something deviates have in common, and none of the others: rank 1, epoch 0 …"""
    some = {id(each) for each in deviating}
    others = [each for each in batches if id(each) not in some]
    for key in COUNTED_IN:
        values = {getattr(each.place or Place(), key) for each in deviating}
        elsewhere = {getattr(each.place or Place(), key) for each in others}
        if others and len(values) == 1 and None not in values and not values & elsewhere:
            yield f"{key} {values.copy().pop()}"


def summary(lines: Sequence[Line]) -> str:
    """Says how many of the quantities agree, where nothing deviates; if none does, that must not read like success."""
    coarse, open_ = (sum(line.says == says for line in lines) for says in (TOO_COARSE, NEEDS_OTHERS))
    count = len(lines) - coarse - open_
    agree = f"{count} agree{'s' if count == 1 else ''}"
    too_coarse = f"{coarse} {'is' if coarse == 1 else 'are'} too coarse to tell"
    if open_ and not count and not coarse:
        every = "the one logged quantity is" if open_ == 1 else f"all {open_} logged quantities are"
        return f"Nothing could be compared: {every} left open."
    if open_:
        return f"{agree}, {open_} {'is' if open_ == 1 else 'are'} left open{f', {too_coarse}' if coarse else ''}."
    if not coarse:
        return f"All {count} logged quantities agree." if count > 1 else "The one logged quantity agrees."
    if not count:
        every = "the one logged quantity is" if coarse == 1 else f"all {coarse} logged quantities are"
        return f"Nothing can be said to agree: {every} too coarse to tell."
    return f"{agree}; {too_coarse}."
