"""Which misconception a student's numbers come from, if any: they must be what it gives, and not by chance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from statistics import median
from typing import Literal

from blueprint.misconceptions.relatives import DISCOUNTED
from blueprint.misconceptions.upstream import INSTEAD
from blueprint.misconceptions.wrong_numbers import PLAIN, Wrong

FEWEST = 2
"""Significant digits that a rounded number has at least: with one alone, 1 for 1.09, it may stand for anything."""
TELLING = 3
"""Significant digits that a number which was cut off has at least, unless it is cut at the last digit shown or one before it."""
HAIR = 1e-6
"""What half a unit may be off, as a part of a unit: halves are not exact in binary."""
Shortened = Literal["rounded", "cut"]


def shortened(number: float, right: float, decimals: int) -> Shortened | None:
    """Tells whether a number is the right one, rounded to fewer digits than are shown, or cut off instead of rounded.

    A number with one digit less than the sheet shows may have a single significant one; a number that is 0 says nothing.
    """
    if not number or not right or not (isfinite(number) and isfinite(right)):
        return None
    leading = -floor(log10(abs(right)))  # decimals up to the first digit that counts
    fewest = min(leading + FEWEST - 1, decimals - 1)
    units = [10.0**-kept for kept in range(decimals, fewest - 1, -1)]
    off = abs(number - right)
    typed = [
        unit for unit in units if abs(number - round(number / unit) * unit) <= HAIR * unit
    ]  # it has no more digits
    if any(off <= (1 / 2 + HAIR) * unit for unit in typed):
        return "rounded"
    farthest = 10.0 ** -min(leading + TELLING - 1, decimals - 1)
    nearer_0 = number * right > 0 and abs(number) < abs(right)
    return "cut" if nearer_0 and any(off <= (1 + HAIR) * unit for unit in typed if unit <= 1.5 * farthest) else None


def too_short(number: float, right: float, decimals: int) -> bool:
    """Tells whether a number has so few digits that it may be the right one as well as any other near it: 0.04 for 0.0382."""
    kept = next((kept for kept in range(decimals) if round(number, kept) == number), decimals)
    return number != 0 and kept < decimals and abs(number - right) <= (1 / 2 + HAIR) * 10.0**-kept


CHANCE = 0.05
"""How probable it may be at most that a number drawn from where the numbers of a row lie is one of its misconceptions'."""
MOST_IDEAS, MOST_ALIKE = 3, 6
"""Different mistakes that are said of one number, and how many may give it; where more do, it tells nothing."""
MORE_GIVE_IT = "another, since more mistakes give this number."
MORE_DIGITS = 4
"""Digits more than the sheet shows with which a number was computed, not copied: of these all have to agree."""
EXACT = 2e-8
"""How near a computed number must come, as a part of it: a spreadsheet saves 15 digits, sums lose a few, and an ε of 1e-8 that
somebody leaves out of a divisor moves a number by as much of it."""
ROUNDED = 1e-9
"""What rounding takes of a number, as a part of it."""


@dataclass(frozen=True)
class Diagnosis:
    """The misconception that gives a student's numbers, and the names of others that give them, too."""

    name: str
    says: str
    others: tuple[str, ...] = ()


def diagnose(
    given: Sequence[float | None],
    wrong: Sequence[Wrong],
    rights: Sequence[Sequence[float]],
    decimals: int,
    tolerance: float | None = None,
) -> Diagnosis | None:
    """Names the misconception by which a student's numbers are what they are; None where none is known, or chance may be.

    given: a number for each cell of the blank, None for an empty one. wrong: its misconceptions, on the true values or on the
    student's own, the most specific first. rights: numbers that are right: the true ones, and those with errors carried
    forward; a cell that has one of these, or one of too few digits, is never wrong; nor are zeros alone. decimals: those
    that the sheet shows. tolerance: what counts as right; without it half a unit of the last digit shown.
    """
    half = half_unit(decimals)
    right = [[numbers[cell] for numbers in rights] for cell in range(len(given))]
    off = {
        cell: number
        for cell, number in enumerate(given)
        if number is not None
        and not _one_of(number, right[cell], half if tolerance is None else tolerance)
        and not any(shortened(number, each, decimals) for each in right[cell])
    }
    if not any(off.values()) or not all(map(math.isfinite, off.values())):  # an empty cell of a program reads 0, too
        return None
    for near in _nearness(off, decimals):
        if found := _named(off, wrong, right, near):
            return found
    return None


