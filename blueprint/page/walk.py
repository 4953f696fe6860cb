"""The walk: the lines of the chosen column, each with symbol, value, equation, and the equation with its numbers."""

from __future__ import annotations

from functools import partial

from blueprint.language import Reduce, reference, text
from blueprint.page import grid
from blueprint.page.digits import Print, unit_formula, unit_of
from blueprint.page.layout import Jump, Label, Layout, Live
from blueprint.page.line_text import is_limit, is_whole, meaning, neighbour, style_of
from blueprint.page.picking import shift
from blueprint.page.steps import (
    EQUATION,
    OWN,
    UNITS,
    WHERE,
    Leaf,
    WalkLine,
    WalkList,
    blocks_of,
)
from blueprint.page.walk_numbers import NumbersPutIn, cell_at


def lay_walk(layout: Layout) -> None:
    """Spells the lines of the walk, and what a spread shows, now that every place is known."""
    if layout.blueprint.chosen is None:
        return
    teller = Teller(layout, layout.blueprint.chosen)
    teller.finder()
    teller.constants.lay(layout, teller.dec, teller.levels, teller.choice.across[-1], teller.last)
    for line in layout.walk.lines:
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
        leaf, value = line.leaf, self.value(line.leaf)
        put, label = partial(Live, line.sheet.title, line.row), partial(Label, line.sheet.title, line.row)
        is_word = isinstance(value, str) and not is_limit(leaf)
        self.named(line)
        style = style_of(leaf, is_word, line.expr is not None)
        style = style.replace("live", "beside") if line.beside else style
        self.layout.lives.append(put(line.column, self.formula(leaf), value, style))
        if not (isinstance(value, str) or is_whole(leaf)):
            unit = unit_formula(cell_at(line.row, line.column), self.constants.at), unit_of(float(value))
            self.layout.lives.append(put(UNITS[line.column], *unit, "as print"))
        self.own(line)
        if line.expr is not None and line.told is not None:
            self.layout.labels.append(label(EQUATION, f"= {text(line.expr, self.understood)}", "walk equation"))
            self.told(line, line.told)

    def named(self, line: WalkLine) -> None:
        """Names one line, with a link to where its number stands; the name of one that stands beside another is the link."""
        jump = partial(Jump, line.sheet.title, line.row)
        symbol, where = self.symbol(line.leaf), blocks_of(line.leaf)[-1]
        told = meaning(line.leaf, self.layout.blueprint.whole)
        if line.beside:
            self.layout.jumps.append(jump(EQUATION, where, f"{symbol}   {told}", "walk beside"))
            return
        label = partial(Label, line.sheet.title, line.row)
        self.layout.labels += [label(grid.SYMBOL, symbol, "symbol"), label(grid.NAME, told, "name")]
        self.layout.jumps.append(jump(WHERE, where, "{sheet}, row {row}"))

    def listed(self, line: WalkList) -> None:
        """Spells a line that lists a quantity's members."""
        put, label = partial(Live, line.sheet.title, line.row), partial(Label, line.sheet.title, line.row)
        symbol = reference(line.whole.block, line.whole.at, self.understood | {line.axis})
        about = line.says or line.whole.block.about.meaning
        told = f"{neighbour(line.whole)}: {symbol.partition('[')[0]}" if shift(line.whole) else about
        self.layout.labels += [label(grid.SYMBOL, symbol, "symbol"), label(grid.NAME, told, "name")]
        self.layout.jumps.append(Jump(line.sheet.title, line.row, WHERE, line.whole.block, "{sheet}, row {row}"))
        self.own(line)
        printed = []
        free = OWN + len(line.own)
        for number, leaf in enumerate(line.own):
            (called, text), operand = self.member_name(line.axis, number), self.operand(leaf)
            printed.append(f"{text} {operand.printed(self.least)}")
            member = put(
                free + number, f'={called}&" "&{operand.printed_formula(self.dec)}', Print(printed[-1]), "as print"
            )
            self.layout.lives.append(member)
        formula = '&", "&'.join(cell_at(line.row, free + number) for number in range(len(printed)))
        self.layout.lives.append(put(EQUATION, f"={formula}", Print(", ".join(printed)), "walk list"))

    def own(self, line: WalkLine | WalkList) -> None:
        """Spells the numbers that stand right of a line, because they have none of their own."""
        for number, ref in enumerate(line.own):
            live = self.formula(ref), self.value(ref), f"live {ref.block.about.decimals}"
            self.layout.lives.append(Live(line.sheet.title, line.row, OWN + number, *live))

    def symbol(self, leaf: Leaf) -> str:
        """Prints what a line holds."""
        if isinstance(leaf, Reduce):
            return text(leaf, self.understood)
        return reference(leaf.block, leaf.at, self.understood)
