"""Texts of a blueprint, and the numbers that they quote."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint

NUMBER = re.compile(r"(?<![\w.,])[-+−]?\d+(?:[.,]\d+)?(?:[eE][-+−]?\d+)?(?![\w]|[.,]\d)")
DIGITS = 3
"""How many digits after its leading zeros a number in a text must have, so that it is no coincidence that an answer has them."""


def quoting(text: str, answer: float, decimals: int) -> bool:
    """Tells whether a number stands in a text that is an answer, or its negative, with the decimals that a page shows or more."""
    return any(_is(found.group(), answer, decimals) for found in NUMBER.finditer(text))


def _is(number: str, answer: float, shown: int) -> bool:
    plain = number.replace("−", "-").replace(",", ".").lstrip("+-")
    mantissa, _, exponent = plain.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    unit = 10.0 ** (int(exponent or 0) - len(decimals))
    if len((whole + decimals).lstrip("0")) < DIGITS or unit > 1.5 * 10.0**-shown:
        return False
    return abs(float(plain) - abs(answer)) <= 0.5000001 * unit


def texts_of(blueprint: Blueprint) -> Iterator[str]:
    """Yields every text that a file of a blueprint shows: titles, sentences, notes, what blocks say of themselves, facts."""
    yield from (blueprint.title, *blueprint.notes.values(), *blueprint.facts.values())
    yield from _within(blueprint.sheets)
    for block in blueprint.blocks():
        about = block.about
        yield from (about.symbol, about.meaning, about.unit, about.source)
        if block.typed and block.text:
            yield from _within(blueprint.typed[block])


def _within(part: object) -> Iterator[str]:
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
                yield from _within(each)
        case _ if is_dataclass(part):
            for each in fields(part):
                yield from _within(getattr(part, each.name))
