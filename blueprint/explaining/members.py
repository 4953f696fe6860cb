"""Members: how the cells of a block are called, `h[1, 5, h2]`, and which place a number or a word means."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.language import Axis, Block, Cell, NotationError, Position, Read, Values, places_by_number

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
    slots = {axis.letter: slot for slot, axis in enumerate(block.axes)}
    numbers = {
        letter: _number(block, slots[letter], said, names, values) if letter in slots else 0
        for letter, said in given.items()
    }
    return places_by_number(block, numbers, values)


def _number(block: Block, slot: int, said: int | str, names: Names, values: Values) -> int:
    try:
        return int(str(said).replace("−", "-"))
    except ValueError:
        pass
    axis = block.axes[slot]
    known = [member(block, slot, place, names, values).strip("“”").casefold() for place in range(values.size(axis))]
    if str(said).casefold() not in known:
        raise NotationError(f"{block.name} has no {axis.letter} = {said}: {axis.plural} are {', '.join(known)}")
    return known.index(str(said).casefold()) + axis.start


def _bracketed(block: Block, inside: list[str]) -> str:
    return f"{block.symbol}[{', '.join(inside)}]" if inside else block.symbol
