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
    cells = [*leaves(value)]
    if {*cells} == {0, 1}:
        return _judged(value, random)
    decimals = min(max([least_decimals, *map(decimals_of, cells)]), MOST_DECIMALS)
    sizes = [abs(cell) for cell in cells if cell]
    steps = max(1, round(SPREAD * sum(sizes) / max(len(sizes), 1) * 10**decimals))

    def near(cell: Any, place: tuple[int, ...]) -> Any:
        if isinstance(cell, list | tuple):
            return [near(each, (*place, at)) for at, each in enumerate(cell)]
        found = round(cell + random.randint(-steps, steps) * 10.0**-decimals, decimals) or cell
        return known.setdefault((name, place, cell), found) if cell else cell

    return near(value, ())


def _judged(value: Any, random: Random) -> Any:
    """Returns other judgements, each right (1) or wrong (0): in another order, and half of the time the other way round.

    So the mean of a group differs, and is as short as before; a right answer that counted 1.1 would change no advantage.
    """
    turned = random.random() < 1 / 2
    order = random.sample(cells := [*leaves(value)], len(cells))
    drawn = iter([1 - cell for cell in order] if turned else order)

    def again(each: Any) -> Any:
        return [again(inner) for inner in each] if isinstance(each, list | tuple) else next(drawn)

    return again(value)


def decimals_of(number: float) -> int:
    """Returns how many decimals a number is typed with: 0.25 has 2."""
    exponent = Decimal(f"{number:.15g}").normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def leaves(value: Any) -> Iterator[float]:
    """Yields the numbers of nested lists, in their order."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
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
