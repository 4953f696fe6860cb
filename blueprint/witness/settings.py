"""What is typed in a file, and the settings that it uses: what its user typed, else what a preset says.

A file without a table of presets has the preset of each setting beside it. Order, ranges and options are those of the file.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

LONGEST = 60
"""Letters of a word that a sentence quotes."""


def quoted(word: object) -> str:
    """Spells a word of a file in quotes, shortened, with everything escaped that cannot be seen."""
    text = str(word)
    return repr(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


class WitnessError(ValueError):
    """Something was asked of the witness, or stands in a file, with which nothing can be computed."""


Array: TypeAlias = npt.NDArray[Any]
File: TypeAlias = Mapping[str, Array]
Setting: TypeAlias = float | str
TABLE = "presets.names"
"""The block of a table of presets that names them."""


def is_blank(value: Any) -> bool:
    """Returns whether a cell is empty: NaN among numbers, "" or nothing among words."""
    return value is None or value == "" or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def block(file: File, name: str) -> Array:
    """Returns a typed block of a file. Raises WitnessError if the file has none of that name."""
    if name not in file:
        raise WitnessError(
            f"the file has no block {name}, which the computation starts from: it is not of this version"
        )
    return file[name]


def numbers(file: File, name: str) -> npt.NDArray[np.float64]:
    """Returns a typed block of numbers; a blank cell counts as 0, as in a spreadsheet."""
    typed = block(file, name)
    if typed.dtype == object:
        raise WitnessError(f"{name} holds words, and is computed with: it should hold numbers")
    found = np.asarray(typed, dtype=np.float64)
    return np.where(np.isnan(found), 0.0, found)


def single(file: File, name: str) -> Any:
    """Returns what is typed in a block of one cell. Raises WitnessError for a block of several."""
    typed = block(file, name)
    if typed.size != 1:
        raise WitnessError(f"{name} should be one cell, and is {typed.size}")
    return typed.item()


def ids(words: Array, known: Array, where: str, blanks: bool = True) -> Array:
    """Returns the number of every word among the known ones, −1 for a blank cell; capitals do not matter.

    where: what has the words, as a refusal says it. blanks: whether a cell may be blank.
    Raises WitnessError for a word that is not known.
    """
    places: dict[str, int] = {str(word).lower(): number for number, word in reversed([*enumerate(known.tolist())])}

    def place(word: object) -> int:
        if blanks and is_blank(word):
            return -1
        if str(word).lower() not in places:
            raise WitnessError(f"{where} has the token {quoted(word)}, which is not in the vocabulary: add it there")
        return places[str(word).lower()]

    found: Array = np.vectorize(place, otypes=[float])(words)
    return found


def place_of(word: object, known: Array, name: str) -> int:
    """Returns the place of a word, from 0; capitals do not matter. Raises WitnessError for another word."""
    words = [str(each) for each in known.tolist()]
    lower = [each.lower() for each in words]
    if str(word).lower() not in lower:
        raise WitnessError(f"{name} is {quoted(word)}: write one of {', '.join(words)}")
    return lower.index(str(word).lower())


def settings_of(file: File) -> dict[str, Setting]:
    """Returns every setting that a file uses: what its user typed (`name.yours`), else what its preset says.

    Of a preset it is that of the table of presets, or, without one, what stands beside the setting. A limit that is off is
    infinite. Raises WitnessError for an option, or a preset, that there is not.
    """
    place = None
    if TABLE in file:
        place = place_of(single(file, "preset"), block(file, TABLE), "the preset")
    found: dict[str, Setting] = {}
    for name in (each.removesuffix(".yours") for each in file if each.endswith(".yours")):
        if place is not None and f"presets.{name}" not in file:
            continue
        options, yours = file.get(f"{name}.words"), single(file, f"{name}.yours")
        read = numbers if options is None else block
        preset = single(file, f"{name}.preset") if place is None else read(file, f"presets.{name}")[place]
        value: Any = preset if is_blank(yours) else yours
        if options is not None:
            place_of(value, options, name)
        found[name] = float(value) if options is None else str(value)
    return found
