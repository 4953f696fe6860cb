"""What was chosen in a saved workbook: the settings under "yours", the preset in use, the libraries side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isnan
from typing import Any

import numpy.typing as npt

from blueprint.book import Book
from blueprint.inputs.result import Settings
from blueprint.workbooks.common.conventions.data import FOLLOWS, Conventions, rlhf

Typed = Mapping[str, npt.NDArray[Any]]
YOURS = ".yours"


def settings_in(book: Book, typed: Typed) -> Settings:
    """Returns the settings that are typed under "yours"; where nothing is typed, the preset's value holds.

    A numbers file that gives ε and not the upper ε means one for both, a sheet does not: the upper ε is written there too,
    and so is what follows another setting of a file.
    """
    found: Settings = {}
    for name, array in typed.items():
        key = name.removesuffix(YOURS)
        if name.endswith(YOURS) and not _blank(value := array.item()):
            found[key] = _spelled(value, typed.get(f"{key}.words"))
    for key, led in FOLLOWS.items():
        if led in found and key in book.blocks and key not in found:
            found[key] = _spelled(book.values.arrays[book.blocks[key]].item(), typed.get(f"{key}.words"))
    return found


def conventions_in(empty: Conventions, typed: Typed) -> Conventions:
    """Returns the preset in use and the libraries side by side, as the catalogue spells them; all of them go unnamed."""
    if not empty.live:
        return empty
    known = {name.casefold(): name for name in rlhf().presets}
    _, *all_others = known.values()
    names = tuple(known.get(word.casefold(), word) for word in typed["library.names"])
    return replace(empty, compare=() if names == tuple(all_others) else names)


def _blank(value: float | str) -> bool:
    return value == "" if isinstance(value, str) else isnan(value)


def _spelled(value: float | str, words: npt.NDArray[Any] | None) -> float | str:
    """Returns a number, or a word as the list of its alternatives spells it."""
    if words is None:
        return float(value)
    return next((str(word) for word in words if word.casefold() == str(value).casefold()), str(value))
