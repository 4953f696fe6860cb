"""An explanation: from what is asked for to the tree of a cell, its equation with the numbers put in, and the same of every cell
that it reads; as text, in which every cell stands once, indented below the cell that reads it, as LaTeX, and as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from blueprint.explaining import cells
from blueprint.explaining.cells import Spots, block_at, parse_address, places_named, repeated
from blueprint.language import (
    Axis,
    Block,
    Cell,
    Ended,
    NotationError,
    Read,
    Values,
    chain,
    equations,
    escaped,
    latex_equation,
    latex_explained,
    latex_symbol,
    origin,
    printed,
    require,
)
from blueprint.page import grid, outline
from blueprint.page.cells import formula_at
from blueprint.page.grid import Address

if TYPE_CHECKING:
    from blueprint.book import Book


@dataclass(frozen=True)
class Span:
    """Cells that a sum, a maximum or a search goes through: `reads[first:last]` of an explanation.

    label: `W[i, h1]`.
    cell:  their range in the workbook.
    of:    how many there are; terms that are 0 are not among the reads.
    """

    label: str
    cell: str
    first: int
    last: int
    of: int


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """One cell and what it comes from.

    name:     the block's name. `label` is the cell as equations write it: `A[1, 5]`.
    at:       the cell's members, by letter: {"n": 1, "t": 5}.
    cell:     where it stands in the workbook; empty if it stands nowhere.
    equation: the equation; empty for a typed cell.
    numbers:  the equation with the numbers put in, and = the value; of a typed cell the value alone.
    blank:    what a worksheet's cell is, a blank that is filled in or not, or one that waits for such; "" of any other.
    said:     what the file shows in the cell, where that is not the value; None where it is.
    reads:    what the equation reads, in its order; each cell is one object, however often it is read.
    spans:    which of the reads are one sum, maximum or search.
    more:     whether it reads something that is not among `reads`, because the depth was reached.
    here:     the cell itself and the numbers, for other ways to spell it.
    depth:    of the first cell: how many steps were asked for; None for all.
    head:     of the first cell: what stands above its column, its source, how it was found.
    """

    name: str
    label: str
    symbol: str
    meaning: str
    unit: str
    source: str
    at: Mapping[str, int]
    cell: str
    equation: str
    numbers: str
    value: float | str
    here: tuple[Cell, Values]
    typed: bool = False
    blank: str = ""
    said: float | str | None = None
    reads: tuple[Explanation, ...] = ()
    spans: tuple[Span, ...] = ()
    more: bool = False
    depth: int | None = None
    head: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Returns the text: what stands above the cell, the chain, and how to see more of it."""
        lines = [*self.head, *_Printer(self).lines]
        cut = sum(each.more for each, _ in self.nearest())
        if cut and self.depth is not None:
            cells = "1 cell marked … is" if cut == 1 else f"{cut} cells marked … are"
            further = f"--depth {self.depth + 1} goes one step further, --depth all down to the inputs."
            lines += ["", f"{cells} not opened: {further}"]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<explanation of {self.label}: {self.numbers}>"

    def nearest(self) -> list[tuple[Explanation, Explanation]]:
        """Lists every cell below this one with the one that it is opened under: the nearest that reads it."""
        home: dict[Explanation, Explanation] = {self: self}
        queue = [self]
        for parent in queue:  # which grows by what is found
            new = [each for each in dict.fromkeys(parent.reads) if each not in home]
            home |= dict.fromkeys(new, parent)
            queue += new
        return list(home.items())[1:]

    def latex(self) -> str:
        """Returns an aligned environment, to be put into mathematics: `\\[ … \\]`.

        An equation stands there once, with the numbers of each of its cells; cells of sums only where they are opened.
        """
        lines: dict[str, list[str]] = {}
        for each in [self, *(each for each, parent in self.nearest() if each.reads or not _in_a_span(each, parent))]:
            cell, values = each.here
            shown = r"\ldots" if each.blank else latex_explained(*cell, values)
            lines.setdefault(latex_equation(*cell, values), []).append(f"{_label(each)} &= {shown}")
        groups = [" \\\\\n".join(filter(None, [equation, *cells])) for equation, cells in lines.items()]
        return "\\begin{aligned}\n" + " \\\\[1ex]\n".join(groups) + "\n\\end{aligned}"

    def to_dict(self) -> dict[str, Any]:
        """Returns {"top": key, "cells": {key: facts}}: every cell once, by its address, the nearest to the top first.

        `reads` lists the keys of what a cell's equation reads, in its order; `complete` is false where the depth was reached. A
        blank value is None; one that ended is the error that a spreadsheet shows. `said` stands only where a file shows another
        value, `blank` only in a worksheet.
        """
        return {
            "top": _key(self),
            "cells": {_key(each): _facts(each) for each in [self, *(each for each, _ in self.nearest())]},
        }


