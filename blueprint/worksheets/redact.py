"""What is left out because of blanks: whatever shows an answer, judges it, or derives it again; each with the reason."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace

import numpy as np

from blueprint.book import Book
from blueprint.language import Axis, Block, Cell, Constant, Expr, Op, Reduce, Ref, walk
from blueprint.page.outline import Blank, Blueprint, Entry, Sample, Sheet, blocks_of, blocks_on
from blueprint.worksheets.cutting import Cutter
from blueprint.worksheets.graph import Graph
from blueprint.worksheets.leaks import Backwards, Leak, Search, Table, is_short

STEPS = 2
"""How many operations a formula has at least that can be told from others."""


def same_formula(asked: Block, other: Block) -> bool:
    """Tells whether a block has the formula of another one, on the same rows, with other settings at most."""
    definitions = list(zip(asked.definitions, other.definitions, strict=False))
    return (
        asked is not other
        and len(asked.definitions) == len(other.definitions)
        and all(
            tuple(map(str, own.target)) == tuple(map(str, its.target)) and _same(own.expr, its.expr, asked, other)
            for own, its in definitions
        )
        and any(sum(isinstance(node, Op) for node in walk(own.expr)) >= STEPS for own, _ in definitions)
    )


def _same(own: Expr, its: Expr, asked: Block, other: Block) -> bool:
    match own, its:
        case Ref(block, at), Ref(read, where):
            alike = _origin(block) is _origin(read) or (block is asked and read is other)
            return tuple(map(str, at)) == tuple(map(str, where)) and (alike or not (block.axes or read.axes))
        case Op(name, args), Op(called, others):
            pairs = zip(args, others, strict=False)
            return name == called and len(args) == len(others) and all(_same(a, b, asked, other) for a, b in pairs)
        case Reduce(name, axes, body), Reduce(called, along, inner):
            return name == called and axes == along and _same(body, inner, asked, other)
        case Constant(value), Constant(number):
            return value == number
    return False


def _origin(block: Block) -> Block:
    """Returns the block that a link repeats, link after link; any other block itself."""
    while block.link:
        block = next(node.block for node in walk(block.definitions[-1].expr) if isinstance(node, Ref))
    return block


NUMBER = re.compile(r"(?<![\w.,])[-+−]?\d+(?:[.,]\d+)?(?:[eE][-+−]?\d+)?(?![\w]|[.,]\d)")
DIGITS = 3
"""How many digits after its leading zeros a number in a text must have, so that it is no coincidence that an answer has them."""


class Quoted:
    """The numbers that stand in texts, each with half a unit of its last digit."""

    def __init__(self, texts: Iterable[str]):
        found = [
            (text, *read) for text in dict.fromkeys(texts) for each in NUMBER.findall(text) if (read := _read(each))
        ]
        self.texts = [text for text, _, _ in found]
        self.numbers, self.units = (np.array([each[i] for each in found], dtype=float) for i in (1, 2))

    def quoting(self, answer: float, decimals: int) -> list[str]:
        """Returns the texts that quote an answer, or its negative, with the decimals that a page shows or more."""
        near = abs(self.numbers - abs(answer)) <= 0.5000001 * self.units
        return [self.texts[i] for i in np.flatnonzero(near & (self.units < 1.5 * 10.0**-decimals))]


def _read(number: str) -> tuple[float, float] | None:
    """Returns the size of a number that stands in a text, and the unit of its last digit; None for one of too few digits."""
    plain = number.replace("−", "-").replace(",", ".").lstrip("+-")
    mantissa, _, exponent = plain.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    if len((whole + decimals).lstrip("0")) < DIGITS or len(exponent) > DIGITS:
        return None
    return float(plain), 10.0 ** (int(exponent or 0) - len(decimals))


def texts_of(blueprint: Blueprint) -> Iterator[str]:
    """Yields every text that a file of a blueprint shows: titles, sentences, notes, what blocks say of themselves, facts."""
    yield from (blueprint.title, *blueprint.notes.values(), *blueprint.facts.values())
    yield from texts_in(blueprint.sheets)
    for block in blueprint.blocks():
        about = block.about
        yield from (about.symbol, about.meaning, about.unit, about.source)
        if block.typed and block.text:
            yield from texts_in(blueprint.typed[block])


def texts_in(part: object) -> Iterator[str]:
    """Yields the texts in a part of an outline; what blocks say of themselves is not in it."""
    match part:
        case str():
            yield part
        case Block() | Axis():
            return
        case dict():
            yield from part.keys()
        case tuple() | list():
            for each in part:
                yield from texts_in(each)
        case _ if is_dataclass(part):
            for each in fields(part):
                yield from texts_in(getattr(part, each.name))


AGAIN = "derives every step of a column again, with its numbers"
TRIES = "proposes changes, and tells what each of them leads to"
MOST = 0.5
"""The share of the cells of a row whose answers may stand elsewhere, too, where its formula is asked for (the last return is the
last reward)."""
SEVERAL = 5
"""How many rows of a sheet are named one by one."""
JUDGES = "tells right from wrong before anybody has marked"


@dataclass(frozen=True)
class Left:
    """What is left of a blueprint.

    reasons: what is not there, each with the reason. refused: by the title of a blank, why it cannot be one.
    shown: cells of rows whose answers stand elsewhere, too, in what cannot be left out, and those of which it is a coincidence.
    """

    blueprint: Blueprint
    reasons: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    shown: set[Cell] = field(default_factory=set)


class Leaver:
    """Leaves out of a book's blueprint what gives away the answers of blanks; what it has computed once it keeps."""

    def __init__(self, graph: Graph, book: Book):
        self.graph, self.book = graph, book
        self.tables: dict[tuple[tuple[Blank, ...], bool], Table] = {}
        self.quoted, self.backwards = Quoted(texts_of(graph.blueprint)), Backwards(graph.blocks, book.values)

    def leave(self, blanks: Sequence[Blank]) -> Left:
        """Returns what is left, and which blanks are given away by what cannot be left out."""
        graph, gone = self.graph, dict(_by_nature(self.graph, blanks))
        search = Search(graph.blueprint, self.book.values, blanks, graph=graph)
        search.tables, search.backwards = self.tables, self.backwards
        stuck: dict[str, dict[Cell, Leak]] = {}
        chance: set[Cell] = set()
        needed = {*(blank.block for blank in blanks), *graph.blueprint.parts, *graph.result}
        gone = {**dict(self._alike(blanks, needed)), **gone}
        away = _closed(graph, gone)
        for leak in (leak for leak in search.leaks() if leak.cell.block not in away):
            block, title = leak.cell.block, leak.blank.title
            is_needed = bool(graph.below_one(block) & needed)
            if self._is_chance(leak, is_needed):
                chance.add(leak.of)
            elif is_needed:
                stuck.setdefault(title, {}).setdefault(leak.of, leak)
            else:
                gone.setdefault(block, _reason(leak))
        refused = {
            blank.title: _refusal(next(iter(stuck[blank.title].values())), self.book)
            for blank, answers in search.missing
            if len(stuck.get(blank.title, ())) > len(answers) * (MOST if blank.asks == "formula" else 0)
        }
        shown = chance | {cell for title, cells in stuck.items() if title not in refused for cell in cells}
        return self._left(search, _closed(graph, gone), refused, shown)

    def _is_chance(self, leak: Leak, needed: bool) -> bool:
        """Tells whether it is a coincidence of these numbers that a cell shows an answer.

        So it is with an input from which something is computed, and with a number of few digits that stands anywhere else than
        the answer does.
        """
        if leak.typed and (needed or self.graph.readers[leak.cell.block]):
            return True
        (block, places), (other, there) = leak.of, leak.cell
        along = [axis.extent for axis in block.axes] == [axis.extent for axis in other.axes] and places == there
        return is_short(float(self.book.values.cell(block, *places))) and (needed or leak.typed or not along)

    def _alike(self, blanks: Sequence[Blank], needed: set[Block]) -> Iterator[tuple[Block, str]]:
        """Yields the blocks that have a formula that is asked for, with other settings, and can be done without."""
        for blank in (blank for blank in blanks if blank.asks == "formula"):
            for block in self.graph.blocks:
                if same_formula(blank.block, block) and not self.graph.below_one(block) & needed:
                    yield block, f"has the formula of {blank.title}"

    def _left(self, search: Search, gone: Mapping[Block, str], refused: dict[str, str], shown: set[Cell]) -> Left:
        """Cuts out blocks and the texts that quote an answer."""
        texts: dict[str, str] = {}
        for blank, answers in search.missing:
            for answer in answers.values():
                texts |= dict.fromkeys(self.quoted.quoting(answer, blank.block.about.decimals), blank.title)
        measured = dict(self._measured(search.blanks))
        left = Cutter(self.graph.blueprint, gone, {**texts, **measured}).cut()
        for text in texts.keys() & set(texts_of(left)):
            refused.setdefault(texts[text], f"“{text}” quotes its answer, and cannot be left out")
        samples = {
            item.text for _, _, item in self.graph.items() if isinstance(item, Sample)
        }  # they stay, with another text
        whole = self.graph.blueprint
        kept = set(texts_of(replace(whole, sheets=tuple(sheet for sheet in whole.sheets if not sheet.tries))))
        why = measured | {text: f"quotes {title}" for text, title in texts.items() if text not in samples}
        tried = {sheet.title: TRIES for sheet in whole.sheets if sheet.tries}
        named = tried | {_masked(text, whole): reason for text, reason in why.items() if text in kept}
        return Left(left, {**_named(self.graph.blueprint, left, gone), **named}, refused, shown)

    def _measured(self, blanks: Sequence[Blank]) -> Iterator[tuple[str, str]]:
        """Yields the texts that tell what a single number comes to that waits for a blank, each with the reason."""
        below = self.graph.below({blank.block for blank in blanks})
        for block in (
            block for block in self.graph.order if block in below and not (block.axes or block.text or block.limit)
        ):
            quoting = self.quoted.quoting(float(self.book.values.cell(block)), block.about.decimals)
            yield from ((text, f"tells what {block.symbol} ({block.name}) comes to, which waits") for text in quoting)


