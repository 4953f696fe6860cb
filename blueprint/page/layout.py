"""The layout: where every block, label and heading of an outline stands. Pure arithmetic; nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass, field

from blueprint.language import Block, Values
from blueprint.page.outline import Blueprint
from blueprint.page.place import Place


@dataclass(frozen=True)
class Label:
    """A fixed text in a cell; `style` names its dress."""

    sheet: str
    row: int
    column: int
    text: str
    style: str


@dataclass(frozen=True)
class Echo:
    """A cell that shows another cell again: the word beside its row, a piece of the loss on the first sheet."""

    sheet: str
    row: int
    column: int
    block: Block
    places: tuple[int, ...]
    style: str


@dataclass(frozen=True)
class Jump:
    """A link to a block; `text` says where it leads, with the {sheet} and {row} at which the block stands."""

    sheet: str
    row: int
    column: int
    block: Block
    text: str


@dataclass
class Layout:
    """Where everything stands: a place and a role per block, labels, echoes, jumps, and the first row below each head."""

    blueprint: Blueprint
    values: Values
    places: dict[Block, Place] = field(default_factory=dict)
    roles: dict[Block, str] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)
    echoes: list[Echo] = field(default_factory=list)
    jumps: list[Jump] = field(default_factory=list)
    body: dict[str, int] = field(default_factory=dict)
    end: dict[str, int] = field(default_factory=dict)