def explanation(cell: Cell, book: Book, depth: int | None, head: tuple[str, ...]) -> Explanation:
    """Explains a cell and what it reads, `depth` steps down; without depth to the typed cells."""
    opened = chain(cell, book.reads, depth)
    made: dict[Cell, Explanation] = {}
    for each in TopologicalSorter({each: _cells(found) for each, found in opened.items()}).static_order():
        made[each] = _one(each, opened.get(each), made, book)
    return replace(made[cell], depth=depth, head=head)


def _one(cell: Cell, found: tuple[Read, ...] | None, made: Mapping[Cell, Explanation], book: Book) -> Explanation:
    block, values = cell.block, book.values
    equation, numbers = book.spelled(cell)
    return Explanation(
        name=block.name,
        label=cells.label(cell, book.blueprint.names, values),
        symbol=block.symbol,
        meaning=block.about.meaning,
        unit=block.about.unit,
        source=block.about.source,
        at={axis.letter: place + axis.start for axis, place in zip(block.axes, cell.places, strict=True)},
        cell=_address((cell,), book),
        equation=equation,
        numbers=numbers,
        value=values.cell(block, *cell.places),
        here=(cell, values),
        typed=book.typed(block),
        blank=book.blank(cell),
        said=book.said(cell),
        reads=tuple(made[each] for each in _cells(found or ())),
        spans=tuple(_spans(found or (), book)),
        more=found is None and bool(book.reads(cell)),
    )


def _cells(found: tuple[Read, ...]) -> list[Cell]:
    return [cell for read in found for cell in read.cells]


def _spans(found: tuple[Read, ...], book: Book) -> Iterator[Span]:
    first = 0
    for read in found:
        last = first + len(read.cells)
        if read.over:
            named = cells.span_label(read, book.blueprint.names, book.values)
            yield Span(named, _address(read.cells, book), first, last, read.of)
        first = last


def _address(held: tuple[Cell, ...], book: Book) -> str:
    """Returns where cells of one block stand; nothing if it stands nowhere."""
    spot = book.spots.get(held[0].block.name)
    return cells.range_of(spot.stands(cell.places) for cell in held) if spot else ""


class Shown(NamedTuple):
    """One cell in four ways, and where it stands."""

    equation: str
    numbers: str
    formula: str
    value: float | str
    cell: str

    def __str__(self) -> str:
        return f"{self.equation}\n{self.numbers}\n{self.cell}: {self.formula}\n{self.value}"


def shown(book: Book, block: Block, members: Mapping[str, int | str]) -> Shown:
    """Shows the cell of a block at members that are named as the page counts them."""
    at = cells.places_named(block, members, book.blueprint.names, book.values)
    equation, numbers = book.spelled(Cell(block, at))
    formula, cell = formula_at(block, at, book.layout), book.layout.address(block, at)
    return Shown(equation or equations(block), numbers, formula, book.values.cell(block, *at), cell)


STEP = " " * 4
DEEPEST = 12
"""From here on the indentation stays and a number gives the depth."""
FIELDS = (
    "name", "label", "symbol", "meaning", "at", "cell", "equation", "numbers", "value", "unit", "source", "typed",
)  # fmt: skip


