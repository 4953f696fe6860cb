"""Spots: where the blocks stand in a workbook, and which of their cells an address means."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from blueprint.language import NotationError
from blueprint.page import grid
from blueprint.page.layout import Layout
from blueprint.page.place import Address, Spot, shape_of

_ADDRESS = re.compile(r"(?P<sheet>.+)!\$?(?P<letters>[A-Za-z]{1,3})\$?(?P<row>[1-9][0-9]*)", re.DOTALL)
_PLAIN = re.compile(r"=(?P<reference>(?:'(?:[^']|'')+'!|[^'!(),:+*/<>&\"^ -]+!)?[$\w.]+)")
LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
"""Where every sheet ends, in every spreadsheet program."""


Spots = Mapping[str, Spot]
"""Where each block stands, by its name."""


def spots_on(layout: Layout) -> dict[str, Spot]:
    """Returns where the blocks of a layout stand."""
    found = {}
    for block, place in layout.places.items():
        top, left, _, _ = place.corners(block, layout.values)
        found[block.name] = Spot(place.sheet, top + 1, left + 1, shape_of(block, place, layout.values))
    return found


def range_of(addresses: Iterable[Address]) -> str:
    """Returns the smallest range that holds the cells of one sheet: `Loss!Q14:X14`."""
    listed = list(addresses)
    rows, columns = [each.row for each in listed], [each.column for each in listed]
    first, last = Address(listed[0].sheet, min(rows), min(columns)), Address("", max(rows), max(columns))
    return str(first) if len(listed) == 1 else f"{first}:{grid.letters(last.column - 1)}{last.row}"


def parse_address(text: str, sheets: Iterable[str]) -> Address:
    """Takes an address apart: `Loss!N51`, `'Reward & advantage'!$N$14`; case and quotes do not matter.

    Raises NotationError for what is no address of one cell, or lies beyond the end, and for a sheet that is not there.
    """
    match = _ADDRESS.fullmatch(text.strip())
    if not match:
        raise NotationError(f"{text} is no address of one cell: write the sheet and the cell, such as 'Loss!N51'")
    name, known = match["sheet"].strip(), {sheet.casefold(): sheet for sheet in sheets}
    if len(name) > 1 and name[0] == name[-1] == "'":
        name = name[1:-1].replace("''", "'")
    sheet = known.get(name.casefold())
    if sheet is None:
        near = get_close_matches(name.casefold(), known, 1)
        hint = f"did you mean {known[near[0]]}?" if near else f"there are {', '.join(known.values())}"
        raise NotationError(f"there is no sheet {name}: {hint}")
    column = 0
    for letter in match["letters"].upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    if len(match["row"]) > len(str(LAST_ROW)) or int(match["row"]) > LAST_ROW or column > LAST_COLUMN:
        end = Address(sheet, LAST_ROW, LAST_COLUMN)
        raise NotationError(f"{text} is no address of one cell: the last one of the sheet is {end}")
    return Address(sheet, int(match["row"]), column)


def repeated(formula: str | None) -> str | None:
    """Returns the cell or name that a formula only repeats, `Loss!N40` of `=Loss!N40`; None of any other formula."""
    match = _PLAIN.fullmatch(formula or "")
    return match["reference"] if match else None


def block_at(address: Address, spots: Spots) -> tuple[str, tuple[int, ...]] | None:
    """Returns the block that has a cell at an address, and the cell's places; None if no block has."""
    for name, spot in spots.items():
        if spot.sheet == address.sheet and address.row in spot.rows():
            for places in spot.places():
                if spot.stands(places) == address:
                    return name, places
    return None
