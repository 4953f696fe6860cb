"""Steps: which lines a walk down one column has, each after all that its equation reads, for the member that is meant.

Then what stands in the chosen column, as numbers and as formulas that follow the choice: a row of the page runs over all
groups, so one number says where the chosen column is in it, in every row of every sheet: `INDEX(row, 1, chosen_place)`. The
next member is one place further. And what a line says: its name, how its value looks, its equation with numbers between.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from blueprint.language import (
    ANYTHING,
    ATOM,
    TEXT,
    Axis,
    Block,
    Constant,
    Edge,
    Ended,
    Expr,
    Find,
    Index,
    Lookup,
    NotationError,
    Op,
    Position,
    Reduce,
    Ref,
    Rule,
    Spelled,
    Values,
    at_member,
    picked,
    places_of,
    rebuilt,
    reindexed,
    require,
    spell,
    text,
)  # fmt: skip
from blueprint.page import digits, grid, layout, outline, styles
from blueprint.page.layout import Layout, Live, Pen

VALUE, EQUATION, NUMBERS, WHERE, UNIT, DIGITS, TRIED = range(grid.LEFT, grid.LEFT + 7)
DUE, MEMBERS = TRIED + len(digits.MORE), TRIED + len(digits.MORE) + 1
"""The columns of a line: what one reads; and how it is made: the power of ten of the value, the decimals of the numbers
in its equation, what comes out with so many decimals, the value as it is shown, and numbers that have no line of their own.
"""

UNITS = {VALUE: UNIT, NUMBERS: MEMBERS}
"""The column of the power of ten of a value, by that of the value."""

Leaf = Ref | Reduce
"""What one line holds a number of: a cell of the chosen column (or its neighbour), or a sum over all members."""
SELECTING = ("choose", digits.WITHIN)
"""Operations whose first operand says which is meant, and is no number of the equation."""
LONGEST = 12
"""Members up to which a sum is written out, and a list is shown; more of them nobody would read on one line."""


@dataclass(frozen=True)
class WalkLine:
    """One line: the number that it holds, and the equation that gives it (none where it is only read).

    written: the equation with its sums written out. members: numbers of a sum that have no line; they stand right of this one.
    column: that of its value; NUMBERS right of another number that is only read, where that one's equation would be.
    """

    row: int
    leaf: Leaf
    expr: Expr | None = None
    written: Expr | None = None
    members: tuple[Ref, ...] = ()
    column: int = VALUE


@dataclass(frozen=True)
class WalkList:
    """A line that lists a quantity's members side by side, which stand right of it; `says` is its name, if not its block's.

    adds: as they are displayed they add up to their sum.
    """

    row: int
    whole: Ref
    axis: Axis
    members: tuple[Ref, ...]
    says: str
    adds: bool = False


def place_step(step: outline.Step, pen: layout.SheetPen) -> None:
    """Keeps the row of a step, after those of its operands that have none yet; they are spelled when all have a place."""
    across = pen.layout.blueprint.understood(pen.sheet)
    leaf, expr = step_of(step, across[-1])
    written = None if expr is None else written_out(expr, leaf, across, pen.values)
    if not takes_numbers(written, leaf.block.axes, across):
        expr = written = None
    missing = {name(read): read for read in leaves(written) if name(read) not in pen.layout.numbered}
    _read([leaf for leaf in missing.values() if not is_member(leaf)], pen)
    members = tuple(read for read in missing.values() if isinstance(read, Ref) and is_member(read))
    _keep(WalkLine(pen.row, leaf, expr, written, members), pen)
    pen.row += 1


def _read(alone: list[Leaf], pen: layout.SheetPen) -> None:
    """Keeps the rows of numbers that are only read, two on each."""
    for number, leaf in enumerate(alone):
        _keep(WalkLine(pen.row + number // 2, leaf, column=NUMBERS if number % 2 else VALUE), pen)
    pen.row += (len(alone) + 1) // 2


def place_list(listed: outline.Listed, pen: layout.SheetPen) -> None:
    """Keeps the row of a list, if it is short enough."""
    axis = listed.block.axes[-1]
    if pen.values.size(axis) <= LONGEST:
        whole = whole_of(listed, pen.layout.blueprint.understood(pen.sheet)[-1])
        members = (origin(at_member(whole, axis, Constant(member))) for member in range(pen.values.size(axis)))
        _keep(WalkList(pen.row, whole, axis, tuple(members), listed.says, listed.adds), pen)
        pen.row += 1


def _keep(line: WalkLine | WalkList, pen: layout.SheetPen) -> None:
    pen.layout.walk.append(line)
    if isinstance(line, WalkLine):
        pen.layout.numbered[name(line.leaf)] = line.row, line.column
    pen.layout.numbered |= {name(ref): (line.row, MEMBERS + number) for number, ref in enumerate(line.members)}


def name(leaf: Leaf) -> str:
    """Returns what tells one number from all others: the block (not what repeats it) and the indices, or the sum."""
    return text(leaf) if isinstance(leaf, Reduce) else f"{leaf.block.name}[{', '.join(map(str, leaf.at))}]"


def leaves(expr: Expr | None) -> Iterator[Leaf]:
    """Yields the numbers that an equation reads, in its order."""
    match expr:
        case Ref():
            yield origin(expr)
        case Reduce():
            yield expr
        case Op(operation, args):
            for arg in args[operation in SELECTING :]:
                yield from leaves(arg)


def is_member(leaf: Leaf) -> bool:
    """Tells whether a number is one of many in the chosen column, or a weight: it has no line of its own."""
    return isinstance(leaf, Ref) and any(
        isinstance(index, Lookup) and isinstance(index.id, Constant) for index in leaf.at
    )


def blocks_of(leaf: Leaf) -> list[Block]:
    """Returns the blocks whose cells a leaf holds: its own, or the factors of the sum."""
    if isinstance(leaf, Ref):
        return [leaf.block]
    factors = leaf.body.args if isinstance(leaf.body, Op) else (leaf.body,)
    return [origin(factor).block for factor in factors if isinstance(factor, Ref)]


def origin(ref: Expr) -> Ref:
    """Returns the cell that a repeating block repeats."""
    assert isinstance(ref, Ref)
    while ref.block.link:
        ref = Ref(layout.origin(ref.block), ref.at)
    return ref


def step_of(step: outline.Step, time: Axis) -> tuple[Ref, Expr | None]:
    """Returns the cell that a step holds and its equation, both for the member that is meant."""
    block, member = step.block, step.member
    at: tuple[Index, ...] = tuple(map(Position, block.axes))
    id = Ref(member, at[:-1]) if isinstance(member, Block) else None if member is None else Constant(member)

    def meant(expr: Expr) -> Expr:
        expr = expr if id is None else at_member(expr, block.axes[-1], id)
        return reindexed(expr, lambda at: Position(time, 1) if step.later and at == Position(time) else at)

    inner = (each.expr for each in block.definitions if not any(isinstance(index, Edge) for index in each.target))
    expr = None if block.link or block.text else next(inner, None)
    return origin(meant(Ref(block, at))), None if expr is None else meant(expr)


def whole_of(listed: outline.Listed, time: Axis) -> Ref:
    """Returns a listed quantity as it is written, with the axis along which it runs left open."""
    *others, axis = listed.block.axes
    if listed.member is not None:
        id = Ref(listed.member, tuple(map(Position, listed.member.axes)))
        return Ref(listed.block, (*(Lookup(each, id) for each in others), Position(axis)))
    return Ref(listed.block, (*(Position(each, listed.by * (each is time)) for each in others), Position(axis)))


def takes_numbers(expr: Expr | None, axes: tuple[Axis, ...], across: tuple[Axis, ...]) -> bool:
    """Tells whether numbers can be put in: every one stands in the chosen column, or is a single number.

    What lies along the column below other members (a row for each), or stands in another one, is none of its numbers.
    """
    match expr:
        case Ref(block, at):
            along = [slot in across for slot in block.axes]
            stays = all(not isinstance(index, Lookup) for index, here in zip(at, along, strict=True) if here)
            return stays and along == sorted(along, reverse=True)
        case Op(_, args):
            return all(takes_numbers(arg, axes, across) for arg in args)
        case Reduce(_, over):
            return set(over) <= set(axes) or not axes
    return isinstance(expr, Constant)


def written_out(expr: Expr, leaf: Ref, across: tuple[Axis, ...], values: Values) -> Expr:
    """Returns an expression with its short sums over members that are not chosen written out, and a search as what it finds."""
    match expr:
        case Reduce("sum", (axis,), body) if axis not in across and values.size(axis) <= LONGEST:
            terms = [at_member(body, axis, Constant(member)) for member in range(values.size(axis))]
            return reduce(lambda all, term: Op("add", (all, term)), terms)
        case Op():
            return rebuilt(expr, lambda arg: written_out(arg, leaf, across, values))
        case Find("find", axis, Ref() as among, value):
            high = at_member(among, axis, leaf, shifted=False)
            return Op(digits.WITHIN, (leaf, at_member(among, axis, leaf), value, high))
    return expr


class Picker:
    """Reads the chosen column; the first values are those of the column chosen by the blueprint's own numbers.

    finder: sheet and row of the two lines that find the column.
    constants, levels: the cells of the constants, and those of the decimals that are tried.
    dec, least: the name of the cell that says the fewest decimals, and how many these are.
    """

    def __init__(self, layout: Layout, choice: outline.Choice, finder: tuple[str, int]):
        self.layout, self.values, self.choice, self.pen = layout, layout.values, choice, Pen(finder[0], layout)
        self.stride = grid.address(finder[1], VALUE)
        self.constants, self.levels = digits.constant_cells(finder[1])
        *self.outer, self.time = choice.across
        self.dec, self.least = grid.defined_name(choice.decimals.name), int(float(self.values.cell(choice.decimals)))
        self.at = {axis: self._chosen(axis, n) for axis, n in zip(choice.across, choice.numbers, strict=True)}

    def _chosen(self, axis: Axis, number: Block) -> int:
        """Returns the place that a typed number means; raises NotationError if there is none."""
        typed, last = float(self.values.cell(number)), axis.start + self.values.size(axis) - 1
        require(
            typed in range(axis.start, last + 1),
            f"{number.name} is {typed:g}: {axis.meaning}s run {axis.start} … {last}",
        )
        return int(typed) - axis.start

    def tried_levels(self) -> list[tuple[str, int]]:
        """Returns the decimals that are tried, each with the cell that says so."""
        return [(cell, self.least + more) for cell, more in zip(self.levels, digits.MORE, strict=False)]

    def enough(self, row: int, cells: list[tuple[str, float]]) -> tuple[str, int]:
        """Writes what comes out with more and more decimals; spells the fewest that are enough, and returns which these are."""
        for column, cell in enumerate(cells, TRIED):
            self.pen.live(row, column, *cell, "as print")
        due, first = grid.address(row, DUE), grid.address(row, TRIED)
        formula = f"={picked(f'{self.levels[0]}:{self.levels[-1]}', f'MATCH({due},{first}:{due},0)')}"
        return formula, [number for _, number in cells].index(cells[-1][1])

    def enough_for_sum(
        self, row: int, values: list[float | str], column: int, whole: digits.Operand | None
    ) -> int | Ended:
        """Spells how many decimals listed numbers need to add up as displayed; returns how many, or the end among them.

        column: where the first of the numbers stands; the others stand right of it.
        """
        places = [grid.address(row, each) for each in range(column, column + len(values))]
        cells = digits.sum_trials(values, places, whole, self.constants, self.tried_levels())
        formula, number = self.enough(row, cells)
        due = cells[-1][1]
        decimals = due if isinstance(due, Ended) else self.least + digits.LEVELS[number]
        self.pen.live(row, DIGITS, formula, decimals if isinstance(decimals, Ended) else float(decimals), "as print")
        return decimals

    def place(self) -> tuple[str, float]:
        """Spells the one number that says where the chosen column is; returns it, too."""
        *outer, time = (grid.defined_name(number.name) for number in self.choice.numbers)
        if not outer:
            return f"={time}+1", float(self.at[self.time] + 2)
        place = self.at[self.outer[0]] * grid.stride(self.values.size(self.time)) + self.at[self.time] + 2
        return f"=({outer[0]}-1)*{self.stride}+{time}+1", float(place)

    def spread(self, block: Block) -> None:
        """Spells the cells of a block that has one number per member, in the chosen column."""
        sheet, top, last, column = self.layout.spread[block]
        for member in range(last - top + 1):
            value = self.values.cell(block, *(self.at.get(axis, member) for axis in block.axes))
            formula = f"={picked(self.rows(block, self.layout.places[block].row + member), grid.CHOSEN_PLACE)}"
            self.layout.lives.append(Live(sheet, top + member, column, formula, value, f"live {block.about.decimals}"))

    def value(self, leaf: Leaf) -> float | str:
        """Returns the number that a line holds; 0 where a sheet's empty cell is read, beyond the last member."""
        if isinstance(leaf, Reduce):
            ended = (end for block in blocks_of(leaf) for end in self.values.ended.get(block, {}).values())
            found = np.sum(np.prod([self.values[block] for block in blocks_of(leaf)], axis=0))
            return next(ended, float(found))
        places = places_of(leaf, self.at, self.values)
        known = all(place in span for place, span in zip(places, self.values.spans(leaf.block), strict=True))
        return self.values.cell(leaf.block, *places) if known else 0.0

    def formula(self, leaf: Leaf) -> str:
        """Spells the formula that brings a number to its line."""
        if isinstance(leaf, Reduce):
            of, ends = (
                blocks_of(leaf),
                self.time not in leaf.axes,
            )  # what has no place in time stands in a Σ column
            ranges = [self.rows(block, self.layout.places[block].row, ends=int(ends)) for block in of]
            return f"={'SUMPRODUCT' if len(ranges) > 1 else 'SUM'}({','.join(ranges)})"
        if not leaf.at:
            return f"={grid.defined_name(leaf.block.name)}"
        if not set(self.choice.across) & set(leaf.block.axes):
            return f"={self._weight(leaf)}"
        if self.time in leaf.block.axes:
            return self._of_column(leaf)
        # The Σ column of the chosen group, as `chosen_place` counts, is the one before the next group's start.
        place = f"{grid.CHOSEN_PLACE}-{grid.defined_name(self.choice.numbers[-1].name)}+{self.stride}-2"
        return f"={picked(self.rows(leaf.block, self.layout.places[leaf.block].row, ends=1), place)}"

    def member_name(self, axis: Axis, member: int) -> tuple[str, str]:
        """Returns what a member is called, as a formula and as text."""
        called = self.layout.blueprint.names[axis]
        if isinstance(called, Block):
            return self.layout.address(called, (member,), fixed=True), str(self.values.cell(called, member))
        text = called.format(axis.start + member)
        return f'"{text}"', text

    def _of_column(self, leaf: Ref) -> str:
        """Spells how a number of the chosen column, or of one beside it, is brought to its line."""
        by, (first, id) = shift(leaf), self._member(leaf)
        place = f"{grid.CHOSEN_PLACE}{by:+}" if by else grid.CHOSEN_PLACE
        row, _ = self.layout.places[leaf.block].cell(leaf.block, (*(0 for _ in self.choice.across), *first))
        if id is not None:
            height = self.values.size(leaf.block.axes[-1]) - 1
            return f"=INDEX({self.rows(leaf.block, row, height)},{self.cell_of(id)}+1,{place})"
        formula = f"={picked(self.rows(leaf.block, row), place)}"
        return formula + '&""' if leaf.block.text and leaf.block.typed else formula  # INDEX takes a blank for a 0

    def _member(self, leaf: Ref) -> tuple[tuple[int, ...], Ref | None]:
        """Returns which member's row is meant, and the id that counts from there on, where it is computed."""
        match leaf.at[len(self.choice.across) :]:
            case ():
                return (), None
            case (Lookup(_, Constant(int() as member)),):
                return (member,), None
            case (Lookup(_, Ref() as id),):
                return (0,), id
            case (Lookup(_, Op("sub", (Ref() as id, _))),):
                return (-1,), id
        raise NotationError(f"{leaf} is no cell of one column")

    def cell_of(self, leaf: Expr) -> str:
        """Returns the address of the cell that holds a number on the walk."""
        return grid.address(*self.layout.numbered[name(leaf if isinstance(leaf, Reduce) else origin(leaf))])

    def _weight(self, leaf: Ref) -> str:
        """Spells the cell of a weight; the member whose weights are meant is the one of a line."""
        place, block, at = self.layout.places[leaf.block], leaf.block, places_of(leaf, self.at, self.values)
        for number, (axis, index) in enumerate(zip(block.axes, leaf.at, strict=True)):
            if isinstance(index, Lookup) and isinstance(index.id, Ref):
                ends = ((*at[:number], end, *at[number + 1 :]) for end in (0, self.values.size(axis) - 1))
                first, last = (grid.address(*place.cell(block, end), fixed=True) for end in ends)
                return picked(f"{grid.quoted_title(place.sheet)}!{first}:{last}", f"{self.cell_of(index.id)}+1")
        return self.layout.address(block, at, fixed=True)

    def rows(self, block: Block, top: int, height: int = 0, ends: int = 0) -> str:
        """Returns the range of whole rows, from the first group's start column to the last one's end column, or Σ column.

        ends: how many columns farther than the end column.
        """
        groups, members = self.values.size(self.outer[0]) if self.outer else 1, self.values.size(self.time)
        last = grid.start_column(groups - 1, members) + members + 1 + ends
        area = grid.area(top, grid.GROUPS, top + height, last, fixed=True)
        return f"{grid.quoted_title(self.layout.places[block].sheet)}!{area}"