class _Printer:
    """Prints cell after cell; what a block means is said where its first cell is printed."""

    def __init__(self, top: Explanation):
        self.home = dict(top.nearest())
        self.meanings = {each.name: each.meaning for each in (top, *self.home)}
        self.printed: set[Explanation] = set()
        self.lines: list[str] = []
        left: list[tuple[Explanation | str, int]] = [(top, 0)]
        while left:
            item, level = left.pop()
            if isinstance(item, str):
                self.say(item, level)
            else:
                left += [(each, level + 1) for each in reversed(self.cell(item, level))]

    def say(self, line: str, level: int) -> None:
        """Prints a line at its level."""
        self.lines.append(STEP * min(level, DEEPEST) + f"[{level}] " * (level > DEEPEST) + line)

    def cell(self, cell: Explanation, level: int) -> list[Explanation | str]:
        """Prints a cell in one line, or opens it; returns what comes below it."""
        self.printed.add(cell)
        self.say(self.line(cell), level)
        if not cell.reads and not (level == 0 and cell.equation):
            return []
        below, others = self.below(cell), self.others(cell)
        for line in filter(None, (cell.equation, cell.numbers, others and f"with {others}")):
            self.say(f"  {line}", level)
        return below

    def line(self, cell: Explanation) -> str:
        """Names a cell with its value, its block and its place."""
        place = ", ".join(filter(None, (cell.name, cell.cell, "typed" if cell.typed else "", cell.blank)))
        shown = "" if cell.said is None else f"but the file says {printed(cell.said)}"
        end = "…" if cell.more else "" if cell.reads else cell.equation
        return "  ".join(filter(None, (f"{_value(cell)}  ({place})", shown, self.meanings.pop(cell.name, ""), end)))

    def below(self, cell: Explanation) -> list[Explanation | str]:
        """Lists what comes under a cell: the lines of its sums, and the cells whose place is here."""
        spans = {span.first: span for span in cell.spans}
        listed: list[Explanation | str] = []
        end = 0
        for i, each in enumerate(cell.reads):
            if i in spans:
                end = spans[i].last
                listed.append(self.span(cell, spans[i]))
            if self.home[each] is cell and each not in listed and each not in self.printed:
                if i < end and not each.reads:
                    self.printed.add(each)  # the line of its span covers it
                else:
                    listed.append(each)
        return listed

    def span(self, cell: Explanation, span: Span) -> str:
        """Says what the cells of a sum are; those that read something are opened below."""
        members = cell.reads[span.first : span.last]
        first, zeros, here = members[0], len(members) < span.of, any(self.home[each] is cell for each in members)
        count = f"{len(members)} of " * zeros + f"{span.of} cells" + ", typed" * first.typed
        place = ", ".join(filter(None, (first.name, span.cell))) + f": {count}" + "; the other terms are 0" * zeros
        cut = "…" if any(each.more for each in members) else ""
        away = cut if here else "(above)" if first in self.printed else "(below)"
        return "  ".join(filter(None, (f"{span.label}  ({place})", self.meanings.pop(first.name, ""), away)))

    def others(self, cell: Explanation) -> str:
        """Names the single cells that are opened elsewhere."""
        spanned = {i for span in cell.spans for i in range(span.first, span.last)}
        single = [each for i, each in enumerate(cell.reads) if i not in spanned and self.home[each] is not cell]
        above = ", ".join(_value(each) for each in single if each in self.printed)
        below = ", ".join(_value(each) for each in single if each not in self.printed)
        return "; ".join(f"{cells} ({way})" for cells, way in ((above, "above"), (below, "below")) if cells)


def _value(cell: Explanation) -> str:
    return f"{cell.label} = {'…' if cell.blank and cell.value != cell.value else printed(cell.value)}"


def _in_a_span(cell: Explanation, parent: Explanation) -> bool:
    return any(cell is each for span in parent.spans for each in parent.reads[span.first : span.last])


def _label(cell: Explanation) -> str:
    symbol, inside = latex_symbol(cell.symbol), cell.label[len(cell.symbol) + 1 : -1]
    named = re.sub("“(?P<word>.*?)”|(?P<letters>[^,“]+)", _member, inside)
    return f"{{{symbol}}}_{{{named}}}" if inside else symbol


def _member(found: re.Match[str]) -> str:
    """Spells a member: a word as text, letters and numbers as a symbol."""
    return r"\text{``" + escaped(found["word"]) + "''}" if found["letters"] is None else latex_symbol(found["letters"])


def _key(cell: Explanation) -> str:
    """Returns the address; of a cell that stands nowhere its block's name and its members."""
    return cell.cell or f"{cell.name}[{', '.join(map(str, cell.at.values()))}]"


