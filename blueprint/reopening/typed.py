"""What is typed in a file: the cells of every block in which one types, and what cannot be computed with."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.inputs.setting import OFF, STORED_OFF
from blueprint.language import Block, Expr, Find, Op, Ref, Values, walk
from blueprint.page.contents import NUMBERS, WORDS, holds, kind_of
from blueprint.page.outline import Blueprint
from blueprint.page.read import Opened, ReadError
from blueprint.quoting import quoted, unquoted

Arrays = Mapping[Block, npt.NDArray[Any]]
Typed = Mapping[str, npt.NDArray[Any]]
Fault = tuple[str, tuple[int, ...], str]
"""A block, the index of its cell, and what is wrong there."""
Chosen = tuple[Block, npt.NDArray[Any], npt.NDArray[Any]]
"""A block, its words, and the list from which they are chosen."""
PRESETS = "presets."
LISTED = 12
"""How many words a refusal lists."""


def typed_in(blueprint: Blueprint, file: Opened) -> dict[str, npt.NDArray[Any]]:
    """Reads what is typed; a blank cell is 0 as in the sheet, unless an equation asks whether it is filled.

    Raises ReadError, with the address, for a number among words, for a word that is none of those that a cell chooses
    among, and for a blank that an equation searches for: a sheet finds it nowhere.
    """
    _check_alike(blueprint, file)
    equations = [[*walk(made.expr)] for block in blueprint.blocks() for made in block.definitions]
    asked = {block for nodes in equations for block in _asked(nodes)}
    searched = {block for nodes in equations for block in _searched(nodes) - _asked(nodes)}
    arrays = {block: file.array(block.name) for block in blueprint.blocks() if block.typed}
    chosen = ((block, arrays[block], arrays[listed]) for block, listed in blueprint.choices.items())
    for name, at, why in chain(_numbers_among_words(arrays), _unknown(chosen, blank=""), _blanks(arrays, searched)):
        raise ReadError(f"{file.where(name, at)}: {why}")
    return {
        block.name: array if block.text or block in asked else np.nan_to_num(array, nan=0.0, posinf=OFF)
        for block, array in ((block, _without_stored_off(block, array)) for block, array in arrays.items())
    }


def _without_stored_off(block: Block, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns an array with off where a limit holds the number that older versions wrote for it."""
    return np.where(array == STORED_OFF, OFF, array) if block.limit else array


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
    rows = ((block, f"{block.name.removeprefix(PRESETS)}.words") for block in arrays if block.name.startswith(PRESETS))
    chosen = ((block, arrays[block], typed[listed]) for block, listed in rows if listed in typed)
    found = chain(_out_of_range(blueprint.ranges, arrays), _unknown(chosen), _parts(arrays))
    return next((f"{file.where(name, at)}: {why}" for name, at, why in found), "")


def _out_of_range(ranges: Mapping[Block, tuple[float, float]], arrays: Arrays) -> Iterator[Fault]:
    for block, (low, high) in ranges.items():
        for at, value in np.ndenumerate(arrays[block]):
            if value < low or high < value < OFF:
                yield block.name, at, f"found {value:g}, expected {low:g} … {high:g}"


def _parts(arrays: Arrays) -> Iterator[Fault]:
    """Looks through what is shown without decimals: actions, lengths, masks."""
    for block in (each for each in arrays if not each.text and each.about.decimals == 0):
        for at, value in np.ndenumerate(arrays[block]):
            if not (np.isnan(value) or float(value).is_integer()):
                yield block.name, at, f"found {value:g}, expected a whole number"


def _numbers_among_words(arrays: Arrays) -> Iterator[Fault]:
    for block in (each for each in arrays if each.text):
        for at, word in np.ndenumerate(arrays[block]):
            if not isinstance(word, str):
                yield block.name, at, f"found {unquoted(word)}, expected a word"


def _unknown(chosen: Iterable[Chosen], blank: str | None = None) -> Iterator[Fault]:
    """Looks for words that are not in the list from which one chooses; a blank is none either, unless it may stand."""
    for block, words, listed in chosen:
        known = {str(word).casefold(): str(word) for word in listed.flat}
        for at, word in np.ndenumerate(words):
            if word != blank and word.casefold() not in known:
                yield block.name, at, f"found {quoted(word)}, {_hint(word, known)}"


def _blanks(arrays: Arrays, searched: Collection[Block]) -> Iterator[Fault]:
    """Looks for blanks among words or numbers for which an equation searches."""
    for block in (each for each in arrays if each in searched):
        for at in np.argwhere(arrays[block] == "" if block.text else np.isnan(arrays[block])).tolist():
            kind = "word" if block.text else "number"
            yield block.name, tuple(at), f"blank, but it is searched for: type a {kind}"


def _asked(nodes: list[Expr]) -> set[Block]:
    """Returns the blocks of which an equation asks whether their cells are filled."""
    conditions = [node for node in nodes if isinstance(node, Op) and node.name == "filled"]
    return {each.block for node in conditions for each in walk(node) if isinstance(each, Ref)}


def _searched(nodes: list[Expr]) -> set[Block]:
    """Returns the blocks whose cells an equation searches for."""
    return {node.value.block for node in nodes if isinstance(node, Find) and isinstance(node.value, Ref)}


def _hint(word: str, known: Mapping[str, str]) -> str:
    """Asks for the word that was probably meant; where there is none, lists the first dozen."""
    near = get_close_matches(word.casefold(), known, 1)
    listed = [unquoted(each) for each in known.values()]
    more = ", …" if len(listed) > LISTED else ""
    return (
        f"did you mean {unquoted(known[near[0]])}?" if near else f"expected one of {', '.join(listed[:LISTED])}{more}"
    )
