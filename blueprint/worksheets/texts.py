"""Texts of a blueprint, and the numbers that they quote."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass

import numpy as np

from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint

NUMBER = re.compile(r"(?<![\w.,])[-+−]?\d+(?:[.,]\d+)?(?:[eE][-+−]?\d+)?(?![\w]|[.,]\d)")
DIGITS = 3
"""How many digits after its leading zeros a number in a text must have, so that it is no coincidence that an answer has them."""


class Quoted:
    """The numbers that stand in texts, each with half a unit of its last digit."""

    def __init__(self, texts: Iterable[str]):
        found = [
            (text, *read) for text in dict.fromkeys(texts) for each in NUMBER.findall(text) if (read := _read(each))
        ]
        self.texts = [text for text, _, _ in found]
        self.numbers, self.units = (np.array([each[i] for each in found], dtype=float) for i in (1, 2))

    def quoting(self, answer: float, decimals: int) -> list[str]:
        """Returns the texts that quote an answer, or its negative, with the decimals that a page shows or more."""
        near = abs(self.numbers - abs(answer)) <= 0.5000001 * self.units
        return [self.texts[i] for i in np.flatnonzero(near & (self.units < 1.5 * 10.0**-decimals))]


def _read(number: str) -> tuple[float, float] | None:
    """Returns the size of a number that stands in a text, and the unit of its last digit; None for one of too few digits."""
    plain = number.replace("−", "-").replace(",", ".").lstrip("+-")
    mantissa, _, exponent = plain.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    if len((whole + decimals).lstrip("0")) < DIGITS or len(exponent) > DIGITS:
        return None
    return float(plain), 10.0 ** (int(exponent or 0) - len(decimals))


def texts_of(blueprint: Blueprint) -> Iterator[str]:
    """Yields every text that a file of a blueprint shows: titles, sentences, notes, what blocks say of themselves, facts."""
    yield from (blueprint.title, *blueprint.notes.values(), *blueprint.facts.values())
    yield from texts_in(blueprint.sheets)
    for block in blueprint.blocks():
        about = block.about
        yield from (about.symbol, about.meaning, about.unit, about.source)
        if block.typed and block.text:
            yield from texts_in(blueprint.typed[block])


def texts_in(part: object) -> Iterator[str]:
    """Yields the texts in a part of an outline; what blocks say of themselves is not in it."""
    match part:
        case str():
            yield part
        case Block() | Axis():
            return
        case dict():
            yield from part.keys()
        case tuple() | list():
            for each in part:
                yield from texts_in(each)
        case _ if is_dataclass(part):
            for each in fields(part):
                yield from texts_in(getattr(part, each.name))
