"""The order of computation: which block after which, and which of them together in a loop along an axis.

In the manner of Allen and Kennedy (Automatic translation of Fortran programs to vector form, 1987): blocks that need
each other form a strongly connected component of the graph; such a component is computed by stepping along an axis on
which all its shifts point the same way. Inside the loop the dependences carried by it are gone, and the same is done
again with what is left (a running sum along one axis inside a recursion along another). Everything else is
computed for all cells at once.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from blueprint.language.axes import Axis, Edge, NotationError, Position
from blueprint.language.blocks import Block, Definition
from blueprint.language.nodes import Ref
from blueprint.language.trees import bound_axes, walk


@dataclass(frozen=True)
class Loop:
    """Compute the steps inside for one member of the axis after the other; `way` is +1 (upwards) or −1."""

    axis: Axis
    way: int
    steps: tuple["Step", ...]


Step = Block | Loop


@dataclass(frozen=True)
class Need:
    """One block reads another; `shifts` gives the distance along each axis on which both can be stepped together."""

    reader: Block
    read: Block
    shifts: dict[Axis, int]


def schedule(blocks: list[Block]) -> tuple[Step, ...]:
    """Orders blocks so that each is computed after what it reads.

    Raises NotationError where a cell would need itself, naming the blocks that go in a circle.
    """
    return _steps(blocks, [need for block in blocks for need in needs(block)])


def in_order(steps: Iterable[Step]) -> Iterator[Block]:
    """Yields the blocks of steps as they are computed, loops opened."""
    for step in steps:
        yield from in_order(step.steps) if isinstance(step, Loop) else (step,)


def needs(block: Block) -> Iterator[Need]:
    """Yields what a block reads, reference by reference."""
    for definition in block.definitions:
        nodes = [*walk(definition.expr)]
        bound = {axis for node in nodes for axis in bound_axes(node)}
        for node in nodes:
            if isinstance(node, Ref):
                yield Need(block, node.block, _shifts(definition, node, bound))


def read_by(block: Block) -> Iterator[Block]:
    """Yields the blocks that a block reads, reference by reference."""
    for definition in block.definitions:
        yield from (node.block for node in walk(definition.expr) if isinstance(node, Ref))


def _steps(blocks: list[Block], edges: list[Need]) -> tuple[Step, ...]:
    reads: dict[Block, list[Block]] = {block: [] for block in blocks}
    for edge in edges:
        if edge.read in reads:
            reads[edge.reader].append(edge.read)
    found = components(reads)
    number = {block: i for i, component in enumerate(found) for block in component}
    inside: dict[int, list[Need]] = {}
    for edge in edges:
        if number.get(edge.read) == number[edge.reader]:
            inside.setdefault(number[edge.reader], []).append(edge)
    return tuple(_loop(each, inside[i]) if i in inside else each[0] for i, each in enumerate(found))


def _loop(component: list[Block], edges: list[Need]) -> Loop:
    for axis in component[0].axes:
        if any(axis not in edge.shifts for edge in edges):
            continue
        signs = {edge.shifts[axis] for edge in edges} - {0}
        if len(signs) == 1:
            return Loop(axis, -signs.pop(), _steps(component, [edge for edge in edges if edge.shifts[axis] == 0]))
    raise NotationError(
        f"a cell that needs itself: {' → '.join(block.name for block in [*component, component[0]])}; "
        "let one of them read a neighbour (t - 1 or t + 1)"
    )


def _shifts(definition: Definition, ref: Ref, bound: set[Axis]) -> dict[Axis, int]:
    """Returns how far the read cell lies from the written one, for each axis that both step along."""
    written = {index.axis: index for index in definition.target}
    shifts = {}
    for slot, index in zip(ref.block.axes, ref.at, strict=True):
        match index, written.get(slot):
            case Position(axis, by), Position() if axis is slot and axis not in bound:
                shifts[slot] = by
            case Edge(_, side), Edge(_, other) if side == other:
                shifts[slot] = 0
    return shifts


def components(reads: Mapping[Block, Iterable[Block]]) -> list[list[Block]]:
    """Returns the strongly connected components, what is read before what reads it (Kosaraju and Sharir 1978).

    reads: by block, in the order of reading, the blocks of these that it reads; what goes in a circle stays in that order.
    """
    readers: dict[Block, list[Block]] = {block: [] for block in reads}
    for reader, read in reads.items():
        for block in read:
            readers[block].append(reader)
    known: set[Block] = set()
    order = [block for root in reads for block in _finished(root, reads, known)]
    assigned: set[Block] = set()
    found = [set(_finished(root, readers, assigned)) for root in reversed(order)]
    place = {block: i for i, block in enumerate(reads)}
    return [sorted(group, key=place.__getitem__) for group in reversed(found) if group]


def _finished(root: Block, graph: Mapping[Block, Iterable[Block]], known: set[Block]) -> Iterator[Block]:
    """Yields what is reached from a block and not yet known, each block after what lies behind it."""
    path = [(root, iter(graph[root]))] if root not in known else []
    known.add(root)
    while path:
        following = next((each for each in path[-1][1] if each not in known), None)
        if following is None:
            yield path.pop()[0]
        else:
            known.add(following)
            path.append((following, iter(graph[following])))