def shift(leaf: Leaf) -> int:
    """Returns how many columns beside the chosen one a leaf stands."""
    indices = () if isinstance(leaf, Reduce) else leaf.at
    return next((index.by for index in indices if isinstance(index, Position) and index.by), 0)


def meaning(leaf: Leaf, whole: str) -> str:
    """Says what a line holds; `whole` is what all members together are called."""
    if isinstance(leaf, Reduce):
        return f"sum over the whole {whole}"
    if shift(leaf):
        return f"{neighbour(leaf)}: {leaf.block.symbol}"
    ids = ((each.axis, each.id) for each in leaf.at if isinstance(each, Lookup) and not isinstance(each.id, Constant))
    for axis, id in ids:
        return f"{leaf.block.symbol} of {axis.meaning.removesuffix(' id')} {text(id, frozenset(leaf.block.axes))}"
    return leaf.block.about.meaning


def neighbour(leaf: Ref) -> str:
    """Names the member beside the chosen one that a leaf stands for: `the next day`."""
    index = next(index for index in leaf.at if isinstance(index, Position) and index.by)
    return f"the next {index.axis.meaning}" if index.by > 0 else f"the {index.axis.meaning} before"


def is_limit(leaf: Leaf) -> bool:
    """Tells whether a line may hold the word off instead of a number."""
    return isinstance(leaf, Ref) and leaf.block.limit