def _named(
    off: Mapping[int, float], wrong: Sequence[Wrong], right: Sequence[Sequence[float]], near: Mapping[int, float]
) -> Diagnosis | None:
    """Names the misconception that comes so near to the numbers that are off, if chance does not."""
    fits = [each for each in wrong if all(_one_of(off[cell], [each.numbers[cell]], near[cell]) for cell in off)]
    if set(off.values()) <= PLAIN:
        fits = [each for each in fits if each.written]
    if not fits:
        return None
    nearest = min(map(_unlikely, fits))
    if _by_chance([each for each in wrong if _unlikely(each) <= nearest], right, near) > CHANCE:
        return None
    near_fits = [each for each in fits if each.far == nearest[0]]
    return _said(
        [*near_fits, *(each for each in fits if each.written and any(each.key == near.key for near in near_fits))]
    )


def _unlikely(wrong: Wrong) -> tuple[int, bool]:
    """Returns how much a mistake lets others go before it: the farther up it is made, and one that nobody wrote down."""
    return wrong.far, not wrong.written


def _said(fits: Sequence[Wrong]) -> Diagnosis | None:
    """Says which mistake gives the numbers; of two or three that give them each, and of many none.

    One that follows from how an equation is built is no other than one that gives the same in the whole row. Two that somebody
    wrote down are two, even there: c1 of 0.5 forgotten, and the ½ of the loss.
    """
    ideas: list[Wrong] = []
    for each in sorted(fits, key=lambda each: (not each.written, not each.name.startswith(INSTEAD))):
        if not any(each.name == other.name or _needless(each, other) for other in ideas):
            ideas.append(each)
    if len({each.key for each in ideas}) > MOST_ALIKE:
        return None
    more = [MORE_GIVE_IT] if len(ideas) > MOST_IDEAS else []
    says = " Or: ".join([*(each.says for each in ideas[:MOST_IDEAS]), *more])
    others = dict.fromkeys(each.name for each in fits if each.name != ideas[0].name)
    return Diagnosis(ideas[0].name, says, tuple(others))


def _needless(each: Wrong, other: Wrong) -> bool:
    """Tells whether one that follows from how an equation is built goes without saying, as another gives the same.

    A discounted sum is a computation of its own: who makes it does not know that she forgets λ by it.
    """
    return each.key == other.key and not each.written and not each.name.startswith(DISCOUNTED)


def half_unit(decimals: int) -> float:
    """Returns half a unit of the last digit shown."""
    return 0.5 * 10.0**-decimals


def _one_of(number: float, others: Sequence[float], near: float) -> bool:
    return any(abs(number - other) <= near * (1 + ROUNDED) + ROUNDED * ROUNDED for other in others)


def _nearness(off: Mapping[int, float], decimals: int) -> list[dict[int, float]]:
    """Returns how near a mistake must come to each number: to all digits that are given, or else to those that the sheet shows.

    Somebody types the digits shown, or a few more off a calculator, which are right if what she went on from was not rounded.
    """
    all_given, shown = dict[int, float](), dict[int, float]()
    for cell, number in off.items():
        digits = (each for each in range(decimals, decimals + MORE_DIGITS + 1) if round(number, each) == number)
        given = next(digits, None)
        all_given[cell] = EXACT * max(1.0, abs(number)) if given is None else half_unit(given)
        shown[cell] = all_given[cell] if given is None else half_unit(decimals)
    return [all_given, shown] if all_given != shown else [shown]


def _by_chance(wrong: Sequence[Wrong], right: Sequence[Sequence[float]], near: Mapping[int, float]) -> float:
    """Returns how probable it is that numbers drawn from where those of the row lie are what some misconception gives.

    They lie as far from the right one, on either side, as half of the misconceptions' do.
    """
    hit = 1.0
    for cell, so_near in near.items():
        spread = 2 * median(abs(each.numbers[cell] - right[cell][0]) for each in wrong)
        hit *= min(1.0, 2 * so_near / spread) if spread else 1.0
    return len({each.numbers for each in wrong}) * hit
