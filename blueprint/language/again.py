"""The same equations once more, from other blocks: a second round that goes on where the first one ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from blueprint.language.blocks import Block, Definition
from blueprint.language.nodes import Expr, Ref
from blueprint.language.trees import rebuilt


def again(blocks: Iterable[Block], instead: Mapping[Block, Block], named: Callable[[str], str]) -> dict[Block, Block]:
    """Copies blocks that have equations; the copies read each other, and what is not copied they read as it is.

    instead: what is read in place of what. named: the name of a copy, from that of the block.
    Returns the copy of each block, and what was put in place of the others.
    """
    listed = [block for block in blocks if block not in instead and not block.typed]
    copies = {**instead, **{block: _like(block, named(block.name)) for block in listed}}
    for block in listed:
        copies[block].definitions = [Definition(d.target, _read(d.expr, copies)) for d in block.definitions]
    return copies


def _like(block: Block, name: str) -> Block:
    copy = Block(name, block.axes, replace(block.about), link=block.link)
    copy.text, copy.limit, copy.edges = block.text, block.limit, set(block.edges)
    return copy


def _read(expr: Expr, copies: Mapping[Block, Block]) -> Expr:
    """Returns an expression that reads the copies."""
    found = rebuilt(expr, lambda inner: _read(inner, copies))
    return Ref(copies.get(found.block, found.block), found.at) if isinstance(found, Ref) else found
