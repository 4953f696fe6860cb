"""The page of a blueprint that says nothing of its own: lines, claims and result are found in its equations.

Columns are the members of the axis along which most of what leads to the result lies. What is typed stands at the top, below
it what is computed, in that order; of too many lines those nearest the result stay. A line claims an equation only where
its equation is a sum, a difference, a product or a quotient of lines that are shown, or a few of them in one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from keyword import iskeyword

from blueprint.language import (
    Axis,
    Block,
    Constant,
    Count,
    Expr,
    Index,
    Op,
    Position,
    Reduce,
    Ref,
    components,
    in_order,
    schedule,
    text,
)
from blueprint.language.schedule import read_by
from blueprint.page.grid import ONE_PAGE
from blueprint.page.outline.book import Blueprint
from blueprint.page.outline.items import Columns, OnePage, PageRow, PageSection, Panel, Tile

MOST_COLUMNS, MOST_LINES, MOST_TILES, MOST_LEAVES = 8, 18, 4, 4
LONGEST_TITLE, LONGEST_SYMBOL, LONGEST_WORDS, MOST_WORDS, LONGEST_RESULT = 50, 16, 44, 10, 12
TYPED, COMPUTED = "What is typed", "What follows from it"
SPELLED = {
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "({} / {})", "neg": "(-{})", "abs": "abs({})",
    "exp": "exp({})", "log": "ln({})", "sqrt": "sqrt({})", "maximum": "max({}, {})", "minimum": "min({}, {})",
}  # fmt: skip
SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷"}
"""How operations are spelled in claims, and as signs beside the second operand."""


EITHER_WAY = ("add", "mul")


class _Unsaid(Exception):
    """An equation that no claim can say."""


def with_derived_page(made: Blueprint) -> Blueprint:
    """Returns a blueprint with a page of its own, where it has none and there is something to show."""
    if made.one_page is not None or any(sheet.title == ONE_PAGE for sheet in made.sheets):
        return made
    ends = _ends(made)
    axis = _axis(made, _near(ends))  # None where nothing that is computed lies along one
    return made if axis is None else replace(made, one_page=_Derivation(made, ends, axis).page())


def _ends(made: Blueprint) -> list[Block]:
    """Returns what everything leads to: the result, or else what is computed and nothing else reads.

    Of blocks that read each other, and that nothing else reads, it is the last one.
    """
    if made.result is not None:
        return [made.result]
    blocks = [block for block in made.blocks() if not block.link]
    reads = {block: {meant(found) for found in read_by(block)} for block in blocks}
    loops = [{*found} for found in components(reads)]
    read = {each for loop in loops for block in loop for each in reads.get(block, ()) if each not in loop}
    order = {block: i for i, block in enumerate(blocks)}
    last = {max(loop & {*blocks}, key=order.__getitem__, default=None) for loop in loops if not loop & read}
    return [block for block in blocks if block in last and not block.typed]


def meant(block: Block) -> Block:
    """Returns the block that a link repeats, or the block itself."""
    while block.link:
        expr = block.definitions[0].expr
        if not isinstance(expr, Ref):
            break
        block = expr.block
    return block


def _near(ends: Iterable[Block]) -> dict[Block, int]:
    """Returns how many steps each block is away from the ends."""
    near = dict.fromkeys(ends, 0)
    queue = list(near)
    for block in queue:  # which grows
        for read in map(meant, read_by(block)):
            if read not in near:
                near[read] = near[block] + 1
                queue.append(read)
    return near


def _is_number(block: Block) -> bool:
    return not (block.text or block.link or block.limit)


def _axis(made: Blueprint, near: Iterable[Block]) -> Axis | None:
    """Returns the axis along which most of these blocks lie; of several, one that runs to the right, then the longest."""
    many, known = dict[Axis, int](), set(made.blocks())
    for block in near:
        for axis in block.axes if _is_number(block) and block in known else ():
            many[axis] = many.get(axis, 0) + 1
    across = {sheet.across[-1] for sheet in made.sheets if sheet.across}
    fit = [axis for axis in many if axis.of is None and axis_of(axis.letter, made) is axis and size_of(axis, made)]
    return max(fit, key=lambda axis: (many[axis], axis in across, size_of(axis, made)), default=None)


def axis_of(letter: str, blueprint: Blueprint) -> Axis | None:
    """Finds an axis by its letter: one that has a size of its own, or else one that is joined of others."""
    known = [axis for axis in blueprint.sizes if axis.letter == letter]
    joined = (axis for sheet in blueprint.sheets for axis in sheet.across if axis.letter == letter)
    return min(known, key=lambda axis: axis.start == 0) if known else next(joined, None)


def size_of(axis: Axis, made: Blueprint) -> int:
    """Returns how many members an axis has, 0 where that is not known."""
    known = made.sizes.get(axis.extent, axis.size)
    return known if known is not None else sum(size_of(part, made) for part in axis.parts)


@dataclass
class _Line:
    """A block and what its line claims. reads: the blocks of neighbours that it reads, by the names of their lines."""

    block: Block
    equals: str = ""
    op: str = ""
    leaves: list[str] = field(default_factory=list)
    reads: dict[str, Ref] = field(default_factory=dict)


class _Derivation:
    """Writes the page."""

    def __init__(self, made: Blueprint, ends: list[Block], axis: Axis):
        self.made, self.ends, self.axis = made, ends, axis
        self.all_shown = size_of(axis, made) <= MOST_COLUMNS
        across = (each for sheet in made.sheets if axis in sheet.across for each in sheet.across)
        of_ends = (each for end in ends if axis in end.axes for each in end.axes)
        self.lead = [each for each in dict.fromkeys((*across, *of_ends)) if each is not axis]
        self.colours = made.colours
        self.names = {block.name: block for block in made.blocks()}

    def page(self) -> OnePage | None:
        """Returns the page; None where no line that is computed has a number for each column."""
        sections = self.sections()
        rows = [row for section in sections for row in section.rows]
        computed = (self.names[row.block] for row in rows if row.block)
        if not any(self.axis in block.axes and not block.typed for block in computed):
            return None
        result = next((end for end in reversed(self.ends) if not end.axes and _is_number(end)), None)
        called = _cut(result.symbol.replace('"', ""), LONGEST_RESULT) if result is not None else ""
        parts = [each for each in self.made.parts if not each.axes] if result is self.made.result else []
        tiles = (
            Tile(each.name, sign="+" if i else "=", words=_cut(each.symbol, LONGEST_RESULT))
            for i, each in enumerate(parts[: MOST_TILES + 1])
        )
        panel = Panel(self.head(), "none", "members", sections=tuple(sections))
        return OnePage(
            _cut(self.made.title, LONGEST_TITLE),
            (panel,),
            {"members": Columns("members", self.axis.letter, most=MOST_COLUMNS)},
            tuple(tiles) if len(parts) <= MOST_TILES else (),
            result=called,
            of=result.name if result is not None else "",
            grows=True,
        )

    def head(self) -> str:
        """Returns what stands above the columns: what one of them is, and of which group."""
        many, one = size_of(self.axis, self.made), self.axis.meaning or self.axis.letter
        said = f"one column, one {one}"
        if not self.all_shown:
            said += f": the first {MOST_COLUMNS} of {many}"
        groups = (f"{each.meaning or each.letter} {each.start}" for each in self.lead if size_of(each, self.made) > 1)
        return ", ".join((said, *groups))

    def sections(self) -> list[PageSection]:
        """Returns the lines: what is typed, and what is computed, in the order in which that is done."""
        near = _near(self.ends)
        fit = {*self.lead, self.axis}
        order = {block: i for i, block in enumerate(in_order(schedule(self.made.blocks())))}
        showable = [block for block in near if _is_number(block) and block in order and {*block.axes} <= fit]
        showable.sort(key=lambda block: (near[block], self.axis not in block.axes, -order[block]))
        for many in range(MOST_LINES, 0, -1):
            shown = {*showable[:many]}
            typed = [block for block in self.made.blocks() if block in shown and block.typed]
            computed = sorted((block for block in shown if not block.typed), key=order.__getitem__)
            lines = [self.line(block, shown) for block in computed]
            if many + len({name for line in lines for name in line.reads}) <= MOST_LINES:
                break
        rows = [self.row(_Line(block)) for block in typed]
        sections = [PageSection(TYPED, tuple(rows))] if rows else []
        follow = signed(list(self.rows(lines)), {line.block.name: line for line in lines})
        return [*sections, PageSection(COMPUTED if rows else "", tuple(follow))]

    def rows(self, lines: list[_Line]) -> Iterator[PageRow]:
        """Yields the rows of lines; a neighbour that is read has a row of its own, before the first that reads it."""
        known = set[str]()
        for line in lines:
            for name, ref in line.reads.items():
                if name not in known:
                    way = name.partition("_of_")[0]
                    symbol = text(ref, frozenset(self.lead))
                    read = self.names[ref.block.name]
                    yield PageRow(
                        id=name,
                        value=f"{way}({read.name})",
                        symbol=_cut(symbol, LONGEST_SYMBOL),
                        model=self.colour(read),
                    )
                    known.add(name)
            yield self.row(line)

    def row(self, line: _Line) -> PageRow:
        """Returns the row of a block."""
        block = line.block
        return PageRow(
            block.name,
            equals=line.equals,
            symbol=_cut(block.symbol, LONGEST_SYMBOL),
            words=self.words(line),
            model=self.colour(block),
            result=True if block in {*self.ends} else None,
        )

    def colour(self, block: Block) -> str:
        """Returns the colour of a block's sheet; what is typed has one in any case."""
        own = self.colours.get(block, "none")
        return "blue" if own == "none" and block.typed else own

    def words(self, line: _Line) -> str:
        """Returns the words beside a line: its equation, and what it means; of both, where there is no room, what it claims."""
        block = line.block
        meaning = re.sub(r"[{}]", "", block.about.meaning)
        main = _main(block)
        spelled = text(main, frozenset((*self.lead, self.axis))) if main is not None else ""
        spelled = re.sub(r" ([−+·/]) ", r"\1", spelled)
        both = f"{spelled}: {meaning}" if meaning else spelled
        if spelled and "{" not in spelled and "}" not in spelled:
            if _fits(both):
                return both
            if (line.equals or not meaning) and _fits(spelled):
                return spelled
        words = " ".join(meaning.split()[:MOST_WORDS])
        return words if words == meaning and _fits(words) else _cut(words, LONGEST_WORDS)

    def line(self, block: Block, shown: set[Block]) -> _Line:
        """Returns a block with what its line claims, if its equation can be said with lines that are shown."""
        line, main = _Line(block), _main(block)
        if main is None or isinstance(main, Constant | Count):
            return line
        try:
            equals = self.said(main, block, shown, line)
        except _Unsaid:
            return _Line(block)
        if not 0 < len(line.leaves) <= MOST_LEAVES:
            return _Line(block)
        line.equals = equals.removeprefix("(").removesuffix(")") if equals.startswith("(") else equals
        line.op = main.name if isinstance(main, Op) and len(line.leaves) == 2 else ""
        return line

    def said(self, expr: Expr, block: Block, shown: set[Block], line: _Line) -> str:
        """Spells an expression as a claim. Raises _Unsaid where that cannot be done."""
        match expr:
            case Constant(int() as value):
                return str(value)
            case Op(name, args) if name in SPELLED:
                return SPELLED[name].format(*(self.said(each, block, shown, line) for each in args))
            case Ref():
                return self.leaf(expr, block, shown, line)
            case Reduce("sum", (axis,), Ref() as body) if (
                axis is self.axis and self.all_shown and self.axis not in block.axes
            ):
                name = self.leaf(body, block, shown, line)
                if self.axis in meant(body.block).axes and name in self.names:
                    line.leaves[-1] = f"sum({name})"
                    return line.leaves[-1]
            case Count("size", axis) if size_of(axis, self.made):
                return str(size_of(axis, self.made))
        raise _Unsaid

    def leaf(self, ref: Ref, block: Block, shown: set[Block], line: _Line) -> str:
        """Names the line of what is read: that of its block, or one of its neighbours."""
        read = meant(ref.block)
        if read not in shown or not is_plain(read.name) or len(read.axes) != len(ref.at):
            raise _Unsaid
        shift = 0
        for axis, index in zip(read.axes, ref.at, strict=True):
            shift += self.shift(axis, index)
        name = read.name
        if shift:
            name = f"{'next' if shift > 0 else 'before'}_of_{read.name.replace('.', '_')}"
            if name in self.names:
                raise _Unsaid
            line.reads[name] = ref if read is ref.block else Ref(read, ref.at)
        elif read is block:
            raise _Unsaid
        line.leaves.append(name)
        return name

    def shift(self, axis: Axis, index: Index) -> int:
        """Returns by how much an index goes beside the member at hand, along the columns alone."""
        if not isinstance(index, Position) or index.axis is not axis or (index.by and axis is not self.axis):
            raise _Unsaid
        return index.by