def is_whole(leaf: Leaf) -> bool:
    """Tells whether a quantity is printed as it stands: what is counted, and what may be the word off."""
    return is_limit(leaf) or not any(block.about.decimals for block in blocks_of(leaf))


def decimals(leaf: Leaf) -> int:
    """Returns how many decimals a value is shown with, if it is no whole number."""
    return max(digits.SHOWN, *(block.about.decimals for block in blocks_of(leaf)))


def style_of(leaf: Leaf, is_word: bool, derived: bool) -> str:
    """Returns the style of a value: whole numbers as such, others with the decimals by which one checks them."""
    shown = "0" if is_whole(leaf) and not is_limit(leaf) else str(decimals(leaf))
    reads = "" if isinstance(leaf, Reduce) else leaf.block.about.reads
    return f"live {'word' if is_word else shown}" + " key" * derived + styles.read_as(reads)


PRINT: dict[str, Rule] = {**TEXT, digits.WITHIN: Rule("{1} ≤ {2} < {3}", ANYTHING, (ANYTHING,) * 4)}
# Marks around a number, and around what needs brackets where it is no single positive number.
MARK, END, OPEN, CLOSE = "\1", "\2", "\3", "\4"
_NUMBER = re.compile(f"{OPEN}{MARK}(\\d+){END}{CLOSE}|{MARK}(\\d+){END}")


