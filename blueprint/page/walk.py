"""The walk: the lines of the chosen column, each with symbol, value, equation, and the equation with its numbers."""

from __future__ import annotations

from functools import partial

from blueprint.language import Axis
from blueprint.language.nodes import Expr, Lookup, Op, Reduce, Ref
from blueprint.language.refuse import OFF_WORD
from blueprint.language.spelling.text import reference, text
from blueprint.page import grid
from blueprint.page.dress import READS
from blueprint.page.layout import Jump, Label, Layout, Live
from blueprint.page.names import defined_name
from blueprint.page.picking import Picker, Value, shift
from blueprint.page.prints import Print
from blueprint.page.steps import Leaf, WalkLine, blocks_of, name, origin
from blueprint.page.told import SHOWN, Number, as_factor, as_limit, as_text, bracketed, pieces, plain
from blueprint.page.views import EQUATION, NUMBERS, VALUE, WHERE

TEXT, FACTOR = WHERE + 1, WHERE + 2
"""Columns that hold a number as print, without and with brackets."""
NEIGHBOURS = {-1: "the decision before", 1: "the next decision"}


def lay_walk(layout: Layout) -> None:
    """Spells the lines of the walk, and what a spread shows, now that every place is known."""
    if layout.blueprint.chosen is None:
        return
    teller = Teller(layout, layout.blueprint.chosen)
    teller.finder()
    for line in layout.walk.lines:
        teller.line(line)
    for block in layout.spread:
        teller.spread(block)


class Teller(Picker):
    """Tells the chosen column line by line."""

    def line(self, line: WalkLine) -> None:
        """Spells one line: symbol, meaning, value, equation, equation with numbers, link, and the number as print."""
        leaf, value = line.leaf, self.value(line.leaf)
        put, label = partial(Live, line.sheet.title, line.row), partial(Label, line.sheet.title, line.row)
        cell, printed = (f"{grid.letters(column)}{line.row + 1}" for column in (VALUE, TEXT))
        limit, tiny, decimals = is_limit(leaf), is_tiny(leaf), defined_name(self.choice.decimals)
        is_word = isinstance(value, str) and not limit
        spelled = as_text(cell, is_word, decimals, tiny)
        self.layout.labels += [label(grid.SYMBOL, self.symbol(leaf), "symbol"), label(grid.NAME, meaning(leaf), "name")]
        self.layout.jumps.append(Jump(line.sheet.title, line.row, WHERE, blocks_of(leaf)[-1], "{sheet}, row {row}"))
        self.layout.lives += [
            put(VALUE, self.formula(leaf), value, style_of(leaf, is_word, line.expr is not None)),
            put(TEXT, as_limit(cell, spelled) if limit else spelled, self.printed(leaf, factor=False), "as print"),
        ]
        if not is_word:
            factor = as_factor(cell, printed, decimals)
            factor = as_limit(cell, factor) if limit else factor
            self.layout.lives.append(put(FACTOR, factor, self.printed(leaf, factor=True), "as print"))
        if line.expr is not None:
            self.layout.labels.append(label(EQUATION, f"= {text(line.expr, self.understood)}", "walk equation"))
            self.layout.lives.append(put(NUMBERS, *self.told(line.expr), "walk numbers"))

    def symbol(self, leaf: Leaf) -> str:
        """Prints what a line holds."""
        if isinstance(leaf, Reduce):
            return text(leaf, self.understood)
        return reference(leaf.block, leaf.at, self.understood)

    def told(self, expr: Expr) -> tuple[str, Value]:
        """Spells an equation's right side with the numbers put in: the formula, and the text that it gives."""
        formula, shown = self.joined("= ", *pieces(expr))
        return f"={formula}", Print(shown)

    def joined(self, *parts: str | Number) -> tuple[str, str]:
        """Joins pieces, as formula and as text."""
        spelled = [self.part(part) for part in parts]
        return "&".join(formula for formula, _ in spelled), "".join(shown for _, shown in spelled)

    def part(self, part: str | Number) -> tuple[str, str]:
        """Spells one piece, as formula and as text: print stays as it is, a number is the cell that holds it as print."""
        match part:
            case str():
                return '"' + part.replace('"', '""') + '"', part
            case Number(Op("where", (Op(_, (Ref() as limit,)), *branches)), False):
                (off, shown_off), (on, shown_on) = (self.joined(*pieces(branch)) for branch in branches)
                is_off = self.value(origin(limit)) == OFF_WORD
                cell = f"{grid.letters(VALUE)}{self.layout.walk.rows[name(origin(limit))] + 1}"
                return f'IF({cell}="off",{off},{on})', shown_off if is_off else shown_on
            case Number(Op(_, (Ref(block), *rows)), factor):
                spelled = [self.part(Number(origin(row), factor)) for row in rows if isinstance(row, Ref)]
                chosen = int(float(self.values.cell(block)))
                return f"CHOOSE({defined_name(block)}+1,{','.join(f for f, _ in spelled)})", spelled[chosen][1]
            case Number(Ref() | Reduce() as leaf, factor):
                column = FACTOR if factor and (is_limit(leaf) or not isinstance(self.value(leaf), str)) else TEXT
                return f"{grid.letters(column)}{self.layout.walk.rows[name(leaf)] + 1}", self.printed(leaf, factor)
        raise AssertionError(f"{part} is neither print nor number")

    def printed(self, leaf: Leaf, factor: bool) -> str:
        """Prints the number of a line as its cell does."""
        decimals = int(float(self.values.cell(self.choice.decimals)))
        value = self.value(leaf)
        if is_limit(leaf) and isinstance(value, str):
            return Print(value)
        printed = (bracketed if factor else plain)(value, decimals, is_tiny(leaf))
        return printed if isinstance(value, str) else Print(printed)

    @property
    def understood(self) -> frozenset[Axis]:
        """The letters that equations leave out."""
        return frozenset(self.choice.across)


def meaning(leaf: Leaf) -> str:
    """Says what a line holds."""
    if isinstance(leaf, Reduce):
        return "sum over the whole batch"
    if by := shift(leaf):
        return f"{NEIGHBOURS[by]}: {leaf.block.symbol}"
    if any(isinstance(index, Lookup) for index in leaf.at):
        return f"{leaf.block.symbol} of the word written"
    return leaf.block.about.meaning


def is_limit(leaf: Leaf) -> bool:
    """Tells whether a line may hold the word off instead of a number."""
    return isinstance(leaf, Ref) and leaf.block.limit


def is_tiny(leaf: Leaf) -> bool:
    """Tells whether a quantity is so small that it is shown as a power of ten."""
    return max(block.about.decimals for block in blocks_of(leaf)) > SHOWN


def style_of(leaf: Leaf, is_word: bool, derived: bool) -> str:
    """Returns the dress of a value: whole numbers as such, others with the decimals by which one checks them."""
    finest = max(block.about.decimals for block in blocks_of(leaf))
    decimals = "word" if is_word else str(finest if finest == 0 or finest > SHOWN else SHOWN)
    reads = "" if isinstance(leaf, Reduce) else leaf.block.about.reads
    return f"live {decimals}" + " key" * derived + (READS + reads if reads else "")