def _by_nature(graph: Graph, blanks: Sequence[Blank]) -> Iterator[tuple[Block, str]]:
    """Yields the blocks that go whatever they show: steps derived again, and verdicts on what depends on a blank."""
    for sheet in graph.derived_again:
        yield from ((block, AGAIN) for block in blocks_on(sheet))
    below = graph.below({blank.block for blank in blanks})
    if below & graph.verdicts:
        yield from ((block, JUDGES) for block in graph.blocks if block in graph.verdicts)
    for block in (block for block in below if block.text):  # it may say a word for numbers that meet a condition
        tops = [
            top for definition in block.definitions if isinstance(top := definition.expr, Op) and top.name == "where"
        ]
        if any(all(isinstance(each, Constant) for each in top.args[1:]) for top in tops):
            yield block, JUDGES


def _closed(graph: Graph, gone: Mapping[Block, str]) -> dict[Block, str]:
    """Returns the blocks that go, and what reads one of them, with the reason."""
    closed = dict(gone)
    for root in gone:
        for block in graph.below([root]) - closed.keys():
            closed[block] = gone[root] if block.link else f"reads {root.symbol} ({root.name}), which {gone[root]}"
    return closed


def _reason(leak: Leak) -> str:
    if leak.backwards:
        return f"has {leak.blank.title} within its formula, so that it follows backwards"
    return f"shows {leak.blank.title}" if leak.typed else f"computes {leak.blank.title} a second way"


