"""Equations with their numbers: a line of the walk, its numbers put in with as many decimals as it takes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from blueprint.language import OFF_WORD, Axis, Expr, Op, Reduce, Ref
from blueprint.page import grid
from blueprint.page.byhand import MORE, WITHIN, Line
from blueprint.page.constants import LAST, Constants
from blueprint.page.digits import Operand, Print
from blueprint.page.layout import Layout, Live
from blueprint.page.line_text import Number, is_limit, is_whole, pieces
from blueprint.page.names import defined_name
from blueprint.page.outline import Choice
from blueprint.page.picking import Picker, shift
from blueprint.page.putting import origin
from blueprint.page.steps import DIGITS, DUE, NUMBERS, OWN, TRIED, UNITS, Leaf, WalkLine, name

ROUGHLY = "≈ "
"""What stands before numbers of which fifteen digits are too few: all that is left of two large numbers, or nearly a tie."""


class NumbersPutIn(Picker):
    """Puts numbers into the equations of the chosen column."""

    def __init__(self, layout: Layout, choice: Choice):
        super().__init__(layout, choice)
        self.constants = Constants(*(layout.finder or ("", 0)))

    def told(self, line: WalkLine, expr: Expr) -> None:
        """Spells an equation's right side with the numbers put in, as many decimals as it takes."""
        put = partial(Live, line.sheet.title, line.row)
        fewest = self.tried(line, expr)
        decimals, free = self.levels[fewest], iter(range(OWN + len(line.own), grid.LAST_COLUMN))
        told = self.joined(pieces(expr), line, decimals, free)
        sign = "" if isinstance(expr, Op) and expr.name == WITHIN else "= "
        printed = (sign if fewest < len(MORE) else ROUGHLY) + told[1]
        enough = f"{cell_at(line.row, DIGITS)}<{self.constants.level(len(MORE))}"
        formula = f'=IF({enough},"{sign}","{ROUGHLY}")&{told[0]}'
        if self.speaks_of_the_next(line.leaf):
            column = next(free)
            self.layout.lives.append(put(column, formula, Print(printed), "as print"))
            formula = (
                f'=IF({defined_name(self.choice.numbers[-1])}={self.constants.at[LAST]},"",{cell_at(line.row, column)})'
            )
            printed = "" if self.at[self.choice.across[-1]] + 1 == self.values.size(self.choice.across[-1]) else printed
        self.layout.lives.append(put(NUMBERS, formula, Print(printed), "walk numbers"))
        self.layout.tall[line.sheet.title, line.row] = NUMBERS, printed

    def tried(self, line: WalkLine, expr: Expr) -> int:
        """Spells what comes out with more and more decimals, and the fewest that are enough; returns which these are."""
        put, constants = partial(Live, line.sheet.title, line.row), self.constants
        if is_limit(line.leaf):  # it may hold the word off, with which nothing can be calculated
            finest = len(MORE) - 1
            self.layout.lives.append(put(DIGITS, f"={constants.level(finest)}", float(self.levels[finest]), "as print"))
            return finest
        hand = Line(self.operand(line.leaf), expr, self.found, constants.at["clean"], constants.at["shown"])
        trials = [hand.tried(constants.level(number), self.levels[number]) for number in range(len(MORE))]
        cells = [*trials, hand.due()]
        for column, (formula, value) in enumerate(cells, TRIED):
            self.layout.lives.append(put(column, formula, value, "as print"))
        fewest = [value for _, value in cells].index(cells[-1][1])
        due, first = cell_at(line.row, DUE), cell_at(line.row, TRIED)
        formula = f"=INDEX({constants.levels},MATCH({due},{first}:{due},0))"
        self.layout.lives.append(put(DIGITS, formula, float(self.levels[fewest]), "as print"))
        return fewest

    def joined(self, parts: list[str | Number], line: WalkLine, decimals: int, free: Iterator[int]) -> tuple[str, str]:
        """Joins pieces, as formula and as text."""
        spelled = [self.part(part, line, decimals, free) for part in parts]
        return "&".join(formula for formula, _ in spelled), "".join(shown for _, shown in spelled)

    def part(self, part: str | Number, line: WalkLine, decimals: int, free: Iterator[int]) -> tuple[str, str]:
        """Spells one piece, as formula and as text: print stays as it is, a number is printed in the next free cell."""
        match part:
            case str():
                return '"' + part.replace('"', '""') + '"', part
            case Number(Op("where", (Op(_, (Ref() as limit,)), *branches)), False):
                off, on = (self.joined(pieces(branch), line, decimals, free) for branch in branches)
                least = self.operand(limit)
                return f'IF({least.cell}="off",{off[0]},{on[0]})', off[1] if least.value == OFF_WORD else on[1]
            case Number(Op(_, (Ref(block), *rows)), factor):
                spelled = [self.part(Number(row, factor), line, decimals, free) for row in rows]
                chosen = int(float(self.values.cell(block)))
                return f"CHOOSE({defined_name(block)}+1,{','.join(f for f, _ in spelled)})", spelled[chosen][1]
            case Number(shown, factor):
                operand = self.found(shown)
                assert operand is not None
                if operand.whole:
                    return operand.printed_formula("", factor), operand.printed(decimals, factor)
                formula = "=" + operand.printed_formula(cell_at(line.row, DIGITS), factor)
                printed, column = operand.printed(decimals, factor), next(free)
                print = Live(line.sheet.title, line.row, column, formula, Print(printed), "as print")
                self.layout.lives.append(print)
                return cell_at(line.row, column), printed
        raise AssertionError(f"{part} is neither print nor number")

    def found(self, expr: Expr) -> Operand | None:
        """Returns the operand that stands for a number of an equation; none for an operation."""
        if isinstance(expr, Ref) and name(origin(expr)) not in self.layout.walk.cells:
            return Operand(self.values.cell(expr.block), defined_name(expr.block), whole=True)
        return self.operand(expr) if isinstance(expr, Ref | Reduce) else None

    def operand(self, leaf: Leaf) -> Operand:
        """Returns a number that has a cell on the walk, as it is put into an equation."""
        leaf = origin(leaf) if isinstance(leaf, Ref) else leaf
        row, column = self.layout.walk.cells[name(leaf)]
        value, unit = self.value(leaf), UNITS.get(column)
        whole = is_whole(leaf) and (is_limit(leaf) or not isinstance(value, str))
        return Operand(
            value,
            cell_at(row, column),
            cell_at(row, unit) if unit and not (whole or isinstance(value, str)) else "",
            whole,
        )

    def speaks_of_the_next(self, leaf: Leaf) -> bool:
        """Tells whether a line is of the next member: there is none after the last one."""
        return isinstance(leaf, Ref) and shift(leaf) > 0

    @property
    def last(self) -> int:
        """The number of the last member that can be chosen."""
        time = self.choice.across[-1]
        return time.start + self.values.size(time) - 1

    @property
    def least(self) -> int:
        """The fewest decimals of numbers in equations."""
        return int(float(self.values.cell(self.choice.decimals)))

    @property
    def dec(self) -> str:
        """The name of the cell that says so."""
        return defined_name(self.choice.decimals)

    @property
    def levels(self) -> list[int]:
        """The decimals that are tried, and one more, for lines that do not come out with any."""
        return [self.least + more for more in (*MORE, MORE[-1] + 1)]

    @property
    def understood(self) -> frozenset[Axis]:
        """The letters that equations leave out."""
        return frozenset(self.choice.across)


def cell_at(row: int, column: int) -> str:
    """Returns the address of a cell by its row and column, counted from 0."""
    return f"{grid.letters(column)}{row + 1}"
