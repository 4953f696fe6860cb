"""The layout: where every block, label and heading of an outline stands. Pure arithmetic; nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from blueprint.language import Block, Values
from blueprint.page.outline import Blueprint, Chart
from blueprint.page.place import Place
from blueprint.page.steps import Walk

if TYPE_CHECKING:
    from blueprint.page.cells import Run
    from blueprint.page.watch import Watch


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
    """A cell that shows another cell again: the word beside its row, a result on the first sheet."""

    sheet: str
    row: int
    column: int
    block: Block
    places: tuple[int, ...]
    style: str


@dataclass(frozen=True)
class Live:
    """A formula of the page's own, which belongs to no block: what the chosen column holds, whether an input changed."""

    sheet: str
    row: int
    column: int
    formula: str
    value: float | str
    style: str


@dataclass(frozen=True)
class Jump:
    """A link to a block; `text` says where it leads, with the {sheet} and {row} at which the block stands."""

    sheet: str
    row: int
    column: int
    block: Block
    text: str
    style: str = "link"


@dataclass(frozen=True)
class Hop:
    """A link to a cell by its address (`Start!A1`)."""

    sheet: str
    row: int
    column: int
    target: str
    text: str


@dataclass(frozen=True)
class Copied:
    """A typed value in a cell that belongs to no block: what was delivered, how far apart the groups stand."""

    sheet: str
    row: int
    column: int
    value: float | str
    style: str


@dataclass(frozen=True)
class Hung:
    """A chart and the cell at its upper left corner; `right` is how many charts hang beside it on its left."""

    sheet: str
    row: int
    right: int
    chart: Chart


@dataclass
class Layout:
    """Where everything stands.

    places, roles, heads: by block, its cells, its dress, and the sheet, row and column at which it is named.
    body, end, maps: by sheet, the first row below what stays in view, the row after the last, the row of its flow.
    printed: by sheet, the row after the last one that is printed, where that is not its end.
    folds: rows that may be folded away: sheet, first, last.
    walk, finder, spread: the lines of the chosen column, where its place is found, the ranges of blocks in it.
    tall: by sheet and row, the column and the text of a cell that is broken into lines.
    asks: where it is said whether anything typed was changed.
    runs, watch: the cells of every block, and the formulas that watch the others, once they are spelled.
    judged: where it is said whether all checks and all formulas are well: sheet, row, the defined name of the former.
    """

    blueprint: Blueprint
    values: Values
    places: dict[Block, Place] = field(default_factory=dict)
    roles: dict[Block, str] = field(default_factory=dict)
    heads: dict[Block, tuple[str, int, int]] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)
    echoes: list[Echo] = field(default_factory=list)
    lives: list[Live] = field(default_factory=list)
    jumps: list[Jump] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    copies: list[Copied] = field(default_factory=list)
    charts: list[Hung] = field(default_factory=list)
    folds: list[tuple[str, int, int]] = field(default_factory=list)
    walk: Walk = field(default_factory=Walk)
    finder: tuple[str, int] | None = None
    tall: dict[tuple[str, int], tuple[int, str]] = field(default_factory=dict)
    asks: list[tuple[str, int]] = field(default_factory=list)
    judged: list[tuple[str, int, str]] = field(default_factory=list)
    spread: dict[Block, tuple[str, int, int, int]] = field(default_factory=dict)
    body: dict[str, int] = field(default_factory=dict)
    end: dict[str, int] = field(default_factory=dict)
    maps: dict[str, int] = field(default_factory=dict)
    printed: dict[str, int] = field(default_factory=dict)
    runs: list[Run] | None = None
    watch: Watch | None = None

    def sections(self, title: str) -> tuple[int, ...]:
        """Returns the rows at which the sections of a sheet begin."""
        return tuple(label.row for label in self.labels if label.sheet == title and label.style == "section")
