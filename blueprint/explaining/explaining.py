"""Explaining: from what is asked for to the explanation, with what stands above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from blueprint.explaining import asked
from blueprint.explaining.members import places
from blueprint.explaining.spots import Address, parse_address, repeated
from blueprint.explaining.tree import Explanation, explanation
from blueprint.language import Axis, Block, NotationError, Values
from blueprint.language.chain import Cell, origin
from blueprint.language.spelling.numbers import number
from blueprint.page.names import defined_name
from blueprint.page.outline import blocks_on

if TYPE_CHECKING:
    from blueprint.book import Book


def explain(book: Book, what: Block | str, depth: int | None, members: Mapping[str, int | str]) -> Explanation:
    """Explains a block's cell or the cell at an address. Raises NotationError if there is none, or no step to go."""
    if depth is not None and depth < 1:
        raise NotationError(f"depth {depth}: an explanation goes 1 step down or more")
    names, values = book.blueprint.names, book.values
    told: list[str] = []
    if isinstance(what, str) and asked.is_address(what, book.blocks, members):
        cell = _at_address(what, book, told)
    else:
        block = what if isinstance(what, Block) else asked.block_named(what, book.blocks)
        cell = Cell(block, places(block, members, names, values))
    told += filter(None, [book.doubts(cell)])
    first = origin(cell, values)
    if first.block is not cell.block:
        told.append(f"{cell.block.name} repeats {first.block.name}")
    told = [*_column(first, book), *(f"source: {source}" for source in [first.block.about.source] if source), *told]
    return explanation(first, book, depth, tuple(told))


def _at_address(text: str, book: Book, told: list[str]) -> Cell:
    """Finds the cell at an address; one that only shows another cell again leads there, and that is told."""
    address = parse_address(text, book.sheets)
    seen = {address}
    while (cell := asked.cell_at(address, book.blocks, book.spots)) is None:
        shown = repeated(book.formula(address))
        target = _target(shown, address, book) if shown else None
        if target is None or target in seen:
            raise NotationError(asked.nothing_at(address, book.blocks, book.spots, book.linked(address)))
        told.append(f"{address} shows {target}")
        seen.add(target)
        address = target
    return cell


def _target(shown: str, here: Address, book: Book) -> Address | None:
    """Returns the address that a reference in a formula means; None if it is no cell."""
    for name, block in book.blocks.items():
        if defined_name(block).casefold() == shown.casefold() and not block.axes and name in book.spots:
            return book.spots[name].address(())
    try:
        return parse_address(shown if "!" in shown else f"{here.sheet}!{shown}", book.sheets)
    except NotationError:
        return None


def _column(cell: Cell, book: Book) -> list[str]:
    """Tells what stands above a cell's column: which word is read and written there, and whether it counts."""
    sheet = next(sheet for sheet in book.blueprint.sheets if any(each is cell.block for each in blocks_on(sheet)))
    at = {axis: place for axis, place in zip(cell.block.axes, cell.places, strict=True) if axis in sheet.across}
    if not at:
        return []
    where = ", ".join(
        f"{_way(axis, place, book.values)} {axis.letter} = {place + axis.start}" for axis, place in at.items()
    )
    seen = ", ".join(filter(None, (_seen(block, at, book.values) for block in sheet.head if block is not cell.block)))
    return [f"{where}: {seen}" if seen else where]


def _way(axis: Axis, place: int, values: Values) -> str:
    return "start column" if place < 0 else "end column" if place == values.size(axis) else axis.meaning


def _seen(block: Block, at: Mapping[Axis, int], values: Values) -> str:
    if not set(block.axes) <= set(at):
        return ""
    try:
        value = values.cell(block, *(at[axis] for axis in block.axes))
    except IndexError:  # it has no start or end column
        return ""
    shown = number(value).text
    return f"{block.symbol} {shown}" if block.text else f"{block.symbol} = {shown}"
