"""Cells: how they are called, `h[1, 5, h2]`, where they stand, and which of them a number, a word or an address means."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from blueprint.language import Axis, Block, Cell, NotationError, Position, Read, Values, require
from blueprint.page import grid
from blueprint.page.grid import Address, Spot, shape_of
from blueprint.page.layout import Layout

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
    match names.get(part.extent):
        case Block() as words if words is not block:
            return f"“{values.cell(words, place)}”"
        case str() as pattern:
            return pattern.format(place + part.start) if "{}" in pattern else part.letter
    return part.letter if axis.parts and part.size == 1 else plain


def places_named(block: Block, given: Mapping[str, int | str], names: Names, values: Values) -> tuple[int, ...]:
    """Turns numbers and words (episode 1, position 5, “dog”) into places.

    Raises NotationError for a letter that is missing or not the block's, and for a member that does not exist.
    """
    letters = [axis.letter for axis in block.axes]
    require(
        set(given) == set(letters),
        f"a cell of {block.name} is named by ({', '.join(f'{letter}=…' for letter in letters)}), "
        + (f"not by ({', '.join(given)})" if given else "and nothing is named"),
    )
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
    require(low <= number <= high, f"{block.name} has no {axis.letter} = {number}: {axis.plural} run {low} … {high}")
    return number - axis.start


def numbers_along(block: Block, axis: Axis, values: Values) -> tuple[int, int]:
    """Returns the first and the last number in which a person counts a block's cells along an axis, edges included."""
    span = values.span(block, axis)
    return axis.start + span.start, axis.start + span.stop - 1


def _bracketed(block: Block, inside: list[str]) -> str:
    return f"{block.symbol}[{', '.join(inside)}]" if inside else block.symbol


_ADDRESS = re.compile(r"(?P<sheet>.+)!\$?(?P<letters>[A-Za-z]{1,3})\$?(?P<row>[1-9][0-9]*)", re.DOTALL)
_PLAIN = re.compile(r"=(?P<reference>(?:'(?:[^']|'')+'!|[^'!(),:+*/<>&\"^ -]+!)?[$\w.]+)")

Spots = Mapping[str, Spot]
"""Where each block stands, by its name."""


def spots_on(layout: Layout) -> dict[str, Spot]:
    """Returns where the blocks of a layout stand."""
    found = {}
    for block, place in layout.places.items():
        top, left, _, _ = layout.corners(block)
        found[block.name] = Spot(place.sheet, top + 1, left + 1, shape_of(block, place, layout.values))
    return found


def range_of(addresses: Iterable[Address]) -> str:
    """Returns the smallest range that holds the cells of one sheet: `Loss!Q14:X14`."""
    (sheet, *_), rows, columns = zip(*addresses, strict=True)
    area = grid.area(min(rows) - 1, min(columns) - 1, max(rows) - 1, max(columns) - 1)
    return f"{grid.quoted_title(sheet)}!{area}"


def parse_address(text: str, sheets: Iterable[str]) -> Address:
    """Takes an address apart: `Loss!N51`, `'Reward & advantage'!$N$14`; case and quotes do not matter.

    Raises NotationError for what is no address of one cell, or lies beyond the end, and for a sheet that is not there.
    """
    match = _ADDRESS.fullmatch(text.strip())
    if not match:
        raise NotationError(f"{text} is no address of one cell: write the sheet and the cell, such as 'Loss!N51'")
    name = match["sheet"].strip()
    if len(name) > 1 and name[0] == name[-1] == "'":
        name = name[1:-1].replace("''", "'")
    sheet = sheet_named(name, sheets)
    column = grid.column_of(match["letters"]) + 1
    require(
        len(match["row"]) <= len(str(grid.LAST_ROW))
        and int(match["row"]) <= grid.LAST_ROW
        and column <= grid.LAST_COLUMN,
        f"{text} is no address of one cell: the last one of the sheet is "
        f"{Address(sheet, grid.LAST_ROW, grid.LAST_COLUMN)}",
    )
    return Address(sheet, int(match["row"]), column)


def sheet_named(name: str, sheets: Iterable[str]) -> str:
    """Finds a sheet by its name; case does not matter. Raises NotationError, with the nearest name, if there is none."""
    known = {sheet.casefold(): sheet for sheet in sheets}
    if name.casefold() not in known:
        near = get_close_matches(name.casefold(), known, 1)
        hint = f"did you mean {known[near[0]]}?" if near else f"there are {', '.join(known.values())}"
        raise NotationError(f"there is no sheet {name}: {hint}")
    return known[name.casefold()]


def repeated(formula: str | None) -> str | None:
    """Returns the cell or name that a formula only repeats, `Loss!N40` of `=Loss!N40`; None of any other formula."""
    match = _PLAIN.fullmatch(formula or "")
    return match["reference"] if match else None


def block_at(address: Address, spots: Spots) -> tuple[str, tuple[int, ...]] | None:
    """Returns the block that has a cell at an address, and the cell's places; None if no block has."""
    near = {name: spot for name, spot in spots.items() if spot.sheet == address.sheet and address.row in spot.rows()}
    found = (
        (name, places) for name, spot in near.items() for places in spot.places() if spot.stands(places) == address
    )
    return next(found, None)