def signed(rows: list[PageRow], lines: Mapping[str, _Line]) -> list[PageRow]:
    """Puts the sign of an operation beside its second operand, where both operands stand right above the line."""
    for i in range(2, len(rows)):
        line = lines.get(rows[i].block)
        first, second = rows[i - 2], rows[i - 1]
        if line is None or line.op not in SIGNS or second.equals or second.sign:
            continue
        above = [first.called, second.called]
        if line.leaves == above or (line.op in EITHER_WAY and line.leaves[::-1] == above):
            rows[i - 1] = replace(second, sign=SIGNS[line.op])
    return rows


def _main(block: Block) -> Expr | None:
    """Returns the one equation of a block that is not of an edge; None where there are several, or none."""
    inside = [each.expr for each in block.definitions if all(isinstance(index, Position) for index in each.target)]
    return inside[0] if len(inside) == 1 else None


def is_plain(name: str) -> bool:
    """Tells whether a claim can name a block."""
    return all(re.fullmatch(r"[A-Za-z_]\w*", part) and not iskeyword(part) for part in name.split("."))


def _fits(words: str) -> bool:
    return len(words) <= LONGEST_WORDS and len(words.split()) <= MOST_WORDS


def _cut(words: str, most: int) -> str:
    """Returns words that are no longer than that, with … where something is missing."""
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"
