"""What is typed in a file, and the settings that it uses: what its user typed, else what a preset says.

A file without a table of presets has the preset of each setting beside it. Order, ranges and options are those of the file.
"""

import math
from collections.abc import Mapping, Sequence
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


def place_of(word: object, words: Sequence[str], name: str) -> int:
    """Returns the place of a word, from 0; capitals do not matter. Raises WitnessError for another word."""
    lower = [each.lower() for each in words]
    if str(word).lower() not in lower:
        raise WitnessError(f"{name} is {quoted(word)}: write one of {', '.join(words)}")
    return lower.index(str(word).lower())


def alternative(file: File, name: str, word: str) -> int:
    """Returns the number of a switch's option among those in the file, from 0."""
    return place_of(word, [str(each) for each in block(file, f"{name}.words").tolist()], name)


def is_word(file: File, name: str) -> bool:
    """Returns whether a setting is a switch."""
    return f"{name}.words" in file


def held(file: File) -> tuple[str, ...]:
    """Returns the settings that a file has, in its order: that of its table of presets, where there is one."""
    yours = [name.removesuffix(".yours") for name in file if name.endswith(".yours")]
    table = [name.removeprefix("presets.") for name in file if name.startswith("presets.")]
    return tuple(name for name in table if name in yours) if TABLE in file else tuple(yours)


def column(file: File, preset: Any) -> int:
    """Returns the place of a preset in the table, from 0. Raises WitnessError for another name."""
    return place_of(preset, [str(each) for each in block(file, TABLE).tolist()], "the preset")


def of_preset(file: File, name: str, place: int | None) -> Setting:
    """Returns what a preset says about a setting: that at a place of the table, or, without a table, the one beside it."""
    word = is_word(file, name)
    read = block if word else numbers
    found = single(file, f"{name}.preset") if place is None else read(file, f"presets.{name}")[place]
    return str(found) if word else float(found)


def settings_of(file: File) -> dict[str, Setting]:
    """Returns every setting that a file uses, `name.yours` unless blank, else its preset's, and what goes with it, by blocks.

    A switch is the option that stands there, and `.number` its place in the file. `.outside` is by how much a number, with
    all above it, leaves its range; a limit that is off is in no range, and outside none. With a table of presets there is
    also what the one in use says. Raises WitnessError for an option that there is not.
    """
    place = column(file, single(file, "preset")) if TABLE in file else None
    found: dict[str, Setting] = {} if place is None else {"preset.number": float(place)}
    beyond = 0.0
    for name in held(file):
        preset, yours = of_preset(file, name, place), single(file, f"{name}.yours")
        value: Any = preset if is_blank(yours) else yours
        found |= {} if place is None else {f"{name}.preset": preset}
        if is_word(file, name):
            found |= {name: str(value), f"{name}.number": float(alternative(file, name, str(value)))}
        else:
            low, high = (float(block(file, f"{name}.{end}")) for end in ("low", "high"))
            beyond += 0.0 if math.isinf(value) else max(0.0, low - value) + max(0.0, value - high)
            found |= {name: float(value), f"{name}.outside": beyond}
    return found
