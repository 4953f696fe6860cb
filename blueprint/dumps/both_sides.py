"""Tensors of steps that are told by a table of their own: those that hold all chosen responses and then all rejected ones are laid
side by side; and what must hold of shapes, masks and token ids, or the sentence where it does not, in the file's own names."""

from collections.abc import Iterable, Mapping

import numpy as np

from blueprint.dumps.formats import Array, require, said_shape
from blueprint.inputs import counted

SIDES = ("chosen", "rejected")
ROWS_AND_COLUMNS = 2
"""Axes of what has a row for each response and a column for each token."""
LARGEST_ID = 2.0**53
"""Beyond it a float does not tell whole numbers apart."""


def _found(array: Array, called: str) -> str:
    return f"{called}: found the shape {said_shape(array.shape)}, expected"


def halves(name: str, array: Array, called: str) -> dict[str, Array]:
    """Returns the first half of the rows for the chosen ones and the second for the rejected ones, as TRL stacks them.

    Raises MinibatchError for an odd number of rows, and for what has no rows and columns.
    """
    require(
        array.ndim == ROWS_AND_COLUMNS and array.shape[1] > 0,
        f"{_found(array, called)} [2P, T]: a row for each response, a column for each token.",
    )
    require(
        len(array) % 2 == 0 and len(array) > 0,
        f"{called} has {counted(len(array), 'row')}, expected an even number: all chosen responses, then all rejected ones.",
    )
    half = len(array) // 2
    return {f"{side}.{name}": part for side, part in zip(SIDES, (array[:half], array[half:]), strict=True)}


def one_each(array: Array, called: str, expected: str = "[P], a number for each pair") -> Array:
    """Returns one number for each row, [P], of [P] or [P, 1]. Raises MinibatchError for any other shape."""
    require(array.ndim == 1 or (array.ndim > 1 and array.shape[1:] == (1,)), f"{_found(array, called)} {expected}.")
    return array.reshape(-1)


def check_even(found: Mapping[str, Array], names: Mapping[str, str]) -> None:
    """Refuses one side without the other, different numbers of pairs, and none."""
    counts = {name: len(each) for name, each in found.items()}
    for name in found:
        side, _, what = name.partition(".")
        if side in SIDES:
            other = f"{SIDES[side == SIDES[0]]}.{what}"
            require(other in found, f"{names.get(name, name)} is there, and nothing of the kind of the other side.")
    first = next(iter(counts), "")
    for name, count in counts.items():
        require(
            count == counts[first],
            f"{names.get(name, name)} has {counted(count, 'pair')} and {names.get(first, first)} {counts[first]}; "
            "they need the same.",
        )
        require(count > 0, f"{names.get(name, name)} is empty: there is no pair in the file.")


def _odd(array: Array, odd: Array, called: str, first: int) -> str:
    """Says the first entry that is odd, and where it stands; first: the row of the file in which the array begins."""
    at = tuple(np.argwhere(odd)[0].tolist())
    rows = [first + at[0], *at[1:]] if at else []
    where = ", ".join(f"{axis} {each}" for axis, each in zip(("row", "column", "place"), rows, strict=False))
    return f"{called}: found {array[at]}{f' in {where}' if where else ''}"


def true_or_false(array: Array, called: str, ragged: bool, first: int = 0) -> Array:
    """Returns a mask as true and false.

    ragged: whether it was lists of different lengths, behind whose ends NaN stands. first: in which row of the file it begins.
    Raises MinibatchError for another number.
    """
    odd = (array != 0) & (array != 1) & ~((array != array) & ragged)
    if odd.any():
        expected = "; a mask is 0 or 1" if array.ndim == ROWS_AND_COLUMNS else ", expected 0 or 1"
        require(False, f"{_odd(array, odd, called, first)}{expected}.")
    return np.asarray(array == 1)


def whole_numbers(array: Array, called: str, ragged: bool, first: int = 0) -> Array:
    """Returns token ids as whole numbers, −1 behind the end of a list; arguments as of `true_or_false`.

    Raises MinibatchError for true and false, and for a number that is not whole.
    """
    require(array.dtype.kind != "b", f"{called}: found true and false, expected numbers.")
    if array.dtype.kind in "iu":
        return array
    behind = (array != array) & ragged
    with np.errstate(invalid="ignore"):
        odd = ~(behind | (np.isfinite(array) & (np.floor(array) == array) & (np.abs(array) <= LARGEST_ID)))
    if odd.any():
        require(False, f"{_odd(array, odd, called, first)}, expected whole numbers, as token ids are.")
    return np.where(behind, -1, array).astype(np.int64)


def check_axes(found: Mapping[str, Array], names: Mapping[str, str], of_tokens: Iterable[str]) -> None:
    """Refuses what is neither a number for each pair nor, of the names of tokens, a row for each response.

    Raises MinibatchError, too, for numbers that are true and false, and where a row has no column.
    """
    wide = set(of_tokens)
    for name, array in found.items():
        what, called = name.partition(".")[2], names.get(name, name)
        axes = ROWS_AND_COLUMNS if what in wide else 1
        expected = "[P, T], a row of tokens for each pair" if what in wide else "[P], a number for each pair"
        require(array.ndim == axes and array.shape[1:] != (0,), f"{_found(array, called)} {expected}.")
        require(
            array.dtype.kind != "b" or what in ("mask", "text"), f"{called}: found true and false, expected numbers."
        )
