"""The walk: the lines of the chosen column, each with symbol, value, equation, and the equation with its numbers."""

from collections.abc import Iterator

from blueprint.language import OFF_WORD, Ended, Expr, Op, Reduce, Ref, reference, text
from blueprint.page import byhand, digits, grid, line_text, names, outline, picking, told
from blueprint.page.layout import Layout
from blueprint.page.steps import (
    DIGITS,
    EQUATION,
    MEMBERS,
    NUMBERS,
    UNITS,
    WHERE,
    Leaf,
    WalkLine,
    WalkList,
    blocks_of,
    name,
    origin,
)
from blueprint.page.unused import fold_unused

ROUGHLY = "≈ "
"""What stands before numbers of which fifteen digits are too few: all that is left of two large numbers, or nearly a tie."""
ONE_LINE, SHORTER = 50, 0.85
"""Letters of an equation that stand on one line, and how much narrower its column is than that of the numbers."""


def lay_walk(layout: Layout) -> None:
    """Spells the lines of the walk, and what a spread shows, now that every place is known."""
    choice, finder = layout.blueprint.chosen, layout.finder
    if choice is None or finder is None:
        return
    fold_unused(layout, finder[0])
    writer = WalkWriter(layout, choice, finder)
    byhand.lay_constants(writer.pen, finder[1], choice.across, writer.place(), writer.dec, writer.least)
    for line in layout.walk:
        if isinstance(line, WalkLine):
            writer.line(line)
        else:
            writer.listed(line)
    for row, each in layout.told:
        told.write(row, each, writer)
    for block in layout.spread:
        writer.spread(block)


