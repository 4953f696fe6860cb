"""The walk: what the chosen column holds, line by line, in formulas that follow the choice.

A row of the page runs over all episodes, so one number says where the chosen column is in it, in every row of every
sheet: `INDEX(row, chosen_place)`. The next decision is one place further.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from blueprint.language import Block, NotationError, Values
from blueprint.language.axes import Position
from blueprint.language.nodes import Expr, Lookup, Op, Reduce, Ref
from blueprint.language.spelling.text import reference, text
from blueprint.page import grid
from blueprint.page.layout import Copied, Jump, Label, Layout, Live
from blueprint.page.names import defined_name
from blueprint.page.outline import Choice
from blueprint.page.steps import Leaf, Told, blocks_of, name, origin
from blueprint.page.told import DECIMALS, Number, as_factor, as_text, bracketed, pieces, plain
from blueprint.page.views import EQUATION, NUMBERS, VALUE, WHERE

PLACE = "chosen_place"
TEXT, FACTOR = WHERE + 1, WHERE + 2
"""Columns that hold a number as print, without and with brackets."""

Value = float | str


def lay_walk(layout: Layout) -> None:
    """Spells the lines of the walk, and what a spread shows, now that every place is known."""
    choice = layout.blueprint.chosen
    if choice is None:
        return
    teller = Teller(layout, choice)
    teller.finder()
    for line in layout.walk.lines:
        teller.line(line)
    for block in layout.spread:
        teller.spread(block)


class Teller:
    """Spells formulas that read the chosen column; their first values are those of the column chosen by the numbers."""

    def __init__(self, layout: Layout, choice: Choice):
        self.layout, self.values, self.choice = layout, layout.values, choice
        self.at = {
            axis: int(float(self.values.cell(number))) - axis.start
            for axis, number in zip(choice.across, choice.numbers, strict=True)
        }

    def finder(self) -> None:
        """Spells the one number that says where the chosen column is."""
        if self.layout.finder is None:
            return
        sheet, row = self.layout.finder
        members = self.values.size(self.choice.across[-1])
        numbers = [defined_name(block) for block in self.choice.numbers]
        wide = f"{grid.letters(VALUE)}{row + 1}"
        formula = f"={numbers[-1]}+1" if len(numbers) < 2 else f"=({numbers[0]}-1)*{wide}+{numbers[1]}+1"
        episodes_before = self.at[self.choice.across[0]] if len(numbers) > 1 else 0
        place = episodes_before * grid.stride(members) + self.at[self.choice.across[-1]] + 2
        self.layout.copies.append(Copied(sheet, row, VALUE, float(grid.stride(members)), "live 0"))
        self.layout.lives.append(Live(sheet, row + 1, VALUE, formula, float(place), "live 0"))

    def line(self, line: Told) -> None:
        """Spells one line: symbol, meaning, value, equation, equation with numbers, link, and the number as print."""
        sheet, row, block = line.sheet.title, line.row, blocks_of(line.leaf)[0]
        value = self.value(line.leaf)
        is_word = isinstance(value, str)
        put, label = partial(Live, sheet, row), partial(Label, sheet, row)
        shown = self.symbol(line.leaf)
        style = "live word" if is_word else f"live {self.decimals(line.leaf)}"
        cell, printed = (f"{grid.letters(column)}{row + 1}" for column in (VALUE, TEXT))
        strong = " key" * (line.expr is not None)
        self.layout.labels += [label(grid.SYMBOL, shown, "symbol"), label(grid.NAME, self.meaning(line.leaf), "name")]
        self.layout.lives.append(put(VALUE, self.formula(line.leaf), value, style + strong))
        self.layout.jumps.append(Jump(sheet, row, WHERE, block, "{sheet}, row {row}"))
        self.layout.lives.append(
            put(
                TEXT, as_text(cell, value, self.decimals(line.leaf)), plain(value, self.decimals(line.leaf)), "as print"
            )
        )
        if not is_word:
            self.layout.lives.append(
                put(FACTOR, as_factor(cell, printed), bracketed(value, self.decimals(line.leaf)), "as print")
            )
        if line.expr is not None:
            self.layout.labels.append(label(EQUATION, f"= {text(line.expr, self.understood)}", "walk equation"))
            formula, told = self.told(line.expr)
            self.layout.lives.append(put(NUMBERS, formula, told, "walk numbers"))

    @property
    def understood(self) -> frozenset:  # type: ignore[type-arg]
        """The letters that equations leave out."""
        return frozenset(self.choice.across)

    def symbol(self, leaf: Leaf) -> str:
        """Prints what a line holds."""
        if isinstance(leaf, Reduce):
            return text(leaf, self.understood)
        return reference(leaf.block, leaf.at, self.understood)

    def meaning(self, leaf: Leaf) -> str:
        """Says what a line holds."""
        if isinstance(leaf, Reduce):
            return "sum over the whole batch"
        meaning = leaf.block.about.meaning
        if any(isinstance(index, Lookup) for index in leaf.at):
            return f"{meaning} written"
        by = next((index.by for index in leaf.at if isinstance(index, Position) and index.by), 0)
        return {
            -1: f"the decision before: {leaf.block.symbol}",
            0: meaning,
            1: f"the next decision: {leaf.block.symbol}",
        }[by]

    def decimals(self, leaf: Leaf) -> int:
        """Returns how many decimals a line shows: those that its printed number has, more only where it is tiny."""
        finest = max(block.about.decimals for block in blocks_of(leaf))
        return finest if finest == 0 or finest > DECIMALS else DECIMALS

    def told(self, expr: Expr) -> tuple[str, str]:
        """Spells an equation's right side with the numbers put in: the formula and the text that it gives."""
        parts = [("= ", "= ") if part == "= " else self.part(part) for part in ["= ", *pieces(expr)]]
        spelled = ['"' + s.replace('"', '""') + '"' if s == t else s for s, t in parts]
        return "=" + "&".join(spelled), "".join(t for _, t in parts)

    def part(self, part: str | Number) -> tuple[str, str]:
        """Spells one piece: print stays as it is, a number is the cell that holds it as print."""
        if isinstance(part, str):
            return part, part
        shown = part.shown
        if isinstance(shown, Op):
            number, *rows = shown.args
            assert isinstance(number, Ref)
            spelled = [self.part(Number(origin(row), part.factor)) for row in rows if isinstance(row, Ref)]
            chosen = int(float(self.values.cell(number.block)))
            return f"CHOOSE({defined_name(number.block)}+1,{','.join(s for s, _ in spelled)})", spelled[chosen][1]
        assert isinstance(shown, Ref | Reduce)
        column = FACTOR if part.factor and not isinstance(self.value(shown), str) else TEXT
        row = self.layout.walk.rows[name(shown)]
        value = self.value(shown)
        printed = bracketed if part.factor else plain
        return f"{grid.letters(column)}{row + 1}", printed(value, self.decimals(shown))

    def spread(self, block: Block) -> None:
        """Spells the cells of a block that has one number per word, in the chosen column."""
        sheet, top, last, column = self.layout.spread[block]
        for member in range(last - top + 1):
            row = self.layout.places[block].row + member
            formula = f"=INDEX({self.rows(block, row, row)},{PLACE})"
            places = tuple(self.at.get(axis, member) for axis in block.axes)
            value = self.values.cell(block, *places)
            self.layout.lives.append(Live(sheet, top + member, column, formula, value, f"live {block.about.decimals}"))

    def value(self, leaf: Leaf) -> Value:
        """Returns the number that a line holds."""
        if isinstance(leaf, Reduce):
            factors = [self.values[block] for block in blocks_of(leaf)]
            return float(np.sum(np.prod(factors, axis=0)))
        return self.values.cell(leaf.block, *self.places(leaf))

    def places(self, ref: Ref) -> tuple[int, ...]:
        """Returns the places of a cell in the chosen column, or beside it."""
        found = []
        for index in ref.at:
            match index:
                case Position(axis, by):
                    found.append(self.at[axis] + by)
                case Lookup(_, Ref() as id):
                    found.append(int(float(self.values.cell(id.block, *self.places(id)))))
                case _:
                    raise NotationError(f"{ref} is no cell of one column")
        return tuple(found)

    def formula(self, leaf: Leaf) -> str:
        """Spells the formula that brings a number here."""
        if isinstance(leaf, Reduce):
            ranges = [self.rows(block, self.layout.places[block].row) for block in blocks_of(leaf)]
            return f"={'SUMPRODUCT' if len(ranges) > 1 else 'SUM'}({','.join(ranges)})"
        if not leaf.at:
            return f"={defined_name(leaf.block)}"
        by = next((index.by for index in leaf.at if isinstance(index, Position) and index.by), 0)
        place = f"{PLACE}{by:+}" if by else PLACE
        top = self.layout.places[leaf.block].row
        if isinstance(leaf.at[-1], Lookup) and isinstance(leaf.at[-1].id, Ref):
            last = top + self.values.size(leaf.block.axes[-1]) - 1
            word = f"{grid.letters(VALUE)}{self.layout.walk.rows[name(origin(leaf.at[-1].id))] + 1}"
            return f"=INDEX({self.rows(leaf.block, top, last)},{word}+1,{place})"
        return f"=INDEX({self.rows(leaf.block, top)},{place})"

    def rows(self, block: Block, top: int, last: int | None = None) -> str:
        """Returns the range of rows from the first start column to the last end column."""
        return row_range(self.layout.places[block].sheet, top, top if last is None else last, self.values, self.choice)


def row_range(sheet: str, top: int, last: int, values: Values, choice: Choice) -> str:
    """Returns the range of whole rows of a sheet, from the first group's start column to the last one's end column."""
    members = values.size(choice.across[-1])
    groups = values.size(choice.across[0]) if len(choice.across) > 1 else 1
    right = grid.start_column(groups - 1, members) + members + 1
    left = grid.letters(grid.GROUPS)
    return f"{grid.quoted(sheet)}!${left}${top + 1}:${grid.letters(right)}${last + 1}"
