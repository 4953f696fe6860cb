"""Explaining: from what is asked for to the explanation, with what stands above it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from blueprint.explaining.members import places
from blueprint.explaining.spots import Address, Spots, block_at, parse_address, repeated
from blueprint.explaining.tree import Explanation, explanation
from blueprint.language import Axis, Block, Cell, NotationError, Values, origin, printed
from blueprint.page.names import defined_name
from blueprint.page.outline import blocks_on

if TYPE_CHECKING:
    from blueprint.book import Book


NEAR = 3
"""How many rows away a block may stand to be named beside an address where there is none."""


def explain(book: Book, what: Block | str, depth: int | None, members: Mapping[str, int | str]) -> Explanation:
    """Explains a block's cell or the cell at an address. Raises NotationError if there is none, or no step to go."""
    if depth is not None and depth < 1:
        raise NotationError(f"depth {depth}: an explanation goes 1 step down or more")
    names, values = book.blueprint.names, book.values
    told: list[str] = []
    if isinstance(what, str) and is_address(what, book.blocks, members):
        cell = _at_address(what, book, told)
    else:
        block = what if isinstance(what, Block) else block_named(what, book.blocks)
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
    while (cell := cell_at(address, book.blocks, book.spots)) is None:
        shown = repeated(book.formula(address))
        target = _target(shown, address, book) if shown else None
        if target is None or target in seen:
            raise NotationError(nothing_at(address, book.blocks, book.spots, book.linked(address)))
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
    shown = printed(value)
    return f"{block.symbol} {shown}" if block.text else f"{block.symbol} = {shown}"


def is_address(text: str, blocks: Mapping[str, Block], members: Iterable[str] = ()) -> bool:
    """Says whether an address is asked for, or else a block. Raises NotationError if it is one, with members."""
    if "!" not in text or text in blocks:
        return False
    if named := list(members):
        raise NotationError(f"{text} is one cell already: leave out {_listed(named, 'and')}")
    return True


def block_named(text: str, blocks: Mapping[str, Block]) -> Block:
    """Finds a block by its name (case does not matter, `old_logprobs` will do), or by a symbol that is its alone.

    Raises NotationError, with the nearest names, if there is none, or if a symbol stands for several.
    """
    if text in blocks:
        return blocks[text]
    for matching in (_by_symbol(text, blocks), _by_name(text, blocks)):
        if len(matching) == 1:
            return matching[0]
        if matching:
            listed = _listed([block.name for block in matching], "and")
            raise NotationError(f"{text} stands for {listed}: write one of these names")
    own = {_plain(name): name for name, block in blocks.items() if not block.link}
    near = [own[each] for each in get_close_matches(_plain(text), own, 3)]
    raise NotationError(f"there is no block {text!r}" + (f": did you mean {_listed(near, 'or')}?" if near else ""))


def cell_at(address: Address, blocks: Mapping[str, Block], spots: Spots) -> Cell | None:
    """Returns the cell of a block that stands at an address, or None."""
    found = block_at(address, {name: spot for name, spot in spots.items() if name in blocks})
    return Cell(blocks[found[0]], found[1]) if found else None


def nothing_at(address: Address, blocks: Mapping[str, Block], spots: Spots, linked: bool) -> str:
    """Says of an address where no block stands what is near; `linked` is whether a link to a block is in its row."""
    here = {name: spot for name, spot in spots.items() if spot.sheet == address.sheet and name in blocks}
    row = min((row for spot in here.values() for row in spot.rows()), key=lambda row: abs(row - address.row), default=0)
    if not here or abs(row - address.row) > NEAR:
        if linked:
            return f"{address} belongs to no block: if it shows what stands elsewhere, follow the link beside it"
        return f"{address} belongs to no block: ask for a block by its name, which stands on the sheet Contents"
    near = [name for name, spot in here.items() if row in spot.rows()]
    held = "; ".join(f"{blocks[name].symbol} ({name}), {_columns(here[name].columns())}" for name in near[:3])
    where = f"row {row} holds" if row == address.row else f"the nearest row with numbers, {row}, holds"
    return f"{address} belongs to no block: {where} {held}"


def _columns(named: str) -> str:
    return f"column {named}" if named.isalpha() else f"columns {named}"


def _listed(names: list[str], word: str) -> str:
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def _by_symbol(text: str, blocks: Mapping[str, Block]) -> list[Block]:
    return [block for block in blocks.values() if block.symbol == text and not block.link]


def _by_name(text: str, blocks: Mapping[str, Block]) -> list[Block]:
    return [block for name, block in blocks.items() if _plain(name) == _plain(text)]


def _plain(name: str) -> str:
    return name.casefold().replace(".", "_")
