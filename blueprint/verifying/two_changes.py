"""Two changes at a time, where none explains a deviation by itself: those whose effects add up to it, or multiply to it.

Of every change that was tried it is known what the quantity came to. Changes of different parts of an equation add up, those of
its factors multiply: so pairs that may explain it are found among all of them at once, and only these are computed together. Among
a million pairs some come near a single number by chance: how much evidence a pair takes follows from how many there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import log2
from typing import Any, NamedTuple

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying.settings import Settings

SUMS = 3
"""A row of numbers is compared by so many weighted sums, before pairs are computed."""
CERTAIN = 10.0
"""So many bits more than it takes to pick the pair among all must agree: one of a thousand is then there by chance."""
SHARE, FEWEST = 32, 8
"""Of so many changes that there is time for, one is a pair; and so many pairs are computed at least."""
TYPED, NEAR = 200, 1e-2
"""Numbers of two digits, of either sign and of a size; and how far a number may be from one: whether it explains is computed."""
MOST_NEAR, MOST_PAIRS = 1 << 14, 1 << 10
"""So many pairs are looked at that come near a quantity, and so many handed on, the plainest: where more do, chance brings them."""
LARGEST_TYPED = 1e6
"""A larger number nobody types in front of a term."""
OF_ONE_EFFECT = 4
"""So many changes of the same effect are told apart, by other files, or are named together."""


class Effect(NamedTuple):
    """A change, and what the quantity came to by it: a number, or sums of a row, [K]."""

    change: Any
    came_to: Array


@dataclass
class Effects:
    """By quantity, what it came to by each change that was tried."""

    tried: dict[str, list[Effect]] = field(default_factory=dict)

    def note(self, name: str, change: Any, came_to: Array | None) -> None:
        """Keeps what a quantity came to; a change that made no number of it is left out."""
        if came_to is not None and np.isfinite(came_to).all():
            self.tried.setdefault(name, []).append(Effect(change, came_to))


def totals_of(row: Array | float, cells: Array | None = None) -> Array:
    """Returns a number as it is, of a row sums that tell rows apart: with weights that are always the same, [K]."""
    numbers = np.asarray(row, np.float64)
    if numbers.ndim == 0:
        return numbers[None]
    flat = np.where(True if cells is None else cells, numbers, 0.0).ravel()
    if not np.isfinite(flat).all():
        return np.full(SUMS, np.nan)
    weights = np.cos(np.outer(np.arange(1, SUMS + 1) ** 0.5, 1.0 + np.arange(flat.size)))
    return np.asarray(weights @ flat / max(1.0, flat.size**0.5))


class Together(NamedTuple):
    """Two changes as one: how a report puts it, settings and ways, and how many bits of evidence it takes."""

    label: str
    settings: Settings
    ways: Mapping[str, Any]
    bits: float


def two_at_a_time(
    effects: Effects,
    name: str,
    settings: Settings,
    straight: Array,
    logged: Array,
    allowed: float,
    parts: Collection[float],
) -> list[list[Together]]:
    """Returns the pairs of changes that may explain a quantity, the plainest first; in a list those of the same effects.

    straight, logged: what it comes to without a change, and what the file has, [K]. allowed: by how much rounding moves it.
    parts: numbers that may be a term of it, of which factors are factors.
    """
    alike = _alike(effects.tried.get(name, ()), straight, allowed)
    if len(alike) < 2 or not np.isfinite([*straight, *logged]).all():
        return []
    came_to = np.stack([each[0].came_to for each in alike])
    summing = _summing(came_to - straight, logged - straight, np.full_like(straight, 2 * allowed))
    found = dict.fromkeys(islice(summing, MOST_NEAR))
    for rest in (np.zeros_like(straight), *(straight - part for part in parts)):
        own, theirs = straight - rest, logged - rest
        if np.all(np.abs(own) > 2 * allowed) and np.all(np.abs(theirs) > 2 * allowed):
            with np.errstate(over="ignore"):  # what is beyond every number explains nothing
                room = 2 * allowed / np.abs(own) + 2 * allowed / np.abs(theirs)
                factors, wanted = (came_to - rest) / own, theirs / own
            found |= dict.fromkeys(islice(_multiplying(factors, wanted, room), MOST_NEAR))
    bits = log2(len(alike) ** 2) + CERTAIN
    both = ([alike[one], alike[two]] for one, two in sorted(found, key=lambda pair: (sum(pair), pair)))
    made = ([_together(one.change, two.change, settings, bits) for one in ones for two in twos] for ones, twos in both)
    return [*islice((there for each in made if (there := [pair for pair in each if pair is not None])), MOST_PAIRS)]


def terms_fitted(effects: Effects, name: str, straight: Array, logged: Array) -> list[Any]:
    """Returns the terms too many with the number with which a quantity would come to what is logged: a number of two digits.

    straight, logged: what it comes to without a change, and what the file has, [K].
    """
    terms = [each for each in effects.tried.get(name, ()) if each.change.term]
    bits, found = log2(max(1, len(terms)) * TYPED) + CERTAIN, list[Any]()
    for each in terms:
        moved = each.came_to - straight
        size = float(moved @ moved)
        by = float(moved @ (logged - straight)) / size if size and np.isfinite(size) else 0.0
        rounded = float(f"{by:.2g}")
        if rounded not in (0.0, 1.0) and abs(rounded) <= LARGEST_TYPED and abs(by - rounded) <= NEAR * abs(by):
            found.append(each.change.term(rounded)._replace(bits=bits, fitted=True, found=True))
    return found


def _together(one: Any, two: Any, own: Settings, bits: float) -> Together | None:
    """Returns both changes as one; None where both change the same, or one is a number that was fitted."""
    if one.fitted or two.fitted or one.ways.keys() & two.ways.keys() - {"equations"}:
        return None
    settings = [{key: value for key, value in each.settings.items() if value != own[key]} for each in (one, two)]
    equations = [each.ways.get("equations", {}) for each in (one, two)]
    if settings[0].keys() & settings[1].keys() or equations[0].keys() & equations[1].keys():
        return None
    ways = {**one.ways, **two.ways}
    if any(equations):
        ways["equations"] = {**equations[0], **equations[1]}
    return Together(f"{one.label}, and {two.label}", {**own, **settings[0], **settings[1]}, ways, bits)


def _alike(effects: Sequence[Effect], straight: Array, allowed: float) -> list[list[Effect]]:
    """Puts changes of the same effect together, a few of each; those that change nothing are left out."""
    found = dict[bytes, list[Effect]]()
    unit = max(allowed, 1e-300)
    for each in effects:
        if np.abs(each.came_to - straight).max() > allowed:
            with np.errstate(over="ignore"):
                there = found.setdefault((each.came_to / unit).round().tobytes(), [])
            there += [each] if len(there) < OF_ONE_EFFECT else []
    return [*found.values()]


def _summing(moved: Array, apart: Array, room: Array) -> Iterator[tuple[int, int]]:
    """Yields the places of two effects that add up to what is apart, [K] each of [M, K]."""
    order = moved[:, 0].argsort()
    first = moved[order, 0]
    for one, effect in enumerate(moved):
        left = apart - effect
        low, high = np.searchsorted(first, (left[0] - room[0], left[0] + room[0]))
        for two in order[low:high]:
            if two > one and np.all(np.abs(left - moved[two]) <= room):
                yield one, int(two)


def _multiplying(factor: Array, whole: Array, room: Array) -> Iterator[tuple[int, int]]:
    """Yields the places of two effects whose factors multiply to the whole."""
    order = factor[:, 0].argsort()
    first = factor[order, 0]
    for one, effect in enumerate(factor):
        if np.any(effect == 0):
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            left, near = whole / effect, room * np.abs(whole / effect) + room / np.abs(effect)
        low, high = np.searchsorted(first, (left[0] - near[0], left[0] + near[0]))
        for two in order[low:high]:
            if two > one and np.all(np.abs(left - factor[two]) <= near):
                yield one, int(two)
