"""What the names of files tell: of which step they are, where their metadata do not say it, and in which order they stand."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

_STEP = re.compile(r"step[_.-]?(\d{1,15})(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
LONGEST = 15
"""Digits of a number that may be a step."""


def numbers_in(names: Iterable[str], said: Mapping[str, int | None]) -> dict[str, int | None]:
    """Returns the steps that names tell; `said`: those of all files whose metadata say it.

    The number that stands where names of the same shape have the step that their metadata say; else the one behind the last
    "step"; else the only number of the file's own name.
    """
    places = _places({name: step for name, step in said.items() if step is not None})
    return {name: _alike(name, places) if _shape(name) in places else number_in(name) for name in names}


def number_in(name: str) -> int | None:
    """Returns the step that a name tells by itself."""
    told = _STEP.findall(name)
    if told:
        return int(told[-1])
    numbers = _NUMBER.findall(Path(name).stem)
    return int(numbers[0]) if len(numbers) == 1 and len(numbers[0]) <= LONGEST else None


def natural(name: str) -> list[tuple[int, str]]:
    """Returns by what names are sorted so that 10 stands behind 9."""
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in re.split(r"(\d{1,15})", name)]


def _shape(name: str) -> str:
    return _NUMBER.sub("#", name)


def _places(said: Mapping[str, int]) -> dict[str, int]:
    """Returns for names of a shape which of their numbers, counted from 0, is the step in all of those that say it."""
    found: dict[str, set[int]] = {}
    for name, step in said.items():
        here = {at for at, number in enumerate(_NUMBER.findall(name)) if len(number) <= LONGEST and int(number) == step}
        found[_shape(name)] = found.get(_shape(name), here) & here
    return {shape: min(places) for shape, places in found.items() if places}


def _alike(name: str, places: Mapping[str, int]) -> int | None:
    number = _NUMBER.findall(name)[places[_shape(name)]]
    return int(number) if len(number) <= LONGEST else None
