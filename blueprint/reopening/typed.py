"""What is typed in a file: the cells of every block in which one types, and what cannot be computed with."""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from blueprint.inputs.setting import OFF, STORED_OFF
from blueprint.language import Array, Block, Expr, Find, Op, Ref, Values, walk
from blueprint.page.contents import NUMBERS, WORDS, holds, kind_of
from blueprint.page.outline import Blueprint
from blueprint.page.read import Opened, ReadError
from blueprint.quoting import quoted, unquoted

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
    off = {block: np.where(array == STORED_OFF, OFF, array) for block, array in arrays.items() if block.limit}
    return {
        block.name: array if block.text or block in tested else np.nan_to_num(array, nan=0.0, posinf=OFF)
        for block, array in {**arrays, **off}.items()  # older versions wrote a number for off
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
