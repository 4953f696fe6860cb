"""What is left out because of blanks: whatever shows an answer, judges it, or derives it again; each with the reason."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from blueprint.book import Book
from blueprint.language import Block, Cell, Constant, Op
from blueprint.page.outline import Blank, Blueprint, blocks_on
from blueprint.worksheets.cutting import Cutter
from blueprint.worksheets.graph import Graph
from blueprint.worksheets.leaks import Search, answers_of, is_plain
from blueprint.worksheets.texts import quoting, texts_of

AGAIN = "derives every step of a column again, with its numbers"
MOST = 0.5
"""The share of the cells of a row whose answers may stand elsewhere, too, where its formula is asked for (the last return is the
last reward)."""
JUDGES = "tells right from wrong before anybody has marked"


@dataclass(frozen=True)
class Left:
    """What is left of a blueprint.

    reasons: what is not there, each with the reason. refused: by the title of a blank, why it cannot be one.
    shown: cells of rows whose answers stand elsewhere, too, in what cannot be left out.
    """

    blueprint: Blueprint
    reasons: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    shown: set[Cell] = field(default_factory=set)


def leave(graph: Graph, book: Book, blanks: Sequence[Blank]) -> Left:
    """Leaves out of a book's blueprint what gives away the answers of blanks."""
    gone = dict(_by_nature(graph, blanks))
    without = Cutter(graph.blueprint, _closed(graph, gone)).cut()
    search = Search(without, book.values, blanks)
    stuck: dict[str, dict[Cell, str]] = {}
    for leak in search.leaks():
        block, title = leak.cell.block, leak.blank.title
        if graph.below_one(block) & _needed(graph, blanks):
            stuck.setdefault(title, {})[leak.of] = (
                f"{_called(leak.cell, book)} shows the same number, and cannot be left out"
            )
        else:
            gone.setdefault(block, f"shows {title}" if leak.typed else f"computes {title} a second way")
    refused = {
        blank.title: next(iter(stuck[blank.title].values()))
        for blank, answers in search.missing
        if len(stuck.get(blank.title, ())) > len(answers) * (MOST if blank.asks == "formula" else 0)
    }
    shown = {cell for title, cells in stuck.items() if title not in refused for cell in cells}
    closed = _closed(graph, gone)
    texts = dict(_quoted(graph, book, blanks))
    left = Cutter(graph.blueprint, closed, texts).cut()
    refused |= {title: "a text that stays quotes its answer" for _, title in _quoted(Graph(left), book, blanks)}
    named = {f"“{text}”": f"quotes {title}" for text, title in texts.items()}
    return Left(left, {**_named(graph.blueprint, left, closed), **named}, refused, shown)


def _by_nature(graph: Graph, blanks: Sequence[Blank]) -> Iterator[tuple[Block, str]]:
    """Yields the blocks that go whatever they show: steps derived again, and verdicts on what depends on a blank."""
    for sheet in graph.derived_again:
        yield from ((block, AGAIN) for block in blocks_on(sheet))
    below = graph.below({blank.block for blank in blanks})
    if below & graph.verdicts:
        yield from ((block, JUDGES) for block in graph.blocks if block in graph.verdicts)
    yield from ((block, JUDGES) for block in below if _is_verdict(block))


def _is_verdict(block: Block) -> bool:
    """Tells whether a block says a word for numbers that meet a condition."""
    tops = [definition.expr for definition in block.definitions]
    return block.text and any(
        isinstance(top, Op) and top.name == "where" and all(isinstance(each, Constant) for each in top.args[1:])
        for top in tops
    )


def _needed(graph: Graph, blanks: Sequence[Blank]) -> set[Block]:
    whole = graph.blueprint
    return {*(blank.block for blank in blanks), *whole.parts, *graph.result}


def _closed(graph: Graph, gone: Mapping[Block, str]) -> dict[Block, str]:
    """Returns the blocks that go, and what reads one of them, with the reason."""
    closed = dict(gone)
    for root in gone:
        for block in graph.below([root]) - closed.keys():
            closed[block] = gone[root] if block.link else f"reads {root.symbol} ({root.name}), which {gone[root]}"
    return closed


def _quoted(graph: Graph, book: Book, blanks: Sequence[Blank]) -> Iterator[tuple[str, str]]:
    """Yields the texts in which the answer of a blank stands, each with the blank."""
    answers = [
        (blank.title, answer, blank.block.about.decimals)
        for blank in blanks
        for answer in answers_of(blank, book.values)
        if not is_plain(answer, blank.block.about.decimals)
    ]
    for text in texts_of(graph.blueprint):
        yield from ((text, title) for title, answer, decimals in answers if quoting(text, answer, decimals))


def _called(cell: Cell, book: Book) -> str:
    try:
        return f"{cell.block.name} in {book.stands(cell.block, cell.places, book.values)}"
    except (KeyError, ValueError):
        return cell.block.name


def _named(before: Blueprint, after: Blueprint, gone: Mapping[Block, str]) -> dict[str, str]:
    """Names what is gone: sheets, sections of those that stay, and rows of those that stay, each with the reason."""
    left = {sheet.title: {section.title for section in sheet.sections} for sheet in after.sheets}
    named: dict[str, str] = {}
    for sheet in before.sheets:
        for section in sheet.sections:
            own = replace(sheet, sections=(section,), head=(), pinned=sheet.pinned if sheet.title not in left else ())
            for block in (block for block in blocks_on(own) if block in gone):
                whole, part = sheet.title not in left, section.title not in left.get(sheet.title, set())
                row = f"{sheet.title}: {block.symbol} ({block.name})"
                title = sheet.title if whole else f"{sheet.title}: {section.title}" if part else row
                if not (block.link and title == row):
                    named.setdefault(title, gone[block])
    return {title: re.sub(r"\s+", " ", why) for title, why in named.items()}
