"""Placing: walks through an outline from top to bottom and gives every item its rows."""

from dataclasses import replace

from blueprint.language import Axis, Block, Ended, NotationError, Values, require
from blueprint.page import (
    cell_writer,
    contents,
    delivered,
    digits,
    fitting,
    formulas,
    grid,
    names,
    to_fill,
    usual,
    views,
    walk,
)
from blueprint.page.layout import Layout, Live
from blueprint.page.one_page.paint import lay_one_page
from blueprint.page.outline import Blueprint, Item, Line, Note, Row, Section, Table
from blueprint.page.place import Nest, Place
from blueprint.page.styles import coloured

WIDE = 15
"""From this width on a column holds text, and its heading begins where the text does."""


def lay_out(blueprint: Blueprint, values: Values) -> Layout:
    """Places every block of the outline; raises NotationError, before anything is written, where a page has no room."""
    layout = place_blocks(blueprint, values)
    layout.lives += [
        Live(
            echo.sheet,
            echo.row,
            echo.column,
            f"={layout.address(echo.block, echo.places, seen_from=echo.sheet)}",
            values.cell(echo.block, *echo.places),
            echo.style,
            repeats=True,
        )
        for echo in layout.echoes
    ]
    for lay in (
        walk.lay_walk,
        usual.lay_usual,
        lay_one_page,
        to_fill.lay_blanks,
        delivered.lay_delivered,
        formulas.lay_formulas,
        contents.lay_contents,
    ):
        lay(layout)
    layout.lives = [replace(live, value=shown_value(live.value)) for live in layout.lives]
    return layout


def shown_value(value: float | str) -> float | str:
    """Returns what a cell shows of a value: the error where there is no number, and where one is printed that is none."""
    return value.error if isinstance(value, Ended) else value.shown if isinstance(value, digits.Print) else value


def place_blocks(blueprint: Blueprint, values: Values) -> Layout:
    """Gives every block its place, which hangs on the sizes alone and not on the numbers; raises NotationError."""
    blueprint = fitting.with_wide_weights(blueprint, values)
    fitting.refuse_unfit(blueprint, values)
    blueprint = to_fill.with_legend(blueprint)
    layout = Layout(blueprint, values, colours=blueprint.colours)
    for sheet in blueprint.sheets:
        SheetPlacer(sheet, layout).place()
    fitting.refuse_overlaps(layout)
    return layout


