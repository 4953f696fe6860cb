"""What a saved file holds, as the function asks for it that makes numbers of a kind: in full, or its sizes alone."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np

from blueprint.inputs import Catalogue, Numbers, Settings, name_of
from blueprint.language import Array
from blueprint.page.read import Opened, ReadError
from blueprint.quoting import quoted
from blueprint.workbooks.kind import Kind, imported
from blueprint.workbooks.registry import kinds

YOURS = ".yours"
HEADED = " by hand"
"""How the heading of the first sheet ends; title and text of the numbers stand below it."""
NO_KIND = (
    "{path} is of no kind of workbook that is known here, so that it can be explained and compared, but not built anew: save it "
    "again from its own book, or make a kind of its blueprint (add_kind)"
)
TOP_ROWS = 40
"""Rows in which these are looked for: people insert rows above."""


class Saved:
    """A file of a kind, block by block.

    arrays: the numbers of its blocks, typed and computed, edges included. Without them only the file's sizes count: then
    every number is 1 and every word "", so that one function makes both the numbers that are typed in a file, and those
    from which the blueprint of its sizes is built.
    """

    def __init__(self, file: Opened, arrays: Mapping[str, Array] | None = None):
        self.file = file
        self._arrays = arrays

    @property
    def blank(self) -> bool:
        """Whether only the sizes count."""
        return self._arrays is None

    def __contains__(self, name: str) -> bool:
        return name in self.file.places

    def array(self, name: str, axes: int | None = None) -> Array:
        """Returns the cells of a block, edges included.

        Raises ReadError if it is not there, or if Contents says that it lies along another number of axes.
        """
        found = self.file.block(name)
        shape = tuple(along.cells for along in found.shape)
        if axes is not None and (len(shape) != axes or 0 in shape):
            lies = quoted(" ".join(map(str, found.shape)))
            raise ReadError(f"{self.file.path}: the Contents sheet says that {name} lies as {lies}, which it cannot")
        if self._arrays is not None:
            return self._arrays[name]
        return np.full(shape, "", dtype=object) if found.words else np.ones(shape)

    def rows(self, name: str, axes: int = 2) -> Any:
        """Returns the cells of a block as tuples of tuples."""
        return _frozen(self.array(name, axes).tolist())

    def whole(self, name: str, axes: int = 2) -> Any:
        """Returns the cells of a block as tuples of whole numbers. Raises ReadError, with the cell, for any other."""
        array = self.array(name, axes)
        for at in np.argwhere(array != np.trunc(array)).tolist()[:1]:
            raise self.refusal(f"found {array[tuple(at)]:.15g}, expected a whole number", name, tuple(at))
        return _frozen(array.astype(int).tolist())

    def refusal(self, why: str, name: str = "", at: tuple[int, ...] = ()) -> ReadError:
        """Returns the refusal of the file, or of what stands in a cell of a block."""
        return ReadError(f"{self.file.where(name, at)}: {why}" if name else f"{self.file.path} {why}")

    def head(self) -> dict[str, Any]:
        """Returns name, title and text of the numbers, which stand at the top of the first sheet: `title: text`.

        Where the document's own title was dropped, the title ends at the first colon; where the line was changed, there is
        no text.
        """
        title, about = self.file.title, ""
        for sheet in self.file.sheets:
            words = {(row, column): text for row, column, text in self.file.words_on(sheet, TOP_ROWS)}
            below = (words.get((row + 1, column), "") for (row, column), text in words.items() if text.endswith(HEADED))
            begun = (text for text in words.values() if text.startswith(f"{title}: "))
            if lead := next(filter(None, chain(begun, below)), ""):
                title = title if lead.startswith(f"{title}: ") else lead.partition(": ")[0]
                about = lead.removeprefix(f"{title}: ") if ": " in lead else ""
                break
        said = self.file.noted
        name, gradients = said.get("numbers", name_of(self.file.path)), said.get("gradients") == "on"
        return {"name": name, "title": title, "about": about, "gradients": gradients}

    def settings(self, follows: Mapping[str, str] = MappingProxyType({})) -> Settings:
        """Returns the settings that are typed under "yours"; where nothing is typed, the preset's value holds.

        follows: by key the setting that means it, too, in a numbers file that gives only that one. A sheet does not mean it:
        so what follows another setting of a file is returned as it is used there.
        """
        if self.blank:
            return {}
        yours = {name.removesuffix(YOURS): name for name in self.file.places if name.endswith(YOURS)}
        typed = {key: self._setting(key, name) for key, name in yours.items()}
        found = {key: value for key, value in typed.items() if value != "" and value == value}
        return found | {
            key: self._setting(key, key)
            for key, led in follows.items()
            if led in found and key in self and key not in found
        }

    def _setting(self, key: str, name: str) -> float | str:
        """Returns the number of a block, or its word as the list of a setting's alternatives spells it."""
        value = self.array(name).item()
        if not isinstance(value, str):
            return float(value)
        words = map(str, self.array(f"{key}.words").flat)
        return next((word for word in words if word.casefold() == value.casefold()), value)

    def preset(self, known: Catalogue) -> str:
        """Returns the preset that is chosen in the file, as the catalogue spells it; another word is refused later."""
        typed = str(self.file.array("preset")[()]).casefold()
        chosen = (name for name in known.presets if name.casefold() == typed)
        return next(chosen, self.file.noted.get("preset", "default"))


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


Made = Callable[[Saved], Numbers]
"""Makes numbers of a file: what the record of a kind says of each level of its files."""


def known_as(file: Opened) -> tuple[Kind, Made] | None:
    """Returns a file's kind, and what makes numbers of a file of its level; None for a blueprint that is of no kind.

    A file that says its level is of that one; one that lost its properties is known by its sign. Raises ReadError for a file
    that says a level and lacks its sign.
    """
    said = file.noted.get("level")
    levels = ((kind, level, *found) for kind in kinds() for level, found in (kind.saved or {}).items())
    for kind, level, sign, make in levels:
        is_typed = sign in file.places and file.places[sign].kind == "typed"
        if (said is None and is_typed) or (said == level and file.block(sign)):
            made = imported(make)
            return kind, partial(_by_table, kind.name, level, made) if isinstance(made, Mapping) else made
    return None


def _by_table(kind: str, level: str, blocks: Mapping[str, str], file: Saved) -> Numbers:
    """Returns numbers whose parts stand in blocks of a file, by their keys."""
    return Numbers(
        kind=kind,
        level=level,
        **file.head(),
        ppo=file.settings(),
        parts={key: file.array(name) for key, name in blocks.items()},
    )


def numbers_of(file: Opened, arrays: Mapping[str, Array] | None = None) -> Numbers:
    """Returns the numbers of a file from what stands in its blocks; without arrays, numbers of its kind and sizes.

    Raises ReadError for a file of no kind, and for what no numbers can hold.
    """
    if (known := known_as(file)) is None:
        raise ReadError(NO_KIND.format(path=file.path))
    return known[1](Saved(file, arrays))