class WalkWriter(picking.Picker):
    """Writes the chosen column line by line, and puts numbers into its equations."""

    def __init__(self, layout: Layout, choice: outline.Choice, finder: tuple[str, int]):
        super().__init__(layout, choice, finder)
        self.operands: dict[Leaf, digits.Operand] = {}

    def numbers(self, line: WalkLine, expr: Expr) -> None:
        """Spells an equation's right side with the numbers put in, as many decimals as it takes."""
        row, fewest, free = line.row, self.tried(line, expr), iter(range(MEMBERS + len(line.members), grid.LAST_COLUMN))
        decimals = fewest if isinstance(fewest, Ended) else self.least + byhand.LEVELS[fewest]
        joined = self.joined(line_text.pieces(expr), line, decimals, free)
        sign = "" if isinstance(expr, Op) and expr.name == byhand.WITHIN else "= "
        if isinstance(fewest, Ended):
            printed = digits.no_number(fewest)
        else:
            printed = (ROUGHLY if byhand.LEVELS[fewest] == byhand.LEVELS[-1] else sign) + joined[1]
        formula = f'=IF({grid.address(row, DIGITS)}<{self.levels[-1]},"{sign}","{ROUGHLY}")&{joined[0]}'
        if picking.shift(line.leaf) > 0:  # it is of the next member; there is none after the last one
            column, last = next(free), names.defined_name(self.choice.numbers[-1].name)
            self.pen.live(row, column, formula, digits.Print(printed), "as print")
            formula = f'=IF({last}={self.constants[byhand.LAST]},"",{grid.address(row, column)})'
            printed = "" if self.at[self.time] + 1 == self.values.size(self.time) else printed
        self.pen.live(row, NUMBERS, formula, digits.Print(printed), "walk numbers")
        self.layout.tall[row] = NUMBERS, printed

    def tried(self, line: WalkLine, expr: Expr) -> int | Ended:
        """Spells what comes out with more and more decimals, and the fewest that are enough; returns which these are.

        Of what is no number none are enough: it is returned.
        """
        row, fewest, value = line.row, len(byhand.LEVELS) - 2, self.value(line.leaf)
        formula = f"={self.levels[fewest]}"
        # A limit may be the word off, with which nothing can be calculated; a blank's number is left to the reader.
        if not (line_text.is_limit(line.leaf) or self.is_blank(line.leaf)):
            operand, shown = self.operand(line.leaf), line_text.decimals(line.leaf)
            cells = byhand.trials(operand, shown, expr, self.found, self.constants, self.tried_levels())
            formula, fewest = self.enough(row, cells)
        ended = value if isinstance(value, Ended) else None
        self.pen.live(row, DIGITS, formula, ended or float(self.least + byhand.LEVELS[fewest]), "as print")
        return ended or fewest

    def is_blank(self, leaf: Leaf) -> bool:
        """Says whether cells of the quantity are left to the reader."""
        return any(blank.block in {*blocks_of(leaf)} for blank in self.layout.blueprint.blanks)

    def joined(
        self, parts: list[str | line_text.Number], line: WalkLine, decimals: int | Ended, free: Iterator[int]
    ) -> tuple[str, str]:
        """Joins pieces, as formula and as text."""
        spelled = [self.part(part, line, decimals, free) for part in parts]
        return "&".join(formula for formula, _ in spelled), "".join(shown for _, shown in spelled)

    def part(
        self, part: str | line_text.Number, line: WalkLine, decimals: int | Ended, free: Iterator[int]
    ) -> tuple[str, str]:
        """Spells one piece, as formula and as text: print stays as it is, a number is printed in the next free cell."""
        match part:
            case str():
                return '"' + part.replace('"', '""') + '"', part
            case line_text.Number(Op("where", (Op(_, (Ref() as limit,)), *branches)), factor):
                off, on = (self.joined(line_text.pieces(branch), line, decimals, free) for branch in branches)
                least = self.operand(limit)
                formula = f'IF({least.cell}="off",{off[0]},{on[0]})'
                return line_text.bracketed(factor, formula, off[1] if least.value == OFF_WORD else on[1])
            case line_text.Number(Op(_, (Ref(block), *rows)), factor):
                spelled = [self.branch(row, factor, line, decimals, free) for row in rows]
                number, (_, chosen) = names.defined_name(block.name), spelled[int(float(self.values.cell(block)))]
                return f"CHOOSE({number}+1,{','.join(formula for formula, _ in spelled)})", chosen
        operand = self.found(part.shown)
        assert operand is not None
        printed, longest = operand.printed(decimals, part.factor), self.constants["longest"]
        may_be_off = isinstance(part.shown, Ref) and line_text.is_limit(part.shown)
        if operand.whole and not may_be_off:
            return operand.cell, printed
        formula, column = operand.printed_formula(grid.address(line.row, DIGITS), longest, part.factor), next(free)
        if may_be_off:  # or have decimals
            formula = digits.joined(formula, self.constants["clean"], longest) + '&""'
        self.pen.live(line.row, column, f"={formula}", digits.Print(printed), "as print")
        return grid.address(line.row, column), printed

    def branch(
        self, row: Expr, factor: bool, line: WalkLine, decimals: int | Ended, free: Iterator[int]
    ) -> tuple[str, str]:
        """Spells one of those among which is chosen: a number, or what is calculated."""
        if isinstance(row, Ref):
            return self.part(line_text.Number(row, factor), line, decimals, free)
        return line_text.bracketed(factor, *self.joined(line_text.pieces(row), line, decimals, free))

    def found(self, expr: Expr) -> digits.Operand | None:
        """Returns the operand that stands for a number of an equation; none for an operation."""
        if isinstance(expr, Ref) and name(origin(expr)) not in self.layout.numbered:
            return digits.Operand(self.values.cell(expr.block), names.defined_name(expr.block.name), whole=True)
        return self.operand(expr) if isinstance(expr, Ref | Reduce) else None

    def operand(self, leaf: Leaf) -> digits.Operand:
        """Returns a number that has a cell on the walk, as it is put into an equation; it is made once."""
        if leaf not in self.operands:
            self.operands[leaf] = self._operand(leaf)
        return self.operands[leaf]

    def _operand(self, leaf: Leaf) -> digits.Operand:
        leaf = origin(leaf) if isinstance(leaf, Ref) else leaf
        row, column = self.layout.numbered[name(leaf)]
        value, is_word = self.value(leaf), isinstance(self.value(leaf), str)
        whole = line_text.is_whole(leaf) and (line_text.is_limit(leaf) or not is_word)
        unit = grid.address(row, UNITS[column]) if column in UNITS and not (whole or is_word) else ""
        return digits.Operand(value, grid.address(row, column), unit, whole)

    def line(self, line: WalkLine) -> None:
        """Spells one line: symbol, meaning, value, equation, equation with numbers, link."""
        pen, row, leaf, value = self.pen, line.row, line.leaf, self.value(line.leaf)
        letters = frozenset(self.choice.across)
        symbol = text(leaf, letters) if isinstance(leaf, Reduce) else reference(leaf.block, leaf.at, letters)
        where, called = blocks_of(leaf)[-1], line_text.meaning(leaf, self.layout.blueprint.whole)
        style = line_text.style_of(leaf, isinstance(value, str) and not line_text.is_limit(leaf), line.expr is not None)
        if line.column == NUMBERS:  # its name is the link
            pen.link(row, EQUATION, where, f"{symbol}   {called}", "walk beside")
            style = style.replace("live", "beside")
        else:
            pen.name(row, symbol, called)
            pen.link(row, WHERE, where)
        pen.live(row, line.column, self.formula(leaf), value, style)
        if not (isinstance(value, str) or line_text.is_whole(leaf)):
            unit = digits.unit_formula(grid.address(row, line.column), self.constants)
            pen.live(row, UNITS[line.column], unit, digits.unit_of(value), "as print")
        self.members(line)
        if line.expr is not None and line.written is not None:
            equation = f"= {text(line.expr, letters)}"
            pen.label(row, EQUATION, equation, "walk equation" if len(equation) <= ONE_LINE else "walk long equation")
            self.numbers(line, line.written)
            if ONE_LINE < len(equation) > SHORTER * len(self.layout.tall[row][1]):
                self.layout.tall[row] = EQUATION, equation

    def listed(self, line: WalkList) -> None:
        """Spells a line that lists a quantity's members."""
        pen, row, block = self.pen, line.row, line.whole.block
        symbol = reference(block, line.whole.at, frozenset({*self.choice.across, line.axis}))
        beside = f"{line_text.neighbour(line.whole)}: {symbol.partition('[')[0]}" if picking.shift(line.whole) else ""
        pen.name(row, symbol, beside or line.says or block.about.meaning)
        pen.link(row, WHERE, block)
        self.members(line)
        printed, cells, dec = list[str](), list[str](), self.dec
        decimals: int | Ended = self.least
        if line.adds:
            dec = grid.address(row, DIGITS)
            decimals = self.enough_for_sum(row, [*map(self.value, line.members)], MEMBERS, None)
        for number, leaf in enumerate(line.members):
            (called, word), operand = self.member_name(line.axis, number), self.operand(leaf)
            printed.append(f"{word} {operand.printed(decimals)}")
            column = MEMBERS + len(line.members) + number
            cells.append(grid.address(row, column))
            spelled = operand.printed_formula(dec, self.constants["longest"])
            pen.live(row, column, f'={called}&" "&{spelled}', digits.Print(printed[-1]), "as print")
        pen.live(row, EQUATION, "=" + '&", "&'.join(cells), digits.Print(", ".join(printed)), "walk list")

    def members(self, line: WalkLine | WalkList) -> None:
        """Spells the numbers that stand right of a line, because they have none of their own."""
        for column, ref in enumerate(line.members, MEMBERS):
            self.pen.live(line.row, column, self.formula(ref), self.value(ref), f"live {ref.block.about.decimals}")