class SheetPlacer(cell_writer.SheetPen):
    """Places one sheet."""

    def place(self) -> None:
        """Gives every item of the sheet its place."""
        self.label(grid.TITLE_ROW, grid.SYMBOL, self.sheet.heading or self.title, coloured("title", self.sheet.colour))
        self.label(grid.LEAD_ROW, grid.SYMBOL, self.sheet.lead, "lead")
        self.label(grid.BANNER_ROW, grid.LEFT, "" if self.sheet.printed else names.UNPRINTED, "note")
        for block in self.sheet.head:
            self.label(self.row, grid.NAME, block.about.meaning, "head name")
            self.equation(block, "equation")
            self.head(block)
            self.put(block, "head")
            self.row += 1
        for item in self.sheet.pinned:
            self.item(item)
        self.layout.body[self.title] = self.row
        for heading, section in zip(self.sheet.headings(), self.sheet.sections, strict=True):
            if not section.printed:
                self.layout.printed.setdefault(self.title, self.row)
            self.row += 1
            self.section(heading, section)
        self.layout.end[self.title] = self.row

    def section(self, heading: str, section: Section) -> None:
        """Places a heading and what stands under it; a block with weights has its equation in the heading's row.

        Where all of it is folded away, its heading is, too.
        """
        first = self.row - 1
        self.label(self.row, grid.SYMBOL, heading, "section")
        widths = (*self.sheet.widths, *(0.0 for _ in section.columns))
        for column, (title, width) in enumerate(zip(section.columns, widths, strict=False), grid.LEFT):
            self.label(self.row, column, title, "section text" if width > WIDE else "section column")
        for item in section.items:
            if isinstance(item, Row) and item.beside is not None:
                self.equation(item.block, "section equation")
        self.row += 1
        for item in section.items:
            self.item(item)
        if self.sheet.folds_away(section):
            self.layout.folds.append((self.title, first, self.row - 1))

    def item(self, item: Item) -> None:
        """Places one item at the next free row."""
        match item:
            case Note(text, about):
                if about is None:
                    self.label(self.row, grid.SYMBOL, text, "note")
                else:
                    self.link(self.row, grid.SYMBOL, about, text, "note")
                self.row += 1
            case Line(blocks, role):
                self.line(blocks, role)
            case Table(block, across, role):
                self.table(block, across, role)
            case Block():
                self.rows(Row(item))
            case Row():
                first = self.row
                self.rows(item)
                if item.fold:
                    self.layout.folds.append((self.title, first, self.row - 1))
            case _:
                views.PLACERS[type(item)](item, self)

    def line(self, blocks: tuple[Block, ...], role: str) -> None:
        """Places single numbers (and lists) side by side; those for which nothing may be chosen look fixed."""
        known, column = self.layout.blueprint, grid.LEFT
        self.caption(blocks[0])
        for block in blocks:
            default = "line" if block in {*known.ranges, *known.choices, *known.picked} else "fixed"
            self.settle(block, Place(self.title, self.row, column, dict.fromkeys(block.axes, (0, 1))), role or default)
            column += len(self.values.span(block, block.axes[0])) if block.axes else 1
        self.label(self.row, column, "".join(cell_writer.no_number(block, self.values) for block in blocks), "equation")
        self.row += 1

    def table(self, block: Block, across: Axis | None, role: str) -> None:
        """Places a table in the left area: a caption with headings, then a row per member of the other axis."""
        down, *others = [axis for axis in block.axes if axis is not across]
        require(not others, f"{block.name} has {len(block.axes)} axes, a Table two: let it be a Row")
        self.caption(block)
        self.headings(block, across)
        if across is None and len(block.definitions) == 1:
            self.label(self.row, grid.LEFT + 1, f"  {self.says(block)}", "equation")
        self.row += 1
        self.put_table(block, across, role or "weights")
        for member in range(self.values.size(down)):
            self.member(down, member, self.row, grid.SYMBOL, "symbol")
            self.row += 1

    def rows(self, item: Row) -> None:
        """Places a block on the sheet's columns, and the weights that multiply it to its left."""
        block, beside = item.block, item.beside
        nest = Nest(block, self.sheet.across, self.values)
        self.caption(block)
        if beside is None:
            self.equation(block, "equation")
        else:
            self.name_weights(beside, block, nest)
        if nest.axes:
            self.row += 1 + nest.above()
            if self.values.before(block, nest.axes[-1]):
                self.label(self.row - 1, grid.NAME, f"before the first {nest.axes[-1].meaning}", "note")
        if beside is not None:
            self.put_table(beside, next(iter(beside.axes[1:]), None), "weights")
        place = self.put(block, item.role)
        for row, axis, member in nest.headings(place):
            self.label(row, grid.NAME, f"{axis.meaning} {member + axis.start}", "name")
        for row, member in nest.members(place) if nest.axes else ():
            self.row_name(block, nest.axes[-1], member, row)
        self.row = self.layout.corners(block)[2] + 1

    def name_weights(self, weights: Block, block: Block, nest: Nest) -> None:
        """Names the weights to the left of a block's rows, which lie along one axis."""
        if len(nest.axes) != 1:
            has = f"rows along {len(nest.axes)} axes: make it a Table" if nest.axes else "a single row: make it a Line"
            raise NotationError(f"{weights.name} stands beside {block.name}, which has {has}")
        self.headings(weights, next(iter(weights.axes[1:]), None))
        self.head(weights, grid.LEFT)

    def put_table(self, block: Block, across: Axis | None, role: str) -> None:
        """Places a block of weights or words in the left area."""
        steps = {axis: (0, 1) if axis is across else (1, 0) for axis in block.axes}
        self.settle(block, Place(self.title, self.row, grid.LEFT, steps), role)

    def put(self, block: Block, role: str) -> Place:
        """Places a block on the columns of the members, in the Σ columns, or, without axes, in that of single numbers."""
        steps = dict.fromkeys(block.axes, (1, 0)) | Nest(block, self.sheet.across, self.values).steps
        column, groups = grid.SINGLE, self.sheet.across[:-1]
        if self.sheet.across:
            time = self.sheet.across[-1]
            members, in_groups = self.values.size(time), bool(groups) and groups[0] in steps
            if time in steps:
                column, steps[time] = grid.start_column(0, members) + 1, (0, 1)
            elif in_groups:
                column = grid.start_column(0, members) + members + 2
            if in_groups:
                steps[groups[0]] = (0, grid.stride(members))
        return self.settle(block, Place(self.title, self.row, column, steps, groups), role)

    def settle(self, block: Block, place: Place, role: str) -> Place:
        """Notes a block's place, and returns it; it has only one."""
        if block in self.layout.places:
            raise NotationError(
                f"{block.name} stands on {self.layout.places[block].sheet} and again on {place.sheet}: "
                "use link(…) for the second"
            )
        self.layout.places[block], self.layout.roles[block] = place, role
        return place
