"""Placing: walks through an outline from top to bottom and gives every item its rows."""

from __future__ import annotations

from blueprint.language import Axis, Block, NotationError, Values
from blueprint.language.axes import Edge
from blueprint.language.nodes import Ref, walk
from blueprint.language.spelling.text import equation
from blueprint.page import grid
from blueprint.page.contents import lay_contents
from blueprint.page.layout import Echo, Jump, Label, Layout
from blueprint.page.outline import Blueprint, Item, Line, Note, Piece, Row, Section, Sheet, Table
from blueprint.page.place import Place, extent_of
from blueprint.page.refuse import refuse_unfit
from blueprint.page.wide import with_wide_weights


def lay_out(blueprint: Blueprint, values: Values) -> Layout:
    """Places every block of the outline; raises NotationError, before anything is written, where a page has no room."""
    blueprint = with_wide_weights(blueprint, values)
    refuse_unfit(blueprint, values)
    layout = Layout(blueprint, values)
    for sheet in blueprint.sheets:
        SheetPlacer(sheet, layout).place()
    lay_contents(layout)
    return layout


class SheetPlacer:
    """Places one sheet; `row` is the next free row."""

    def __init__(self, sheet: Sheet, layout: Layout):
        self.sheet = sheet
        self.layout = layout
        self.values = layout.values
        self.row = grid.NUMBER_ROW if not sheet.across else grid.NUMBER_ROW + 1

    def place(self) -> None:
        """Gives every item of the sheet its place."""
        self.label(grid.TITLE_ROW, grid.SYMBOL, self.sheet.title, "title")
        self.label(grid.LEAD_ROW, grid.SYMBOL, self.sheet.lead, "lead")
        for block in self.sheet.head:
            self.label(self.row, grid.NAME, block.about.meaning, "head name")
            self.equation(block, "equation")
            self.put(block, "head")
            self.row += 1
        self.layout.body[self.sheet.title] = self.row
        for section in self.sheet.sections:
            self.row += 1
            self.section(section)
        self.layout.end[self.sheet.title] = self.row

    def label(self, row: int, column: int, text: str, style: str) -> None:
        """Puts a fixed text into a cell."""
        if text:
            self.layout.labels.append(Label(self.sheet.title, row, column, text, style))

    def section(self, section: Section) -> None:
        """Places a heading and what stands under it; a block with weights has its equation in the heading's row."""
        self.label(self.row, grid.SYMBOL, section.title, "section")
        for number, heading in enumerate(section.columns):
            self.label(self.row, grid.LEFT + number, heading, "section column")
        for item in section.items:
            if isinstance(item, Row) and item.beside is not None:
                self.equation(item.block, "section equation")
        self.row += 1
        for item in section.items:
            self.item(item)

    def item(self, item: Item) -> None:
        """Places one item at the next free row."""
        match item:
            case Note(text):
                self.label(self.row, grid.SYMBOL, text, "note")
                self.row += 1
            case Line(blocks, role):
                self.line(blocks, role)
            case Piece():
                self.piece(item)
            case Table(block, across, role):
                self.table(block, across, role)
            case Block():
                self.rows(item, "", None)
            case Row(block, role, beside):
                self.rows(block, role, beside)

    def line(self, blocks: tuple[Block, ...], role: str) -> None:
        """Places single numbers (and lists) side by side; those for which nothing may be chosen look fixed."""
        known = self.layout.blueprint
        self.caption(blocks[0])
        column = grid.LEFT
        for block in blocks:
            may_change = block in known.ranges or block in known.choices
            place = Place(self.sheet.title, self.row, column, dict.fromkeys(block.axes, (0, 1)))
            self.settle(block, place, role or ("line" if may_change else "fixed"))
            column += extent_of(block, block.axes[0], self.values) if block.axes else 1
        self.row += 1

    def piece(self, piece: Piece) -> None:
        """Places a named number that is shown again, its link and its meaning."""
        sheet, about = self.sheet.title, piece.about.about
        style = "piece" if piece.shown.about.decimals else "piece count"
        self.label(self.row, grid.SYMBOL, piece.shown.symbol, "symbol")
        self.label(self.row, grid.NAME, piece.title, "name")
        self.layout.echoes.append(Echo(sheet, self.row, grid.LEFT, piece.shown, (), style))
        self.layout.jumps.append(Jump(sheet, self.row, grid.LEFT + 1, piece.about, "{sheet}, row {row}"))
        self.label(self.row, grid.LEFT + 5, about.meaning, "note")
        self.row += 1

    def table(self, block: Block, across: Axis | None, role: str) -> None:
        """Places a table in the left area: a caption with headings, then a row per member of the other axis."""
        down = next(axis for axis in block.axes if axis is not across)
        self.caption(block)
        self.headings(block, across)
        self.row += 1
        for member in range(self.values.size(down)):
            self.member(down, member, self.row + member, grid.SYMBOL, "symbol")
        self.put_table(block, down, across, role or "weights")
        self.row += self.values.size(down)

    def rows(self, block: Block, role: str, beside: Block | None) -> None:
        """Places a block on the sheet's columns, and the weights that multiply it to its left."""
        down = next((axis for axis in block.axes if axis not in self.sheet.across), None)
        self.caption(block)
        if beside is None:
            self.equation(block, "equation")
        else:
            self.headings(beside, beside.axes[1] if len(beside.axes) > 1 else None)
        if down is None:
            if beside is not None:
                raise NotationError(f"{beside.name} stands beside {block.name}, which has a single row: make it a Line")
            self.put(block, role)
            self.row += 1
            return
        self.row += 1 + self.values.before(block, down)
        if self.values.before(block, down):
            self.label(self.row - 1, grid.NAME, f"before the first {down.meaning}", "note")
        if beside is not None:
            self.put_table(beside, beside.axes[0], beside.axes[1] if len(beside.axes) > 1 else None, "weights")
        self.put(block, role)
        for member in range(self.values.size(down)):
            self.row_name(block, down, member)
            self.row += 1
        self.row += int((down, 1) in block.edges)

    def caption(self, block: Block) -> None:
        """Names a block."""
        self.label(self.row, grid.SYMBOL, block.symbol, "symbol")
        self.label(self.row, grid.NAME, block.about.meaning, "name")

    def headings(self, block: Block, across: Axis | None) -> None:
        """Names the columns of a table."""
        if across is None:
            self.label(self.row, grid.LEFT, block.symbol, "column heading")
            return
        for member in range(self.values.size(across)):
            self.member(across, member, self.row, grid.LEFT + member, "column heading")
        if not block.typed:
            self.label(self.row, grid.LEFT + self.values.size(across), f"  {self.equation_text(block)}", "equation")

    def row_name(self, block: Block, down: Axis, member: int) -> None:
        """Names one row of a block: its symbol with the number, and the word where members are words."""
        if down.parts:
            self.member(down, member, self.row, grid.SYMBOL, "symbol")
            part, number = self.part(down, member)
            self.label(self.row, grid.NAME, part.meaning if number == 0 else "", "name")
            return
        self.label(self.row, grid.SYMBOL, f"{block.symbol}{member + down.start}", "symbol")
        if isinstance(self.layout.blueprint.names.get(down), Block):
            self.member(down, member, self.row, grid.NAME, "name")

    def member(self, axis: Axis, member: int, row: int, column: int, style: str) -> None:
        """Names one member of an axis: by its word (which follows the vocabulary), or by a letter and its number."""
        part, number = self.part(axis, member)
        known = self.layout.blueprint.names.get(part, part.letter)
        if isinstance(known, Block) and column != grid.SYMBOL:
            self.layout.echoes.append(Echo(self.sheet.title, row, column, known, (number,), style))
        elif isinstance(known, Block):
            self.label(row, column, str(number + part.start), style)
        else:
            self.label(row, column, known if part.size == 1 else known.format(number + part.start), style)

    def part(self, axis: Axis, member: int) -> tuple[Axis, int]:
        """Returns the part of a joined axis in which a member lies, and its number there."""
        for part in axis.parts:
            if member < self.values.size(part):
                return part, member
            member -= self.values.size(part)
        return axis, member

    def equation_text(self, block: Block) -> str:
        """Returns a block's equations without those of its edges, in one line."""
        inner = [d for d in block.definitions if not any(isinstance(index, Edge) for index in d.target)]
        understood = frozenset(self.sheet.across)
        return ";   ".join(equation(block, definition, understood) for definition in inner)

    def equation(self, block: Block, style: str) -> None:
        """Prints a block's equation at the left of the free columns; a repeated block says where it comes from."""
        if block.link:
            origin = next(node.block for node in walk(block.definitions[-1].expr) if isinstance(node, Ref))
            self.layout.jumps.append(Jump(self.sheet.title, self.row, grid.LEFT, origin, "from {sheet}, row {row}"))
        else:
            self.label(self.row, grid.LEFT, self.equation_text(block), style)

    def put_table(self, block: Block, down: Axis, across: Axis | None, role: str) -> None:
        """Places a block of weights or words in the left area."""
        steps = {down: (1, 0)} | ({across: (0, 1)} if across is not None else {})
        self.settle(block, Place(self.sheet.title, self.row, grid.LEFT, steps), role)

    def put(self, block: Block, role: str) -> None:
        """Places a block on the columns of the decisions, in the Σ columns, or, without axes, in the batch column."""
        steps = dict.fromkeys(block.axes, (1, 0))
        column = grid.BATCH
        groups = self.sheet.across[:-1]
        if self.sheet.across:
            time = self.sheet.across[-1]
            group = self.sheet.across[0] if groups else None
            members = self.values.size(time)
            if time in steps:
                column, steps[time] = grid.start_column(0, members) + 1, (0, 1)
            elif group is not None and group in steps:
                column = grid.sum_column(0, members)
            if group is not None and group in steps:
                steps[group] = (0, grid.stride(members))
        self.settle(block, Place(self.sheet.title, self.row, column, steps, groups), role)

    def settle(self, block: Block, place: Place, role: str) -> None:
        """Notes a block's place; it has only one."""
        if block in self.layout.places:
            first = self.layout.places[block].sheet
            raise NotationError(
                f"{block.name} stands on {first} and again on {place.sheet}: use link(…) for the second"
            )
        self.layout.places[block] = place
        self.layout.roles[block] = role
