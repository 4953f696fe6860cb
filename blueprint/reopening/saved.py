"""What a saved file holds, as the function asks for it that makes numbers of a kind: in full, or its sizes alone; and what is
typed in it, the cells of every block in which one types, as equations take it, or a sentence where that cannot be computed with.
"""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np

from blueprint.inputs import Catalogue, Numbers, Settings, name_of
from blueprint.inputs.catalogue import OFF
from blueprint.language import Array, Block, Expr, Find, Op, Ref, Values, walk
from blueprint.page.contents import NUMBERS, WORDS, holds, kind_of
from blueprint.page.outline import Blueprint
from blueprint.page.read import Opened, ReadError
from blueprint.quoting import quoted, unquoted
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
    levels = ((kind, level, found) for kind in kinds() for level, found in (kind.saved or {}).items())
    for kind, level, found in levels:
        sign, make = (found, None) if isinstance(found, str) else found
        is_typed = sign in file.places and file.places[sign].kind == "typed"
        if (said is None and is_typed) or (said == level and file.block(sign)):
            made = kind.level(level).saved if make is None else imported(make)
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


Arrays = Mapping[Block, Array]
Typed = Mapping[str, Array]
PRESETS = "presets."
LISTED = 12
"""How many words a refusal lists."""


def typed_in(blueprint: Blueprint, file: Opened) -> dict[str, Array]:
    """Reads what is typed; a blank cell is 0 as in the sheet, unless an equation asks whether it is filled.

    Raises ReadError, with the address, for a number among words, for a word that is none of those that a cell chooses
    among, and for a blank that an equation searches for: a sheet finds it nowhere.
    """
    _check_alike(blueprint, file)
    return cleaned(blueprint, {block: file.array(block.name) for block in blueprint.blocks() if block.typed}, file)


def cleaned(blueprint: Blueprint, arrays: Arrays, file: Opened) -> dict[str, Array]:
    """Returns what is typed in the cells of a file as equations take it, by name; `typed_in` says how, and what it raises."""
    equations = [[*walk(made.expr)] for block in blueprint.blocks() for made in block.definitions]
    tested = {block for nodes in equations for block in _tested(nodes)}
    searched = {block for nodes in equations for block in _searched(nodes) - _tested(nodes)}
    known = {block: _folded(arrays[listed]) for block, listed in blueprint.choices.items()}

    def wrong(block: Block, value: Any) -> str:
        if block.text and not isinstance(value, str):
            return f"found {unquoted(value)}, expected a word"
        if block in searched and (value == "" or value != value):
            return f"blank, but it is searched for: type a {'word' if block.text else 'number'}"
        return _unknown(value, known[block]) if value != "" and block in known else ""

    for cell, why in _faults(file, arrays, wrong):
        raise ReadError(f"{cell}: {why}")
    return {
        block.name: array if block.text or block in tested else np.nan_to_num(array, nan=0.0, posinf=OFF)
        for block, array in arrays.items()
    }


def _faults(file: Opened, arrays: Arrays, wrong: Callable[[Block, Any], str]) -> Iterator[tuple[str, str]]:
    """Yields the typed cells of which something is wrong, and what."""
    for block, array in arrays.items():
        for at, value in np.ndenumerate(array):
            if why := wrong(block, value):
                yield file.where(block.name, at), why


def _check_alike(blueprint: Blueprint, file: Opened) -> None:
    """Refuses a file whose Contents say of a block that it is, lies, or holds what it does not in a file of its sizes.

    Of what is typed every block must be there; of the others some may be missing, whose names were changed.
    """
    sized = Values(blueprint.sizes)
    for block in (each for each in blueprint.blocks() if each.typed or each.name in file.places):
        found = file.block(block.name)
        lies, expected, kind = tuple(along.cells for along in found.shape), sized.shape(block), kind_of(block)
        if lies != expected or found.words != block.text or found.kind != kind:
            raise ReadError(
                f"{file.path}: the Contents sheet says of {block.name} that it is {found.kind}, holds "
                f"{WORDS if found.words else NUMBERS} and has the shape {lies}; expected {kind}, {holds(block)} and {expected}"
            )


def suspect(blueprint: Blueprint, typed: Typed, file: Opened) -> str:
    """Names the first typed cell out of its range, a preset's word that is none, or a part where one counts; "" if none.

    A sheet computes with such a cell as long as nothing comes of it, so that it alone is no reason to refuse a file.
    """
    arrays = {block: typed[block.name] for block in blueprint.blocks() if block.typed}
    lists = {block: f"{block.name.removeprefix(PRESETS)}.words" for block in arrays if block.name.startswith(PRESETS)}
    known = {block: _folded(typed[listed]) for block, listed in lists.items() if listed in typed}

    def wrong(block: Block, value: Any) -> str:
        low, high = blueprint.ranges.get(block, (value, value))
        if value != value or (block.text and block not in known):
            return ""
        if not block.text and (value < low or high < value < OFF):
            return f"found {value:g}, expected {low:g} … {high:g}"
        if not block.text and block.about.decimals == 0 and not float(value).is_integer():
            return f"found {value:g}, expected a whole number"  # actions, lengths, masks
        return _unknown(value, known[block]) if block in known else ""

    return next((f"{cell}: {why}" for cell, why in _faults(file, arrays, wrong)), "")


def _tested(nodes: list[Expr]) -> set[Block]:
    """Returns the blocks of which an equation asks whether their cells are filled."""
    conditions = [node for node in nodes if isinstance(node, Op) and node.name == "filled"]
    return {each.block for node in conditions for each in walk(node) if isinstance(each, Ref)}


def _searched(nodes: list[Expr]) -> set[Block]:
    """Returns the blocks whose cells an equation searches for."""
    return {node.value.block for node in nodes if isinstance(node, Find) and isinstance(node.value, Ref)}


def _folded(words: Array) -> dict[str, str]:
    return {word.casefold(): word for word in map(str, words.flat)}


def _unknown(word: str, known: Mapping[str, str]) -> str:
    """Refuses a word that is not in the list from which one chooses: asks for the nearest, or lists the first dozen."""
    if word.casefold() in known:
        return ""
    near = get_close_matches(word.casefold(), known, 1)
    words = [unquoted(each) for each in known.values()]
    some = f"expected one of {', '.join(words[:LISTED])}{', …' if len(words) > LISTED else ''}"
    return f"found {quoted(word)}, {f'did you mean {unquoted(known[near[0]])}?' if near else some}"
