"""The notation as plain data: blocks, equations as nested lists, and the order of computation, for a program in another language.

Indices are resolved: a letter with the place where its members begin in the block's array, edges, joined axes and shifts
included, so that the other program knows none of these. What each list means:

    ["c", value]                      a constant
    ["r", block, indices]             a cell of a block; a number in place of indices is their place in the list `indices`
    ["o", name, operands, labels]     an operation of the spelling tables; labels only where there are some
    ["sum" | "max", axes, body]       over all members of the axes
    ["find" | "match", axis, among, value]
    ["number" | "size", axis]         of the member at hand, of the axis
    ["changes"]                       how many typed blocks are no longer as they were

and an index:

    [axis, begin]  or  [axis, begin, by]   the member at hand; by: how far the equation shifts it, part of `begin`
    [-1, place]                            an edge
    ["id", expression, begin, size]        a member whose id is computed
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from blueprint.language.axes import Axis, Edge, Position
from blueprint.language.blocks import Block
from blueprint.language.nodes import Constant, Count, Expr, Find, Index, Lookup, Op, Reduce, Ref
from blueprint.language.schedule import Loop, Step, schedule
from blueprint.language.values import Values

Node = list[Any]
Data = dict[str, Any]


def filled(**fields: Any) -> Data:
    """Returns the fields that say something; 0 does."""
    return {name: value for name, value in fields.items() if value is not None and value != "" and value != []}


class Packing:
    """Numbers the blocks and axes of a computation, and packs what refers to them.

    blocks: in their order, each with its number; axes: in the order in which they were met.
    """

    def __init__(self, blocks: Iterable[Block], values: Values):
        self.values = values
        self.blocks: Mapping[Block, int] = {block: number for number, block in enumerate(blocks)}
        self.axes: dict[Axis, int] = {}
        self.indices: dict[str, int] = {}
        for block in self.blocks:
            for axis in block.axes:
                self.axis(axis)

    def axis(self, axis: Axis) -> int:
        """Returns the number of an axis."""
        return self.axes.setdefault(axis, len(self.axes))

    def steps(self) -> list[Any]:
        """Packs the order of computation: the number of a block, or [axis, way, steps] for a loop."""
        return [self._step(step) for step in schedule([block for block in self.blocks if not block.typed])]

    def definitions(self, block: Block) -> list[Node]:
        """Packs the equations of a block, each as [indices of what is written, expression]."""
        return [
            [self._indices(block, definition.target), self.expression(definition.expr)]
            for definition in block.definitions
        ]

    def spans(self, block: Block) -> list[list[int]]:
        """Returns for each axis of a block how many cells stand before its first member, and behind its last one."""
        return [[self.values.before(block, axis), int((axis, 1) in block.edges)] for axis in block.axes]

    def expression(self, expr: Expr) -> Node:
        """Packs an expression."""
        match expr:
            case Constant(value):
                return ["c", value]
            case Ref(block, at):
                return ["r", self.blocks[block], self._shared(self._indices(block, at))]
            case Op(name, operands, labels):
                return ["o", name, [self.expression(each) for each in operands], *([list(labels)] if labels else [])]
            case Reduce(name, axes, body):
                return [name, [self.axis(axis) for axis in axes], self.expression(body)]
            case Find(name, axis, among, value):
                return [name, self.axis(axis), self.expression(among), self.expression(value)]
            case Count(what, axis):
                return [what, self.axis(axis)]
        return ["changes"]

    def _step(self, step: Step) -> Any:
        if isinstance(step, Loop):
            return [self.axis(step.axis), step.way, [self._step(each) for each in step.steps]]
        return self.blocks[step]

    def shared(self) -> list[list[Node]]:
        """Returns the indices that references share, each once, in the order of their numbers."""
        return [json.loads(each) for each in self.indices]

    def _shared(self, indices: list[Node]) -> list[Node] | int:
        """Returns the number of indices that hold no expression: few are all that references have."""
        if any(index[0] == "id" for index in indices):
            return indices
        return self.indices.setdefault(json.dumps(indices, separators=(",", ":")), len(self.indices))

    def _indices(self, block: Block, at: tuple[Index, ...]) -> list[Node]:
        return [self._index(block, slot, index) for slot, index in zip(block.axes, at, strict=True)]

    def _index(self, block: Block, slot: Axis, index: Index) -> Node:
        before = self.values.before(block, slot)
        match index:
            case Edge():
                return [-1, before + self.values.edge(index)]
            case Position(axis, by):
                begin = self.values.offset(block, slot, axis) + by
                return [self.axis(axis), begin, *([by] if by else [])]
            case Lookup(_, id):
                return ["id", self.expression(id), before, self.values.size(slot)]
