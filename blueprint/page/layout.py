"""The layout: where every block, label and heading of an outline stands, and the pen that puts names and words beside them.

Pure arithmetic; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from blueprint.language import Axis, Block, Definition, Edge, Ref, Values, equation, walk
from blueprint.page import grid, outline
from blueprint.page.grid import Place

if TYPE_CHECKING:
    from blueprint.page.cells import Run
    from blueprint.page.formulas import Watch
    from blueprint.page.one_page.canvas import Sheet
    from blueprint.page.steps import WalkLine, WalkList


@dataclass
class At:
    """A cell: its sheet, row and column, counted from 0.

    It and its kinds are not frozen: a workbook has tens of thousands, and to make a frozen one takes four times as long.
    """

    sheet: str
    row: int
    column: int

    @cached_property
    def cell(self) -> str:
        """The address of the cell, without its sheet."""
        return grid.address(self.row, self.column)

    @property
    def at(self) -> tuple[str, int, int]:
        """The cell as a key."""
        return self.sheet, self.row, self.column


@dataclass
class Label(At):
    """A fixed text or number in a cell; `style` names how it looks."""

    text: float | str
    style: str


@dataclass
class Echo(At):
    """A cell that shows a block's cell again: the word beside its row, a result on the first sheet."""

    block: Block
    places: tuple[int, ...]
    style: str


@dataclass
class Live(At):
    """A formula; of those that the layout lists none belongs to a block: what the chosen column holds, whether an input changed.

    repeats: it only shows another cell again. summed: a watch has its number as part of a sum, and does not compute it again.
    waits: it hangs on blanks, so that it has no delivered value.
    """

    formula: str
    value: float | str
    style: str
    repeats: bool = False
    summed: bool = False
    waits: bool = False


@dataclass
class Link(At):
    """A link to a block, or to an address (`Start!A1`); of a block `text` may hold the {sheet}, {row} and first {cell}."""

    target: Block | str
    text: str
    style: str = "link"


@dataclass(frozen=True)
class PlacedChart:
    """A chart and the cell at its upper left corner; `right` is how many charts stand beside it on its left."""

    sheet: str
    row: int
    right: int
    chart: outline.Chart


