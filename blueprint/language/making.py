"""Making blocks: defined, typed, or repeating another one where a page needs it."""

from dataclasses import replace

from blueprint.language.axes import Axis, Edge, NotationError
from blueprint.language.blocks import About, Block, letters
from blueprint.language.functions import filled, number, where
from blueprint.language.nodes import Expr, Ref


def block(
    name: str,
    axes: tuple[Axis, ...],
    symbol: str = "",
    meaning: str = "",
    *,
    unit: str = "",
    source: str = "",
    decimals: int = 4,
    reads: str = "",
) -> Block:
    """Makes a block whose equation comes next."""
    return Block(name, axes, About(symbol or name, meaning, unit, source, decimals, reads))


def typed(
    name: str,
    axes: tuple[Axis, ...] = (),
    symbol: str = "",
    meaning: str = "",
    *,
    unit: str = "",
    source: str = "",
    decimals: int = 4,
    text: bool = False,
    limit: bool = False,
    edges: tuple[Edge, ...] = (),
    reads: str = "",
) -> Block:
    """Makes a block whose numbers (or words, or limits) are given; they stand in the page as typed cells."""
    made = Block(name, axes, About(symbol or name, meaning, unit, source, decimals, reads), typed=True)
    made.text, made.limit = text, limit
    if stray := [edge for edge in edges if edge.axis not in axes]:
        raise NotationError(f"{name} has no edge at {stray[0]}: its axes are {letters(axes)}")
    made.edges = {(edge.axis, edge.side) for edge in edges}
    return made


def link(name: str, target: Block, meaning: str = "", symbol: str = "") -> Block:
    """Repeats a block under another name, so that a page shows what its equations read from elsewhere."""
    about = replace(target.about, symbol=symbol or target.symbol, meaning=meaning or target.about.meaning, source="")
    made = Block(name, target.axes, about, link=True)
    for axis, side in sorted(target.edges, key=lambda edge: (edge[0].letter, edge[1])):
        at = tuple(Edge(axis, side) if other is axis else other for other in target.axes)
        made[at] = _repeated(target[at])
    made[target.axes] = _repeated(target[target.axes])
    return made


def transposed(name: str, target: Block) -> Block:
    """Repeats a block of one axis where a page lays it in the other direction: each cell is looked up by its number."""
    (axis,) = target.axes
    made = Block(name, target.axes, replace(target.about, source=""), link=True)
    made[axis] = target[number(axis) - axis.start]
    return made


def _repeated(cell: Ref) -> Expr:
    """Returns a cell as it is repeated: a blank one that may hold a word stays blank, where a sheet would show 0."""
    return where(filled(cell), cell, "") if cell.block.typed and cell.block.text else cell
