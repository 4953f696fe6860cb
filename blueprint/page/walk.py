"""The walk: the lines of the chosen column, each with symbol, value, equation, and the equation with its numbers."""

from blueprint.language import Reduce, reference, text
from blueprint.page import grid
from blueprint.page.constants import lay_constants
from blueprint.page.digits import Print, unit_formula, unit_of
from blueprint.page.layout import Layout, Pen
from blueprint.page.line_text import is_limit, is_whole, meaning, neighbour, style_of
from blueprint.page.picking import shift
from blueprint.page.steps import EQUATION, MEMBERS, UNITS, WHERE, WalkLine, WalkList, blocks_of
from blueprint.page.walk_numbers import NumbersPutIn


def lay_walk(layout: Layout) -> None:
    """Spells the lines of the walk, and what a spread shows, now that every place is known."""
    choice, finder = layout.blueprint.chosen, layout.finder
    if choice is None or finder is None:
        return
    teller = Teller(layout, choice, finder)
    lay_constants(layout, finder, choice.across, teller.place(), teller.dec, teller.least)
    for line in layout.walk:
        if isinstance(line, WalkLine):
            teller.line(line)
        else:
            teller.listed(line)
    for block in layout.spread:
        teller.spread(block)


class Teller(NumbersPutIn):
    """Tells the chosen column line by line."""

    def line(self, line: WalkLine) -> None:
        """Spells one line: symbol, meaning, value, equation, equation with numbers, link."""
        pen, row, leaf, value = Pen(line.sheet, self.layout), line.row, line.leaf, self.value(line.leaf)
        letters = frozenset(self.choice.across)
        symbol = text(leaf, letters) if isinstance(leaf, Reduce) else reference(leaf.block, leaf.at, letters)
        where, called = blocks_of(leaf)[-1], meaning(leaf, self.layout.blueprint.whole)
        style = style_of(leaf, isinstance(value, str) and not is_limit(leaf), line.expr is not None)
        if line.beside:  # its name is the link
            pen.link(row, EQUATION, where, f"{symbol}   {called}", "walk beside")
            style = style.replace("live", "beside")
        else:
            pen.name(row, symbol, called)
            pen.link(row, WHERE, where)
        pen.live(row, line.column, self.formula(leaf), value, style)
        if not (isinstance(value, str) or is_whole(leaf)):
            unit = unit_formula(grid.address(row, line.column), self.constants)
            pen.live(row, UNITS[line.column], unit, unit_of(value), "as print")
        self.members(line, pen)
        if line.expr is not None and line.written is not None:
            pen.label(row, EQUATION, f"= {text(line.expr, letters)}", "walk equation")
            self.numbers(line, line.written)

    def listed(self, line: WalkList) -> None:
        """Spells a line that lists a quantity's members."""
        pen, row, block = Pen(line.sheet, self.layout), line.row, line.whole.block
        symbol = reference(block, line.whole.at, frozenset({*self.choice.across, line.axis}))
        about = line.says or block.about.meaning
        pen.name(row, symbol, f"{neighbour(line.whole)}: {symbol.partition('[')[0]}" if shift(line.whole) else about)
        pen.link(row, WHERE, block)
        self.members(line, pen)
        printed, cells = list[str](), list[str]()
        for number, leaf in enumerate(line.members):
            (called, word), operand = self.member_name(line.axis, number), self.operand(leaf)
            printed.append(f"{word} {operand.printed(self.least)}")
            column = MEMBERS + len(line.members) + number
            cells.append(grid.address(row, column))
            pen.live(row, column, f'={called}&" "&{operand.printed_formula(self.dec)}', Print(printed[-1]), "as print")
        pen.live(row, EQUATION, "=" + '&", "&'.join(cells), Print(", ".join(printed)), "walk list")

    def members(self, line: WalkLine | WalkList, pen: Pen) -> None:
        """Spells the numbers that stand right of a line, because they have none of their own."""
        for column, ref in enumerate(line.members, MEMBERS):
            pen.live(line.row, column, self.formula(ref), self.value(ref), f"live {ref.block.about.decimals}")