@dataclass
class Layout:
    """Where everything stands.

    places, roles, heads: by block, its cells, its style, and the sheet, row and column at which it is named.
    body, end, maps: by sheet, the first row below what stays in view, the row after the last, the row of its flow.
    printed: by sheet, the row after the last one that is printed, where that is not its end.
    folds: rows that may be folded away: sheet, first, last.
    flags: by sheet, the column behind its lines that says which of them are folded.
    walk, told, numbered, finder, spread: the lines of the chosen column, those told in words, the cell of each number that they
    hold, where the place of the column is found, the ranges of blocks in it.
    tall: by row of the walk, column and text of a cell of several lines. unchanged: where it is said whether typed cells were.
    runs, watch: the cells of every block, and the formulas that watch the others, once they are spelled.
    hangs: the formulas that hang on blanks, each with their numbers, once the watch is spelled. known: corners once asked for.
    judged: where it is said whether all checks and all formulas are well: sheet, row, the verdict on the former.
    one_page: how the sheet that shows all at a glance is set up. colours: by block, the colour of its sheet.
    """

    blueprint: outline.Blueprint
    values: Values
    places: dict[Block, Place] = field(default_factory=dict)
    roles: dict[Block, str] = field(default_factory=dict)
    heads: dict[Block, tuple[str, int, int]] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)
    echoes: list[Echo] = field(default_factory=list)
    lives: list[Live] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    charts: list[PlacedChart] = field(default_factory=list)
    folds: list[tuple[str, int, int]] = field(default_factory=list)
    flags: dict[str, int] = field(default_factory=dict)
    walk: list[WalkLine | WalkList] = field(default_factory=list)
    told: list[tuple[int, outline.Told]] = field(default_factory=list)
    numbered: dict[str, tuple[int, int]] = field(default_factory=dict)
    finder: tuple[str, int] | None = None
    tall: dict[int, tuple[int, str]] = field(default_factory=dict)
    unchanged: list[tuple[str, int]] = field(default_factory=list)
    judged: list[tuple[str, int, Block]] = field(default_factory=list)
    spread: dict[Block, tuple[str, int, int, int]] = field(default_factory=dict)
    body: dict[str, int] = field(default_factory=dict)
    end: dict[str, int] = field(default_factory=dict)
    maps: dict[str, int] = field(default_factory=dict)
    printed: dict[str, int] = field(default_factory=dict)
    known: dict[Block, tuple[int, int, int, int]] = field(default_factory=dict)
    runs: list[Run] | None = None
    watch: Watch | None = None
    hangs: dict[tuple[str, int, int], frozenset[int]] = field(default_factory=dict)
    one_page: Sheet | None = None
    colours: dict[Block, str] = field(default_factory=dict)

    def address(self, block: Block, places: tuple[int, ...], seen_from: str = "", fixed: bool = False) -> str:
        """Returns the address of a block's cell, with its sheet unless it is seen from there; fixed: with the signs $."""
        place = self.places[block]
        cell = grid.address(*place.cell(block, places), fixed=fixed)
        return cell if place.sheet == seen_from else f"{grid.quoted_title(place.sheet)}!{cell}"

    def corners(self, block: Block) -> tuple[int, int, int, int]:
        """Returns the first row and column and the last row and column of a block, edges included."""
        if (found := self.known.get(block)) is None:  # asked for thousands of times
            found = self.known[block] = self.places[block].corners(block, self.values)
        return found

    def range(self, block: Block, fixed: bool = True) -> str:
        """Returns the range of a block, edges included, with its sheet; fixed: with the signs $."""
        return f"{grid.quoted_title(self.places[block].sheet)}!{grid.area(*self.corners(block), fixed=fixed)}"

    def leads_to(self, link: Link) -> tuple[str, str]:
        """Returns the address to which a link leads, and its text."""
        if isinstance(link.target, str):
            return link.target, link.text
        sheet, (top, left, *_) = self.places[link.target].sheet, self.corners(link.target)
        cell = f"{sheet}!{grid.address(top, left)}"
        return self.range(link.target, fixed=False), link.text.format(sheet=sheet, row=top + 1, cell=cell)


class Pen:
    """Writes on one sheet of a layout."""

    def __init__(self, title: str, layout: Layout):
        self.title, self.layout, self.values = title, layout, layout.values

    def label(self, row: int, column: int, text: float | str, style: str) -> None:
        """Puts a fixed text or number into a cell."""
        if text != "":
            self.layout.labels.append(Label(self.title, row, column, text, style))

    def live(self, row: int, column: int, formula: str, value: float | str, style: str) -> None:
        """Puts a formula into a cell, and what it comes to."""
        self.layout.lives.append(Live(self.title, row, column, formula, value, style))

    def link(
        self, row: int, column: int, target: Block | str, text: str = "{sheet}, row {row}", style: str = "link"
    ) -> None:
        """Puts a link to a block, or to an address, into a cell."""
        self.layout.links.append(Link(self.title, row, column, target, text, style))

    def name(self, row: int, symbol: str, name: str) -> None:
        """Puts symbol and name at the left of a row."""
        self.label(row, grid.SYMBOL, symbol, "symbol")
        self.label(row, grid.NAME, name, "name")


def sheet_of_its_own(
    title: str, lead: str, layout: Layout, left: int, row: int, headings: Mapping[int, str], whole: bool = False
) -> Pen:
    """Begins a sheet that is in no outline: its title and lead at a column, and headings above a row.

    whole: all of it is printed, and not its head alone.
    """
    pen = Pen(title, layout)
    pen.label(grid.TITLE_ROW, left, title, "title")
    pen.label(grid.LEAD_ROW, left, lead, "lead")
    pen.label(grid.BANNER_ROW, left + 2, "" if whole else grid.UNPRINTED, "note")
    for column, heading in headings.items():
        pen.label(row - 1, column, heading, "table head")
    layout.body[title] = layout.end[title] = row
    return pen


MOST = 8
"""A block of more parts prints the equation of its first one alone."""


