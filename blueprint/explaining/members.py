"""Members: how the cells of a block are called, `h[1, 5, h2]`, and which place a number or a word means."""

from collections.abc import Mapping

from blueprint.language import Axis, Block, Cell, NotationError, Position, Read, Values

Names = Mapping[Axis, Block | str]
"""Words for the members of an axis: a block of words over it, or a pattern such as `h{}`."""


def label(cell: Cell, names: Names, values: Values) -> str:
    """Calls a cell by its symbol and the members it belongs to, as a person counts them; words by themselves."""
    return _bracketed(cell.block, [member(cell.block, i, place, names, values) for i, place in enumerate(cell.places)])


def span_label(read: Read, names: Names, values: Values) -> str:
    """Calls the cells that a sum goes through by its letters: `W[i, h1]`."""
    block, places = read.cells[0]
    inside = [
        str(index).replace(" - ", " − ")
        if isinstance(index, Position) and index.axis in read.over
        else member(block, i, places[i], names, values)
        for i, index in enumerate(read.ref.at)
    ]
    return _bracketed(block, inside)


def member(block: Block, slot: int, place: int, names: Names, values: Values) -> str:
    """Calls one member of a block's axis (the `slot`-th): `5`, `h2`, “dog”, or the letter of its part; an edge by its number."""
    axis, plain = block.axes[slot], str(place + block.axes[slot].start).replace("-", "−")
    if not 0 <= place < values.size(axis):
        return plain
    part, place = values.part(axis, place)
    known = names.get(part.extent)
    match known:
        case Block() if known is not block:
            return f"“{values.cell(known, place)}”"
        case str():
            return known.format(place + part.start) if "{}" in known else part.letter
        case _:
            return part.letter if axis.parts and part.size == 1 else plain


def places(block: Block, given: Mapping[str, int | str], names: Names, values: Values) -> tuple[int, ...]:
    """Turns numbers and words (episode 1, decision 5, “dog”) into places.

    Raises NotationError for a letter that is missing or not the block's, and for a member that does not exist.
    """
    letters = [axis.letter for axis in block.axes]
    if set(given) != set(letters):
        expected = ", ".join(f"{letter}=…" for letter in letters)
        raise NotationError(f"a cell of {block.name} is named by ({expected}), not by ({', '.join(given)})")
    return tuple(_place(block, slot, given[letter], names, values) for slot, letter in enumerate(letters))


def _place(block: Block, slot: int, given: int | str, names: Names, values: Values) -> int:
    axis = block.axes[slot]
    try:
        number = int(str(given).replace("−", "-"))
    except ValueError:
        known = [member(block, slot, place, names, values).strip("“”").casefold() for place in range(values.size(axis))]
        if str(given).casefold() not in known:
            raise NotationError(
                f"{block.name} has no {axis.letter} = {given}: {axis.plural} are {', '.join(known)}"
            ) from None
        return known.index(str(given).casefold())
    low, high = numbers_along(block, axis, values)
    if not low <= number <= high:
        raise NotationError(f"{block.name} has no {axis.letter} = {number}: {axis.plural} run {low} … {high}")
    return number - axis.start


def numbers_along(block: Block, axis: Axis, values: Values) -> tuple[int, int]:
    """Returns the first and the last number in which a person counts a block's cells along an axis, edges included."""
    first = axis.start - values.before(block, axis)
    return first, axis.start + values.size(axis) - 1 + int((axis, 1) in block.edges)


def _bracketed(block: Block, inside: list[str]) -> str:
    return f"{block.symbol}[{', '.join(inside)}]" if inside else block.symbol
