"""The order of computation: which block after which, and which of them together in a loop along an axis.

In the manner of Allen and Kennedy (Automatic translation of Fortran programs to vector form, 1987): blocks that need
each other form a strongly connected component of the graph; such a component is computed by stepping along an axis on
which all its shifts point the same way. Inside the loop the dependences carried by it are gone, and the same is done
again with what is left (a running sum along one axis inside a recursion along another). Everything else is
computed for all cells at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from blueprint.language.axes import Axis, Edge, NotationError, Position
from blueprint.language.blocks import Block, Definition
from blueprint.language.nodes import Find, Reduce, Ref
from blueprint.language.trees import walk


@dataclass(frozen=True)
class Loop:
    """Compute the steps inside for one member of the axis after the other; `way` is +1 (upwards) or −1."""

    axis: Axis
    way: int
    steps: tuple[Step, ...]


Step = Block | Loop


@dataclass(frozen=True)
class Need:
    """One block reads another; `shifts` gives the distance along each axis on which both can be stepped together."""

    reader: Block
    read: Block
    shifts: dict[Axis, int]


def schedule(blocks: Iterable[Block]) -> tuple[Step, ...]:
    """Orders blocks so that each is computed after what it reads.

    Raises NotationError where a cell would need itself, naming the blocks that go in a circle.
    """
    listed = list(blocks)
    return _steps(listed, [need for block in listed for need in needs(block)])


def in_order(steps: Iterable[Step]) -> Iterator[Block]:
    """Yields the blocks of steps as they are computed, loops opened."""
    for step in steps:
        yield from in_order(step.steps) if isinstance(step, Loop) else (step,)


def needs(block: Block) -> Iterator[Need]:
    """Yields what a block reads, reference by reference."""
    for definition in block.definitions:
        for node in walk(definition.expr):
            if isinstance(node, Ref):
                yield Need(block, node.block, _shifts(definition, node))


def _steps(blocks: list[Block], edges: list[Need]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for component in _components(blocks, edges):
        inside = set(component)
        own = [edge for edge in edges if edge.reader in inside and edge.read in inside]
        steps.append(_loop(component, own) if own else component[0])
    return tuple(steps)


def _loop(component: list[Block], edges: list[Need]) -> Loop:
    for axis in component[0].axes:
        if any(axis not in edge.shifts for edge in edges):
            continue
        signs = {edge.shifts[axis] for edge in edges} - {0}
        if len(signs) == 1:
            carried_away = [edge for edge in edges if edge.shifts[axis] == 0]
            return Loop(axis, -signs.pop(), _steps(component, carried_away))
    names = " → ".join(block.name for block in [*component, component[0]])
    raise NotationError(f"a cell that needs itself: {names}; let one of them read a neighbour (t - 1 or t + 1)")


def _shifts(definition: Definition, ref: Ref) -> dict[Axis, int]:
    """Returns how far the read cell lies from the written one, for each axis that both step along."""
    bound = {axis for node in walk(definition.expr) for axis in _bound(node)}
    written = {index.axis: index for index in definition.target if not _is_lookup(index)}
    shifts = {}
    for slot, index in zip(ref.block.axes, ref.at, strict=True):
        match index, written.get(slot):
            case Position(axis, by), Position() if axis is slot and axis not in bound:
                shifts[slot] = by
            case Edge(_, side), Edge(_, other) if side == other:
                shifts[slot] = 0
    return shifts


def _bound(node: object) -> tuple[Axis, ...]:
    match node:
        case Reduce():
            return node.axes
        case Find():
            return (node.axis,)
        case _:
            return ()


def _is_lookup(index: object) -> bool:
    return not isinstance(index, Position | Edge)


def _components(blocks: list[Block], edges: list[Need]) -> Iterator[list[Block]]:
    """Yields the strongly connected components, what is read before what reads it (Tarjan 1972, without recursion)."""
    reads: dict[Block, list[Block]] = {block: [] for block in blocks}
    for edge in edges:
        if edge.read in reads:
            reads[edge.reader].append(edge.read)
    number: dict[Block, int] = {}
    low: dict[Block, int] = {}
    open_: dict[Block, None] = {}
    for root in blocks:
        if root in number:
            continue
        path = [(root, iter(reads[root]))]
        number[root] = low[root] = len(number)
        open_[root] = None
        while path:
            block, ahead = path[-1]
            for other in ahead:
                if other not in number:
                    number[other] = low[other] = len(number)
                    open_[other] = None
                    path.append((other, iter(reads[other])))
                    break
                if other in open_:
                    low[block] = min(low[block], number[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[block])
                if low[block] == number[block]:
                    yield _closed(open_, block, blocks)


def _closed(open_: dict[Block, None], root: Block, blocks: list[Block]) -> list[Block]:
    """Takes the component that begins at `root` off the open blocks, in the order of reading."""
    names = list(open_)
    members = set(names[next(i for i, block in enumerate(names) if block is root) :])
    for block in members:
        del open_[block]
    return [block for block in blocks if block in members]
