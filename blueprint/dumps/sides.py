"""Tensors of pairs, side by side: those that hold all chosen responses and then all rejected ones are laid apart."""

from collections.abc import Iterable, Mapping

from blueprint.dumps.formats import Array, require

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