class SheetPen(Pen):
    """Writes beside the cells of one sheet of an outline; `row` is the next free row."""

    def __init__(self, sheet: outline.Sheet, layout: Layout):
        super().__init__(sheet.title, layout)
        self.sheet = sheet
        self.row = grid.NUMBER_ROW + bool(sheet.across)

    def echo(self, row: int, column: int, block: Block, places: tuple[int, ...], style: str) -> None:
        """Shows another cell again."""
        self.layout.echoes.append(Echo(self.title, row, column, block, places, style))

    def caption(self, block: Block) -> None:
        """Names a block at the left of the next free row."""
        self.name(self.row, block.symbol, block.about.meaning)
        self.head(block)

    def head(self, block: Block, column: int = grid.NAME) -> None:
        """Notes that a block is named at the next free row."""
        self.layout.heads[block] = self.title, self.row, column

    def headings(self, block: Block, across: Axis | None) -> None:
        """Names the columns of a table."""
        if across is None:
            self.label(self.row, grid.LEFT, block.symbol, "column heading")
            return
        for member in range(self.values.size(across)):
            self.member(across, member, self.row, grid.LEFT + member, "column heading")
        if not block.typed:
            self.label(self.row, grid.LEFT + self.values.size(across), f"  {self.says(block)}", "equation")

    def row_name(self, block: Block, down: Axis, member: int, row: int) -> None:
        """Names one row of a block: its symbol with the number, and the word where members are words."""
        if down.parts:
            part, number = self.values.part(down, member)
            self.member(down, member, row, grid.SYMBOL, "symbol")
            self.label(row, grid.NAME, part.meaning if number == 0 else "", "name")
            return
        self.label(row, grid.SYMBOL, f"{block.symbol}{member + down.start}", "symbol")
        if isinstance(self.layout.blueprint.names.get(down), Block):
            self.member(down, member, row, grid.NAME, "name")

    def member(self, axis: Axis, member: int, row: int, column: int, style: str) -> None:
        """Names one member of an axis: by its word (which follows the cell that holds it), or by a letter and its number."""
        part, number = self.values.part(axis, member)
        nameless = part.letter if part.size == 1 else f"{part.letter}{{}}"
        known = self.layout.blueprint.names.get(part, nameless)
        if not isinstance(known, Block):
            self.label(row, column, known if part.size == 1 else known.format(number + part.start), style)
        elif column == grid.SYMBOL:
            self.label(row, column, str(number + part.start), style)
        else:
            self.echo(row, column, known, (number,), style)

    def equation_text(self, block: Block) -> str:
        """Returns a block's equations without those of its edges, in one line."""
        if block in self.layout.blueprint.unsaid:
            return ""
        inner = _inner(block)
        understood = frozenset(self.layout.blueprint.understood(self.sheet))
        texts = [equation(block, each, understood) for each in inner[: None if len(inner) <= MOST else 1]]
        return ";   ".join(texts + ["…"] * (len(inner) > MOST))

    def says(self, block: Block) -> str:
        """Returns a block's equations, and why it has cells without a number if it had any when the file was made."""
        return self.equation_text(block) + no_number(block, self.values)

    def equation(self, block: Block, style: str) -> None:
        """Prints a block's equation at the left of the free columns; a repeated block says where it comes from."""
        if block.link:
            several = len({_repeated(each) for each in _inner(block)}) > 1
            self.link(self.row, grid.LEFT, origin(block), f"{'the last ' * several}from {{sheet}}, row {{row}}")
        else:
            self.label(self.row, grid.LEFT, self.says(block), style)


def no_number(block: Block, values: Values) -> str:
    """Says why a block has cells without a number, if it had any when the file was made."""
    return f"   (as delivered no number: {values.why[block]})" if block in values.why else ""


def origin(block: Block) -> Block:
    """Returns the block that a link repeats, the last one of several."""
    return _repeated(block.definitions[-1])


def _repeated(definition: Definition) -> Block:
    return next(node.block for node in walk(definition.expr) if isinstance(node, Ref))


def _inner(block: Block) -> list[Definition]:
    return [each for each in block.definitions if not any(isinstance(index, Edge) for index in each.target)]
