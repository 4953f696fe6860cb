"""Explaining: from what is asked for to the explanation, with what stands above it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING

from blueprint.explaining.cells import Spots, block_at, parse_address, places_named, repeated
from blueprint.explaining.tree import Explanation, explanation
from blueprint.language import Axis, Block, Cell, NotationError, Values, origin, printed, require
from blueprint.page import names, outline
from blueprint.page.place import Address

if TYPE_CHECKING:
    from blueprint.book import Book


NEAR = 3
"""How many rows away a block may stand to be named for an address where there is none."""


def explain(book: Book, what: Block | str, depth: int | None, members: Mapping[str, int | str]) -> Explanation:
    """Explains a block's cell or the cell at an address. Raises NotationError if there is none, or no step to go."""
    require(depth is None or depth >= 1, f"depth {depth}: an explanation goes 1 step down or more")
    followed: list[str] = []
    if isinstance(what, str) and is_address(what, book.blocks, members):
        cell, followed = _at_address(what, book)
    else:
        block = what if isinstance(what, Block) else block_named(what, book.blocks)
        cell = Cell(block, places_named(block, members, book.blueprint.names, book.values))
    first = origin(cell, book.values)
    source, repeats = first.block.about.source, f"{cell.block.name} repeats {first.block.name}"
    head = [_column(first, book), source and f"source: {source}", *followed, book.ended(cell), book.doubts(cell)]
    return explanation(first, book, depth, tuple(filter(None, [*head, repeats * (first.block is not cell.block)])))


def _at_address(text: str, book: Book) -> tuple[Cell, list[str]]:
    """Finds the cell at an address, through cells that only show another one, each of which it notes."""
    passed = [parse_address(text, book.sheets)]
    spots = {name: spot for name, spot in book.spots.items() if name in book.blocks}
    while (found := block_at(passed[-1], spots)) is None:
        shown = repeated(book.formula(passed[-1]))
        target = _target(shown, passed[-1], book) if shown else None
        if target is None or target in passed:
            raise NotationError(nothing_at(passed[-1], book.blocks, spots, book.linked(passed[-1])))
        passed.append(target)
    return Cell(book.blocks[found[0]], found[1]), [f"{one} shows {next_}" for one, next_ in pairwise(passed)]


def _target(shown: str, here: Address, book: Book) -> Address | None:
    """Returns the address that a reference in a formula means; None if it is no cell."""
    for name, block in book.blocks.items():
        if names.defined_name(name).casefold() == shown.casefold() and not block.axes and name in book.spots:
            return book.spots[name].stands(())
    try:
        return parse_address(shown if "!" in shown else f"{here.sheet}!{shown}", book.sheets)
    except NotationError:
        return None


def _column(cell: Cell, book: Book) -> str:
    """Says what stands above a cell's column: which word is read and written there, and whether it counts."""
    sheet = next(
        sheet for sheet in book.blueprint.sheets if any(each is cell.block for each in outline.blocks_on(sheet))
    )
    at = {axis: place for axis, place in zip(cell.block.axes, cell.places, strict=True) if axis in sheet.across}
    where = ", ".join(
        f"{_way(axis, place, book.values)} {axis.letter} = {place + axis.start}" for axis, place in at.items()
    )
    above = (_above(block, at, book.values) for block in sheet.head if at and block is not cell.block)
    return ": ".join(filter(None, (where, ", ".join(filter(None, above)))))


def _way(axis: Axis, place: int, values: Values) -> str:
    return "start column" if place < 0 else "end column" if place == values.size(axis) else axis.meaning


def _above(block: Block, at: Mapping[Axis, int], values: Values) -> str:
    try:
        shown = printed(values.cell(block, *(at[axis] for axis in block.axes)))
    except (KeyError, IndexError):  # it has other axes, or no start or end column
        return ""
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
    by_symbol = [block for block in blocks.values() if block.symbol == text and not block.link]
    by_name = [block for name, block in blocks.items() if _plain(name) == _plain(text)]
    matching = [blocks[text]] if text in blocks else by_symbol or by_name
    if len(matching) > 1:
        raise NotationError(
            f"{text} stands for {_listed([block.name for block in matching], 'and')}: write one of these names"
        )
    if matching:
        return matching[0]
    by_plain = {_plain(name): name for name, block in blocks.items() if not block.link}
    near = [by_plain[each] for each in get_close_matches(_plain(text), by_plain, 3)]
    raise NotationError(f"there is no block {text!r}" + (f": did you mean {_listed(near, 'or')}?" if near else ""))


def nothing_at(address: Address, blocks: Mapping[str, Block], spots: Spots, linked: bool) -> str:
    """Says of an address where no block stands what is near; `linked` is whether a link to a block is in its row."""
    here = {name: spot for name, spot in spots.items() if spot.sheet == address.sheet}
    row = min((row for spot in here.values() for row in spot.rows()), key=lambda row: abs(row - address.row), default=0)
    if not here or abs(row - address.row) > NEAR:
        by_name = "ask for a block by its name, which stands on the sheet Contents"
        by_link = "if it shows what stands elsewhere, follow the link beside it"
        return f"{address} belongs to no block: {by_link if linked else by_name}"
    near = [(name, spot.columns()) for name, spot in here.items() if row in spot.rows()]
    held = "; ".join(f"{blocks[name].symbol} ({name}), {columns}" for name, columns in near[:3])
    where = f"row {row} holds" if row == address.row else f"the nearest row with numbers, {row}, holds"
    return f"{address} belongs to no block: {where} {held}"


def _listed(listed: list[str], word: str) -> str:
    *first, last = listed
    return f"{', '.join(first)} {word} {last}" if first else last


def _plain(name: str) -> str:
    return name.casefold().replace(".", "_")
