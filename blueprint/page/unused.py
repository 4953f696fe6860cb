"""Lines of a walk that are not in use: what only options read that are not chosen, or what is multiplied by a setting of 0.

They are folded, heading and all where nothing is left below it, and a line at the head of the sheet counts them. Where a
number stands does not hang on what is in use: the formulas of two files differ in nothing but their settings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from typing import TypeAlias

from blueprint.language import OFF_WORD, Axis, Block, Constant, Expr, Op, Ref, walk
from blueprint.page import grid
from blueprint.page.layout import Layout, Pen
from blueprint.page.steps import Leaf, WalkLine, blocks_of, leaves, name, origin

NUMBERS: dict[str, Callable[[float, float], float]] = {
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
OPENS = "the sign 2 at the upper left shows them"


def fold_unused(layout: Layout, title: str) -> None:
    """Folds the lines of the walk that are not in use, and says how many they are."""
    lines = [line for line in layout.walk if isinstance(line, WalkLine)]
    rows = {line.row for line in layout.walk} | {row for row, _ in layout.told}
    unused, apart = (_rows_without(used, lines, layout) for used in Usage(layout).of(lines))
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


def _rows_without(used: set[str], lines: Sequence[WalkLine], layout: Layout) -> set[int]:
    """Returns the rows of which nothing is in use."""
    shown = {line.row for line in lines if name(line.leaf) in used}
    shown |= {line.row for line in layout.walk if not isinstance(line, WalkLine)}
    return {line.row for line in lines} - shown


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
            case Op(operation, (one, other)) if operation in NUMBERS:
                first, second = self.number(one), self.number(other)
                return None if first is None or second is None else NUMBERS[operation](first, second)
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
        for part in walk(each.expr) if reads is leaves else _nested(each.expr, reads):
            if isinstance(part, Ref):
                yield origin(part).block


def _nested(expr: Expr, reads: Reads) -> Iterator[Expr]:
    for leaf in reads(expr):
        yield from walk(leaf)


def _factors(expr: Expr) -> Iterator[Expr]:
    match expr:
        case Op("mul", (one, other)):
            yield from _factors(one)
            yield from _factors(other)
        case Op("neg", (inner,)):
            yield from _factors(inner)
        case _:
            yield expr
