"""Numbers near given ones, with as many decimals as a person types; texts with their words in another order."""

from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

from blueprint.inputs import Setting

Together = dict[tuple[str, tuple[int, ...], float], float]
"""How numbers have moved, by the name of their part, place and value."""
SPREAD = 1 / 6
"""How far a number moves at most, as a share of the size that numbers of its part have."""
MOST_DECIMALS, SETTING_DECIMALS = 4, 2
"""Decimals of a number that is drawn: at most, and at least of a setting."""
SMALLEST = 10.0**-MOST_DECIMALS


def moved(value: Any, random: Random, together: Together | None = None, name: str = "", least_decimals: int = 1) -> Any:
    """Returns numbers near those given, however deep in lists, each in steps of the last decimal that they are typed with.

    together: how numbers have moved, by the name of their part, place and value; what is the same in two parts (weights
    that a reference shares with a policy) moves together.
    """
    known: Together = {} if together is None else together
    cells = [*_leaves(value)]
    decimals = min(max([least_decimals, *map(decimals_of, cells)]), MOST_DECIMALS)
    sizes = [abs(cell) for cell in cells if cell]
    steps = max(1, round(SPREAD * sum(sizes) / max(len(sizes), 1) * 10**decimals))

    def near(cell: Any, place: tuple[int, ...]) -> Any:
        if isinstance(cell, list | tuple):
            return [near(each, (*place, at)) for at, each in enumerate(cell)]
        found = round(cell + random.randint(-steps, steps) * 10.0**-decimals, decimals) or cell
        return known.setdefault((name, place, cell), found) if cell else cell

    return near(value, ())


def decimals_of(number: float) -> int:
    """Returns how many decimals a number is typed with: 0.25 has 2."""
    exponent = Decimal(f"{number:.15g}").normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _leaves(value: Any) -> Iterator[float]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def holds_words(value: Any) -> bool:
    """Tells whether lists, however deep, hold a word."""
    return isinstance(value, str) or (isinstance(value, list | tuple) and any(map(holds_words, value)))


def shuffled(text: Any, random: Random) -> list[str]:
    """Returns the words of a text in another order."""
    words = text.split() if isinstance(text, str) else [*text]
    return random.sample(words, len(words))


def moved_setting(setting: Setting, value: Any, random: Random) -> Any:
    """Returns another value for a setting: one of its words, or a number near it that it may have."""
    if setting.words:
        return random.choice(setting.words)
    found = moved(float(value), random, least_decimals=SETTING_DECIMALS)
    return min(max(found, setting.low), setting.largest)
