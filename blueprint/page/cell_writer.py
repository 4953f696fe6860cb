"""Writes names, words and equations beside what is placed on one sheet of an outline."""

from blueprint.language import Axis, Block, Definition, Edge, Ref, Values, equation, walk
from blueprint.page import grid, outline
from blueprint.page.layout import Echo, Layout, Pen

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
        known = self.layout.blueprint.names.get(part, part.letter)
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