class Number(NamedTuple):
    """A number within an equation: a cell, a sum, a choice of cells, or what holds for a limit that is off or on.

    factor: bracketed if it is negative.
    """

    shown: Expr
    factor: bool


def pieces(expr: Expr) -> list[str | Number]:
    """Takes an equation's right side apart into print and numbers, in the order of print."""
    numbers: list[Expr] = []

    def number(inner: Expr) -> Spelled:
        numbers.append(inner)
        return Spelled(f"{MARK}{len(numbers) - 1}{END}", ANYTHING)

    def render(inner: Expr) -> Spelled:
        match inner:
            case Ref():
                return number(origin(inner))
            case Reduce() | Op("choose") | Op("where", (Op("is_off"), *_)):
                return number(inner)
            case Op():
                return spell(inner, PRINT, render, OPEN + "{}" + CLOSE)
            case Constant(value):
                return Spelled(f"“{value}”" if isinstance(value, str) else str(value), ATOM)
        raise AssertionError(f"{inner} has no number of its own")

    # By turns a text, the place of a number in brackets, and that of one without; marks that are left are brackets.
    first, *parts = _NUMBER.split(render(expr).text)
    brackets = str.maketrans({OPEN: "(", CLOSE: ")"})
    found: list[str | Number] = [first.translate(brackets)]
    for bracketed, plain, following in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        found += [Number(numbers[int(bracketed or plain)], bracketed is not None), following.translate(brackets)]
    return [piece for piece in found if piece != ""]


def bracketed(factor: bool, formula: str, printed: str) -> tuple[str, str]:
    """Puts brackets around what is a factor, as formula and as text."""
    return (f'"("&{formula}&")"', f"({printed})") if factor else (formula, printed)
