"""Making blocks: defined, typed, repeating another one where a page needs it, or with the same equations once more."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from blueprint.language import functions, trees
from blueprint.language.axes import Axis, Edge, NotationError
from blueprint.language.blocks import About, Block, Definition, letters
from blueprint.language.nodes import Constant, Expr, Lookup, Ref


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
    made[axis] = target[functions.number(axis) - axis.start]
    return made


def _repeated(cell: Ref) -> Expr:
    """Returns a cell as it is repeated: a blank one that may hold a word stays blank, where a sheet would show 0."""
    return functions.where(functions.filled(cell), cell, "") if cell.block.typed and cell.block.text else cell


def behind_links(block: Block, ends: Collection[Block] = ()) -> Block:
    """Returns what a link repeats, through all links but those that are an end themselves."""
    while block.link and block not in ends and (target := _target_of(block)) is not None:
        block = target
    return block


def linked(ref: Ref, ends: Collection[Block] = ()) -> Ref:
    """Returns the cell that a link's cell repeats."""
    return Ref(behind_links(ref.block, ends), ref.at)


def _target_of(link: Block) -> Block | None:
    """Returns the block that a link repeats cell by cell, be it laid in the other direction."""
    for definition in link.definitions:
        match definition.expr:
            case Ref(target, at) if len(at) == len(definition.target) and all(map(_stays, at, definition.target)):
                return target
    return None


def _stays(index: object, own: object) -> bool:
    return index == own or (isinstance(index, Lookup) and not isinstance(index.id, Constant))


def again(
    blocks: Iterable[Block],
    instead: Mapping[Block, Block],
    named: Callable[[str], str] = str,
    equations: Mapping[Definition, Expr] = MappingProxyType({}),
) -> dict[Block, Block]:
    """Copies blocks that have equations; the copies read each other, and what is not copied they read as it is.

    instead: what is read in place of what. named: the name of a copy, from that of the block. equations: other right-hand
    sides of some of the equations.
    Returns the copy of each block, and what was put in place of the others.
    """
    listed = [block for block in blocks if block not in instead and not block.typed]
    copies = {**instead, **{block: _like(block, named(block.name)) for block in listed}}
    for block in listed:
        copies[block].definitions = [
            Definition(d.target, reading(equations.get(d, d.expr), copies)) for d in block.definitions
        ]
    return copies


def _like(block: Block, name: str) -> Block:
    copy = Block(name, block.axes, replace(block.about), link=block.link)
    copy.text, copy.limit, copy.edges = block.text, block.limit, set(block.edges)
    return copy


def reading(expr: Expr, instead: Mapping[Block, Block]) -> Expr:
    """Returns an expression that reads other blocks in place of some."""
    found = trees.rebuilt(expr, lambda inner: reading(inner, instead))
    return Ref(instead.get(found.block, found.block), found.at) if isinstance(found, Ref) else found
