"""The same equations once more, from other blocks: a second round that goes on where the first one ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from blueprint.language.blocks import Block, Definition
from blueprint.language.nodes import Expr, Ref
from blueprint.language.schedule import needs
from blueprint.language.trees import rebuilt


def again(blocks: Iterable[Block], instead: Mapping[Block, Block], named: Callable[[str], str]) -> dict[Block, Block]:
    """Copies those of the blocks that hang on what is replaced; what hangs on nothing of it stays itself.

    instead: what is read in place of what. named: the name of a copy, from that of the block.
    Returns the copy of each block that has one, and what was put in place of the others.
    """
    listed = list(blocks)
    copies = dict(instead)
    for block in _hanging(listed, set(instead)):
        copies[block] = _like(block, named(block.name))
    for block in listed:
        if block in copies and block not in instead:
            copy = copies[block]
            copy.definitions = [Definition(d.target, _read(d.expr, copies)) for d in block.definitions]
    return copies


def _hanging(blocks: list[Block], sources: set[Block]) -> list[Block]:
    """Returns the blocks that read a source, directly or through others."""
    readers: dict[Block, list[Block]] = {}
    for block in blocks:
        for need in needs(block):
            readers.setdefault(need.read, []).append(block)
    found = dict.fromkeys(sources)
    ahead = list(sources)
    while ahead:
        more = [reader for reader in readers.get(ahead.pop(), ()) if reader not in found]
        found |= dict.fromkeys(more)
        ahead += more
    return [block for block in blocks if block in found and block not in sources]


def _like(block: Block, name: str) -> Block:
    copy = Block(name, block.axes, replace(block.about), link=block.link)
    copy.text, copy.limit, copy.edges = block.text, block.limit, set(block.edges)
    return copy


def _read(expr: Expr, copies: Mapping[Block, Block]) -> Expr:
    """Returns an expression that reads the copies."""
    found = rebuilt(expr, lambda inner: _read(inner, copies))
    return Ref(copies.get(found.block, found.block), found.at) if isinstance(found, Ref) else found
