"""The walk: the lines of the chosen column, each with symbol, value, equation, and the equation with its numbers.

Lines that are not in use, which only options read that are not chosen, or which are multiplied by a setting of 0, are folded,
heading and all where nothing is left below it, and a line at the head of the sheet counts them. Where a number stands does
not hang on what is in use: the formulas of two files differ in nothing but their settings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from typing import TypeAlias

from blueprint.language import OFF_WORD, Axis, Block, Constant, Ended, Expr, Op, Reduce, Ref, reference, text, walk
from blueprint.page import digits, grid, outline, steps, views
from blueprint.page.layout import Layout, Pen
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
    leaves,
    name,
    origin,
)

OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "equal": lambda a, b: float(a == b),
    "less": lambda a, b: float(a < b),
    "at_most": lambda a, b: float(a <= b),
}
"""What settings may be put together by, that say what is in use."""
Reads = Callable[[Expr | None], Iterator[Leaf]]
"""What an equation reads: with any settings, or with those at hand."""
Lines: TypeAlias = Mapping[str, WalkLine]
Holding: TypeAlias = Mapping[Block, list[WalkLine]]
"""Lines by their name, and by the block of the cell that they hold."""
OPENS = "a click on the small 2 at the upper left shows them"


def fold_unused(layout: Layout, title: str) -> None:
    """Folds the lines of the walk that are not in use, and says how many they are."""
    lines = [line for line in layout.walk if isinstance(line, WalkLine)]
    rows = {line.row for line in layout.walk} | {row for row, _ in layout.told}
    lists = {line.row for line in layout.walk if not isinstance(line, WalkLine)}
    shown = (lists | {line.row for line in lines if name(line.leaf) in used} for used in Usage(layout).of(lines))
    unused, apart = ({line.row for line in lines} - each for each in shown)
    headings = sorted(each.row for each in layout.labels if each.sheet == title and each.style == "section")
    notes = {each.row for each in layout.labels if each.sheet == title} - {*headings}
    many = 0
    for heading, after in zip(headings, [*headings[1:], layout.end[title] + 1], strict=True):
        inside = {row for row in rows | notes if heading < row < after - 1}
        folded = inside & (apart if inside and max(inside) in unused else unused)
        if inside and inside == folded:
            layout.folds.append((title, heading - 1, after - 2))
        else:
            layout.folds += [(title, row, row) for row in sorted(folded)]
        many += len(folded)
    if many:
        counted = f"{many} of {len(rows)} lines are" if many > 1 else f"1 of {len(rows)} lines is"
        said = f"{counted} not in use with the settings that this file was made with, and folded: {OPENS}."
        Pen(title, layout).label(grid.BANNER_ROW, grid.LEFT, said, "note")


class Usage:
    """What is in use with the settings at hand, in the column that is walked down, whichever that is."""

    def __init__(self, layout: Layout):
        choice = layout.blueprint.chosen
        self.values, self.looks = layout.values, {*layout.blueprint.looks}
        self.across = {*choice.across} if choice else set[Axis]()
        self.settled = cache(self._settled)

    def of(self, lines: Sequence[WalkLine]) -> tuple[set[str], set[str]]:
        """Returns the names of the lines in use: those that no equation of a line reads, and what those in use read.

        And the same without what lines of another option read in ways that no line shows: of a part that leads to nothing in
        use, more is not in use.
        """
        holding: dict[Block, list[WalkLine]] = {}
        for line in lines:
            if isinstance(line.leaf, Ref):
                holding.setdefault(line.leaf.block, []).append(line)
        known = {name(line.leaf): line for line in lines}
        spelled = {name(leaf) for line in lines for leaf in leaves(line.written)}
        read = spelled | {each for line in lines for each in _read_by(line, known, holding, leaves)}
        return self.from_ends(known.keys() - spelled, known, holding), self.from_ends(
            known.keys() - read, known, holding
        )

    def from_ends(self, ends: Set[str], known: Lines, holding: Holding) -> set[str]:
        """Returns what is read from some lines on with these settings."""
        found, waiting = {*ends}, [*ends]
        while waiting:
            new = {*_read_by(known[waiting.pop()], known, holding, self.reads)} - found
            found |= new
            waiting += new
        return found

    def reads(self, expr: Expr | None) -> Iterator[Leaf]:
        """Yields the numbers that an equation reads: of what is chosen among, what is chosen; of a product with 0, the 0."""
        match expr:
            case Op("choose", (Ref() as number, *rows)) if not number.at:
                yield from self.reads(rows[int(float(self.values.cell(number.block)))])
            case Op("where", (condition, then, otherwise)):
                held = self.number(condition)
                yield from self.reads(condition)
                for branch in (then, otherwise) if held is None else (then,) if held else (otherwise,):
                    yield from self.reads(branch)
            case Op("mul") if (zero := self.zero(expr)) is not None:
                yield from self.reads(zero)
            case Op(_, args):
                for arg in args:
                    yield from self.reads(arg)
            case _:
                yield from leaves(expr)

    def zero(self, product: Expr) -> Expr | None:
        """Returns a factor of a product that is 0 with these settings."""
        return next((each for each in _factors(product) if self.number(each) == 0), None)

    def number(self, expr: Expr) -> float | None:
        """Returns what an expression of settings alone comes to; None where it hangs on anything else."""
        match expr:
            case Constant(value):
                return float(value)
            case Op("is_off", (Ref(block, ()),)) if self.settled(block):
                return float(self.values.cell(block) == OFF_WORD)
            case Ref(block, ()) if not block.text and not block.limit and self.settled(block):
                found = self.values.cell(block)
                return found if isinstance(found, float) else None
            case Op(operation, (one, other)) if operation in OPERATIONS:
                first, second = self.number(one), self.number(other)
                return None if first is None or second is None else OPERATIONS[operation](first, second)
        return None

    def _settled(self, block: Block) -> bool:
        """Tells whether a block follows from single typed numbers, words and tables alone, and no column has a part in it."""
        seen, waiting = {block}, [block]
        while waiting:  # a block may read its own neighbour
            each = waiting.pop()
            if self.across & {*each.axes} or each in self.looks:
                return False
            parts = (part for definition in each.definitions for part in walk(definition.expr))
            read = {part.block for part in parts if isinstance(part, Ref)} - seen
            seen |= read
            waiting += read
        return True


def _read_by(line: WalkLine, known: Lines, holding: Holding, reads: Reads) -> Iterator[str]:
    """Yields the lines that a line reads; one without an equation, and a number without a line, reads as its block does."""
    waiting, seen = [*_within(line.leaf)], {*blocks_of(line.leaf)} if isinstance(line.leaf, Ref) else set[Block]()
    for leaf in reads(line.written):
        waiting += _within(leaf)
        if name(leaf) in known:
            yield name(leaf)
        else:
            waiting += blocks_of(leaf)
    if line.written is None:
        waiting += _read_in(line.leaf.block, reads) if isinstance(line.leaf, Ref) else blocks_of(line.leaf)
    while waiting:
        block = waiting.pop()
        if block not in seen:
            seen.add(block)
            yield from (name(each.leaf) for each in holding.get(block, ()))
            waiting += () if block in holding else _read_in(block, reads)


def _within(leaf: Leaf) -> Iterator[Block]:
    """Yields the blocks that say which cell is meant."""
    if isinstance(leaf, Ref):
        yield from (origin(part).block for part in walk(leaf) if isinstance(part, Ref) and part is not leaf)


def _read_in(block: Block, reads: Reads) -> Iterator[Block]:
    """Yields the blocks that the equations of a block read."""
    for each in block.definitions:
        read = (each.expr,) if reads is leaves else reads(each.expr)
        for part in (part for expr in read for part in walk(expr)):
            if isinstance(part, Ref):
                yield origin(part).block


def _factors(expr: Expr) -> Iterator[Expr]:
    match expr:
        case Op("mul", (one, other)):
            yield from _factors(one)
            yield from _factors(other)
        case Op("neg", (inner,)):
            yield from _factors(inner)
        case _:
            yield expr


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
    digits.lay_constants(writer.pen, finder[1], choice.across, writer.place(), writer.dec, writer.least)
    for line in layout.walk:
        if isinstance(line, WalkLine):
            writer.line(line)
        else:
            writer.listed(line)
    for row, each in layout.told:
        views.write_told(row, each, writer)
    for block in layout.spread:
        writer.spread(block)


class WalkWriter(steps.Picker):
    """Writes the chosen column line by line, and puts numbers into its equations."""

    def __init__(self, layout: Layout, choice: outline.Choice, finder: tuple[str, int]):
        super().__init__(layout, choice, finder)
        self.operand = cache(self._operand)

    def numbers(self, line: WalkLine, expr: Expr) -> None:
        """Spells an equation's right side with the numbers put in, as many decimals as it takes."""
        row, fewest, free = line.row, self.tried(line, expr), iter(range(MEMBERS + len(line.members), grid.LAST_COLUMN))
        decimals = fewest if isinstance(fewest, Ended) else self.least + digits.LEVELS[fewest]
        joined = self.joined(steps.pieces(expr), line, decimals, free)
        sign = "" if isinstance(expr, Op) and expr.name == digits.WITHIN else "= "
        if isinstance(fewest, Ended):
            printed = digits.no_number(fewest)
        else:
            printed = (ROUGHLY if digits.LEVELS[fewest] == digits.LEVELS[-1] else sign) + joined[1]
        formula = f'=IF({grid.address(row, DIGITS)}<{self.levels[-1]},"{sign}","{ROUGHLY}")&{joined[0]}'
        if steps.shift(line.leaf) > 0:  # it is of the next member; there is none after the last one
            column, last = next(free), grid.defined_name(self.choice.numbers[-1].name)
            self.pen.live(row, column, formula, digits.Print(printed), "as print")
            formula = f'=IF({last}={self.constants[digits.LAST]},"",{grid.address(row, column)})'
            printed = "" if self.at[self.time] + 1 == self.values.size(self.time) else printed
        self.pen.live(row, NUMBERS, formula, digits.Print(printed), "walk numbers")
        self.layout.tall[row] = NUMBERS, printed

    def tried(self, line: WalkLine, expr: Expr) -> int | Ended:
        """Spells what comes out with more and more decimals, and the fewest that are enough; returns which these are.

        Of what is no number none are enough: it is returned.
        """
        row, fewest, value = line.row, len(digits.LEVELS) - 2, self.value(line.leaf)
        formula = f"={self.levels[fewest]}"
        # A limit may be the word off, with which nothing can be calculated; a blank's number is left to the reader.
        if not (steps.is_limit(line.leaf) or self.is_blank(line.leaf)):
            operand, shown = self.operand(line.leaf), steps.decimals(line.leaf)
            cells = digits.trials(operand, shown, expr, self.found, self.constants, self.tried_levels())
            formula, fewest = self.enough(row, cells)
        ended = value if isinstance(value, Ended) else None
        self.pen.live(row, DIGITS, formula, ended or float(self.least + digits.LEVELS[fewest]), "as print")
        return ended or fewest

    def is_blank(self, leaf: Leaf) -> bool:
        """Says whether cells of the quantity are left to the reader."""
        return any(blank.block in {*blocks_of(leaf)} for blank in self.layout.blueprint.blanks)

    def joined(
        self, parts: list[str | steps.Number], line: WalkLine, decimals: int | Ended, free: Iterator[int]
    ) -> tuple[str, str]:
        """Joins pieces, as formula and as text."""
        spelled = [self.part(part, line, decimals, free) for part in parts]
        return "&".join(formula for formula, _ in spelled), "".join(shown for _, shown in spelled)

    def part(
        self, part: str | steps.Number, line: WalkLine, decimals: int | Ended, free: Iterator[int]
    ) -> tuple[str, str]:
        """Spells one piece, as formula and as text: print stays as it is, a number is printed in the next free cell."""
        match part:
            case str():
                return '"' + part.replace('"', '""') + '"', part
            case steps.Number(Op("where", (Op(_, (Ref() as limit,)), *branches)), factor):
                off, on = (self.joined(steps.pieces(branch), line, decimals, free) for branch in branches)
                least = self.operand(limit)
                formula = f'IF({least.cell}="off",{off[0]},{on[0]})'
                return steps.bracketed(factor, formula, off[1] if least.value == OFF_WORD else on[1])
            case steps.Number(Op(_, (Ref(block), *rows)), factor):
                spelled = [self.branch(row, factor, line, decimals, free) for row in rows]
                number, (_, chosen) = grid.defined_name(block.name), spelled[int(float(self.values.cell(block)))]
                return f"CHOOSE({number}+1,{','.join(formula for formula, _ in spelled)})", chosen
        operand = self.found(part.shown)
        assert operand is not None
        printed, longest = operand.printed(decimals, part.factor), self.constants["longest"]
        may_be_off = isinstance(part.shown, Ref) and steps.is_limit(part.shown)
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
            return self.part(steps.Number(row, factor), line, decimals, free)
        return steps.bracketed(factor, *self.joined(steps.pieces(row), line, decimals, free))

    def found(self, expr: Expr) -> digits.Operand | None:
        """Returns the operand that stands for a number of an equation; none for an operation."""
        if isinstance(expr, Ref) and name(origin(expr)) not in self.layout.numbered:
            return digits.Operand(self.values.cell(expr.block), grid.defined_name(expr.block.name), whole=True)
        return self.operand(expr) if isinstance(expr, Ref | Reduce) else None

    def _operand(self, leaf: Leaf) -> digits.Operand:
        """Returns a number that has a cell on the walk, as it is put into an equation."""
        leaf = origin(leaf) if isinstance(leaf, Ref) else leaf
        row, column = self.layout.numbered[name(leaf)]
        value, is_word = self.value(leaf), isinstance(self.value(leaf), str)
        whole = steps.is_whole(leaf) and (steps.is_limit(leaf) or not is_word)
        unit = grid.address(row, UNITS[column]) if column in UNITS and not (whole or is_word) else ""
        return digits.Operand(value, grid.address(row, column), unit, whole)

    def line(self, line: WalkLine) -> None:
        """Spells one line: symbol, meaning, value, equation, equation with numbers, link."""
        pen, row, leaf, value = self.pen, line.row, line.leaf, self.value(line.leaf)
        letters = frozenset(self.choice.across)
        symbol = text(leaf, letters) if isinstance(leaf, Reduce) else reference(leaf.block, leaf.at, letters)
        where, called = blocks_of(leaf)[-1], steps.meaning(leaf, self.layout.blueprint.whole)
        style = steps.style_of(leaf, isinstance(value, str) and not steps.is_limit(leaf), line.expr is not None)
        if line.column == NUMBERS:  # its name is the link
            pen.link(row, EQUATION, where, f"{called}: {symbol} =", "walk beside")
            style = style.replace("live", "beside")
        else:
            pen.name(row, symbol, called)
            pen.link(row, WHERE, where)
        pen.live(row, line.column, self.formula(leaf), value, style)
        if not (isinstance(value, str) or steps.is_whole(leaf)):
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
        beside = f"{steps.neighbour(line.whole)}: {symbol.partition('[')[0]}" if steps.shift(line.whole) else ""
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