def _refusal(leak: Leak, book: Book) -> str:
    block, places = leak.cell
    cell = block.name
    with suppress(KeyError, ValueError):  # it stands on no sheet
        cell = f"{block.name} in {book.stands(block, places, book.values)}"
    if leak.backwards:
        return f"it follows from {cell}, which has it within its formula and is needed"
    return f"{cell} shows the same number, and is needed"


def _named(before: Blueprint, after: Blueprint, gone: Mapping[Block, str]) -> dict[str, str]:
    """Names what is gone: sheets, and sections and rows of those that stay; many rows of a sheet by the first of them."""
    left = {sheet.title: {section.title for section in sheet.sections} for sheet in after.sheets}
    named: dict[str, str] = {}
    for sheet in before.sheets:
        lost = {block: section for section, block in _standing(sheet) if block in gone}
        if not lost:
            continue
        if sheet.title not in left:
            named[sheet.title] = gone[next(iter(lost))]
            continue
        rows: dict[str, str] = {}
        for block, section in lost.items():
            whole = section not in left[sheet.title]
            if whole or not block.link:
                rows.setdefault(section if whole else f"{block.symbol} ({block.name})", gone[block])
        listed = [f"{sheet.title}: {title}" for title in rows]
        more = f" and {len(rows) - 1} more there" if len(rows) > SEVERAL else ""
        named |= dict(zip([f"{listed[0]}{more}"] if more else listed, rows.values(), strict=False))
    return named


def _masked(text: str, blueprint: Blueprint) -> str:
    """Names a text by its sheet and its words, or those that it stands beside, without numbers: one of them is an answer."""
    for sheet in blueprint.sheets:
        for item in sheet.items():
            if text in set(texts_in(item)):
                words = [each for each in item.cells if isinstance(each, str)] if isinstance(item, Entry) else [text]
                return f"{sheet.title}: “{NUMBER.sub('…', words[0])}”"
    return f"Notes: “{NUMBER.sub('…', text)}”"


def _standing(sheet: Sheet) -> Iterator[tuple[str, Block]]:
    """Yields the blocks of a sheet, each with the title of its section."""
    for section in sheet.sections:
        yield from ((section.title, block) for item in section.items for block in blocks_of(item))
    yield from (("", block) for item in sheet.pinned for block in blocks_of(item))
