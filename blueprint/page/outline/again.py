"""A sheet once more, with copies of its blocks."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from blueprint.language import Axis, Block
from blueprint.page.outline.book import Blueprint, Sheet, blocks_of

Part = TypeVar("Part")


def sheet_again(sheet: Sheet, copies: Mapping[Block, Block], title: str, lead: str) -> Sheet:
    """Returns a sheet on which copies stand where their blocks stood, under another title; what is typed stands there once."""
    return replace(_with(sheet, copies), title=title, lead=lead)


def with_copies(blueprint: Blueprint, copies: Mapping[Block, Block]) -> Blueprint:
    """Returns a blueprint with copies of computed blocks in their places, and everything else as it was."""
    return _with(blueprint, {**dict(zip(blueprint.typed, blueprint.typed, strict=True)), **copies})


def _with(part: Part, copies: Mapping[Block, Block]) -> Part:
    """Returns a part of an outline with every block in it replaced by its copy, if it has one."""
    found: Any = part
    if isinstance(part, Block):
        found = copies.get(part, part)
    elif isinstance(part, tuple):
        found = tuple(_with(each, copies) for each in part if not _is_typed(each, copies))
    elif isinstance(part, Mapping):
        found = {_with(key, copies): _with(value, copies) for key, value in part.items()}
    elif is_dataclass(part) and not isinstance(part, Axis | type):
        found = replace(part, **{each.name: _with(getattr(part, each.name), copies) for each in fields(part)})
    return found  # type: ignore[no-any-return]


def _is_typed(item: object, copies: Mapping[Block, Block]) -> bool:
    """Tells whether an item is nothing but typed blocks that have no copy."""
    blocks = blocks_of(item)
    return bool(blocks) and all(block.typed and block not in copies for block in blocks)
