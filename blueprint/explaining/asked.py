"""What is asked for: a block by its name or symbol, a cell by its address; and what stands near, where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from blueprint.explaining.spots import Address, Spots, block_at
from blueprint.language import Block, NotationError
from blueprint.language.chain import Cell

NEAR = 3
"""How many rows away a block may stand to be named beside an address where there is none."""


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