def _facts(cell: Explanation) -> dict[str, Any]:
    facts = {field: getattr(cell, field) for field in FIELDS}
    value = cell.value.error if isinstance(cell.value, Ended) else None if cell.value != cell.value else cell.value
    facts |= {"at": dict(cell.at), "value": value}
    shown = {} if cell.said is None else {"said": cell.said}
    blank = {"blank": cell.blank} if cell.blank else {}
    return facts | shown | blank | {"complete": not cell.more, "reads": list(dict.fromkeys(map(_key, cell.reads)))}


NEAR = 3
"""How many rows away a block may stand to be named for an address where there is none."""


def explain(book: Book, what: Block | str, depth: int | None, members: Mapping[str, int | str]) -> Explanation:
    """Explains a block's cell or the cell at an address. Raises NotationError if there is none, or no step to go."""
    require(
        depth is None or (isinstance(depth, int) and depth >= 1),
        f"depth {depth}: an explanation goes 1 step down or more",
    )
    followed: list[str] = []
    if isinstance(what, str) and is_address(what, book.blocks, members):
        cell, followed = _at_address(what, book)
    else:
        block = what if isinstance(what, Block) else block_named(what, book.blocks)
        cell = Cell(block, places_named(block, members, book.blueprint.names, book.values))
    first = origin(cell, book.values)
    source, repeats = first.block.about.source, f"{cell.block.name} repeats {first.block.name}"
    head = [_column(first, book), source and f"source: {source}", *followed, book.ended(cell), book.doubts(cell)]
    return explanation(first, book, depth, tuple(filter(None, [*head, repeats * (first.block is not cell.block)])))


def _at_address(text: str, book: Book) -> tuple[Cell, list[str]]:
    """Finds the cell at an address, through cells that only show another one, each of which it notes."""
    passed = [parse_address(text, book.sheets)]
    spots = {name: spot for name, spot in book.spots.items() if name in book.blocks}
    while (found := block_at(passed[-1], spots)) is None:
        shown = repeated(book.formula(passed[-1]))
        target = _target(shown, passed[-1], book) if shown else None
        if target is None or target in passed:
            raise NotationError(nothing_at(passed[-1], book.blocks, spots, book.linked(passed[-1])))
        passed.append(target)
    return Cell(book.blocks[found[0]], found[1]), [f"{one} shows {next_}" for one, next_ in pairwise(passed)]


def _target(shown: str, here: Address, book: Book) -> Address | None:
    """Returns the address that a reference in a formula means; None if it is no cell."""
    for name, block in book.blocks.items():
        if grid.defined_name(name).casefold() == shown.casefold() and not block.axes and name in book.spots:
            return book.spots[name].stands(())
    try:
        return parse_address(shown if "!" in shown else f"{here.sheet}!{shown}", book.sheets)
    except NotationError:
        return None


def _column(cell: Cell, book: Book) -> str:
    """Says what stands above a cell's column: which word is read and written there, and whether it counts."""
    sheet = next(
        sheet for sheet in book.blueprint.sheets if any(each is cell.block for each in outline.blocks_on(sheet))
    )
    at = {axis: place for axis, place in zip(cell.block.axes, cell.places, strict=True) if axis in sheet.across}
    where = ", ".join(f"{_way(axis, place, book)} {axis.letter} = {place + axis.start}" for axis, place in at.items())
    above = (_above(block, at, book.values) for block in sheet.head if at and block is not cell.block)
    return ": ".join(filter(None, (where, ", ".join(filter(None, above)))))


def _way(axis: Axis, place: int, book: Book) -> str:
    past = place == book.values.size(axis)
    return "start column" if place < 0 else "end column" if past else book.blueprint.called(axis).meaning


def _above(block: Block, at: Mapping[Axis, int], values: Values) -> str:
    try:
        shown = printed(values.cell(block, *(at[axis] for axis in block.axes)))
    except (KeyError, IndexError):  # it has other axes, or no start or end column
        return ""
    return f"{block.symbol} {shown}" if block.text else f"{block.symbol} = {shown}"


def is_address(text: str, blocks: Mapping[str, Block], members: Iterable[str]) -> bool:
    """Says whether an address is asked for, or else a block. Raises NotationError if it is one, with members."""
    if "!" not in text or text in blocks:
        return False
    if named := list(members):
        raise NotationError(f"{text} is one cell already: leave out {_listed(named, 'and')}")
    return True


