"""Tensors of pairs, side by side: those that hold all chosen responses and then all rejected ones are laid apart."""

from collections.abc import Iterable, Mapping

import numpy as np

from blueprint.dumps.formats import Array, MinibatchError, require

SIDES = ("chosen", "rejected")


def pairs_in(names: Iterable[str]) -> list[tuple[str, str]]:
    """Returns the names that have "chosen" in them, each with its counterpart, as far as that is there."""
    known = list(names)
    both = ((name, name.replace(*SIDES)) for name in known if SIDES[0] in name)
    return [pair for pair in both if pair[1] in known]


def halves(name: str, array: Array, called: str) -> dict[str, Array]:
    """Returns the first half of the rows for the chosen ones and the second for the rejected ones, as TRL stacks them.

    Raises MinibatchError for an odd number of rows.
    """
    require(
        len(array) % 2 == 0 and len(array) > 0,
        f"{called} has {len(array)} rows, expected an even number: all chosen responses, then all rejected ones.",
    )
    half = len(array) // 2
    return {f"{side}.{name}": part for side, part in zip(SIDES, (array[:half], array[half:]), strict=True)}


def check_even(found: Mapping[str, Array], names: Mapping[str, str]) -> None:
    """Refuses one side without the other, and different numbers of pairs."""
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
            f"{names.get(name, name)} has {count} pairs and {names.get(first, first)} {counts[first]}; they need the same.",
        )


def true_or_false(array: Array, called: str) -> Array:
    """Returns a mask as true and false; behind the end of a list stands NaN. Raises MinibatchError for another number."""
    odd = (array != 0) & (array != 1) & (array == array)
    if odd.any():
        row, column = np.argwhere(odd)[0].tolist()
        raise MinibatchError(f"{called}: found {array[row, column]} in row {row}, column {column}; a mask is 0 or 1.")
    return np.asarray(array == 1)


def check_axes(found: Mapping[str, Array], names: Mapping[str, str], of_tokens: Iterable[str]) -> None:
    """Refuses what is neither a number for each pair nor, of the names of tokens, a row for each response.

    Raises MinibatchError, too, for numbers that are true and false.
    """
    wide = set(of_tokens)
    for name, array in found.items():
        what, called = name.partition(".")[2], names.get(name, name)
        axes = 2 if what in wide else 1
        expected = "rows of responses, columns of tokens" if axes == 2 else "a number for each pair"
        require(array.ndim == axes, f"{called}: found {array.ndim} axes, expected {axes}: {expected}.")
        require(
            array.dtype.kind != "b" or what in ("mask", "text"), f"{called}: found true and false, expected numbers."
        )