GREEK = {"beta": "β", "delta": "δ", "epsilon": "ε", "gamma": "γ", "lambda": "λ", "rho": "ρ", "tau": "τ"}
"""Letters by their names, as people type them."""
MISTYPED = 0.75
"""How alike a name and what was typed are where letters were mistyped, and no other word was meant."""
_CELL_ALONE = re.compile(r"\$?[A-Za-z]{1,3}\$?[1-9][0-9]*")
"""An address without its sheet."""


def block_named(text: str, blocks: Mapping[str, Block]) -> Block:
    """Finds a block by its name (case does not matter, `old_logprobs` will do), or by a symbol that is its alone.

    Raises NotationError, with the nearest names, if there is none, or if a symbol stands for several.
    """
    if not isinstance(text, str):
        raise NotationError(f"{text!r}: ask for a block by its name, or for a cell by its address, such as 'Loss!N51'")
    by_symbol = [block for block in blocks.values() if block.symbol == text and not block.link]
    by_name = [block for name, block in blocks.items() if _in_small_letters(name) == _in_small_letters(text)]
    matching = [blocks[text]] if text in blocks else by_symbol or by_name
    if len(matching) > 1:
        raise NotationError(
            f"{text} stands for {_listed([block.name for block in matching], 'and')}: write one of these names"
        )
    if matching:
        return matching[0]
    if _CELL_ALONE.fullmatch(text):
        raise NotationError(f"there is no block {text!r}: of a cell write its sheet, too, such as 'Loss!{text}'")
    near = _near(_in_small_letters(text), {name: block for name, block in blocks.items() if not block.link})
    hint = f"did you mean {_listed(near, 'or')}?" if near else "the sheet Contents lists the names of all"
    raise NotationError(f"there is no block {text!r}: {hint}")


def _near(plain: str, blocks: Mapping[str, Block]) -> list[str]:
    """Returns up to three names that may be meant: by a Greek letter, by letters, or by a word of what it means or of its name."""
    by_letter = [name for name, block in blocks.items() if plain in GREEK and block.symbol == GREEK[plain]]
    by_plain = {_in_small_letters(name): name for name in blocks}
    alike = [by_plain[each] for each in get_close_matches(plain, by_plain, 3)]
    mistyped = get_close_matches(plain, by_plain, 1, MISTYPED)
    ends = [name for name in sorted(blocks, key=len) if name.endswith(f"_{plain}") and "." not in name]  # total_loss
    parts = sorted((by_plain[each] for each in by_plain if plain in each.split("_")), key=len)
    word = re.compile(rf"\b{re.escape(plain)}\b", re.IGNORECASE)
    said = [name for name, block in blocks.items() if plain and word.search(block.about.meaning)]
    meant = sorted(said, key=lambda name: not blocks[name].axes)  # a row comes before a setting of it
    by_word = [*dict.fromkeys([*ends, *meant[:1], *parts])]
    return (by_letter or (alike if mistyped or not ends else []) or by_word)[:3]


def nothing_at(address: Address, blocks: Mapping[str, Block], spots: Spots, linked: bool) -> str:
    """Says of an address where no block stands what is near; `linked` is whether a link to a block is in its row."""
    here = {name: spot for name, spot in spots.items() if spot.sheet == address.sheet}
    row = min((row for spot in here.values() for row in spot.rows()), key=lambda row: abs(row - address.row), default=0)
    if not here or abs(row - address.row) > NEAR:
        by_name = "ask for a block by its name, which stands on the sheet Contents"
        by_link = "if it shows what stands elsewhere, follow the link beside it"
        return f"{address} belongs to no block: {by_link if linked else by_name}"
    near = [(name, spot.columns()) for name, spot in here.items() if row in spot.rows()]
    held = "; ".join(f"{blocks[name].symbol} ({name}), {columns}" for name, columns in near[:3])
    where = f"row {row} holds" if row == address.row else f"the nearest row with numbers, {row}, holds"
    return f"{address} belongs to no block: {where} {held}"


def _listed(listed: list[str], word: str) -> str:
    *first, last = listed
    return f"{', '.join(first)} {word} {last}" if first else last


def _in_small_letters(name: str) -> str:
    return name.casefold().replace(".", "_")
