"""The title card of a book: what it is, what it comes to, and what to ask next, as text and as HTML for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from blueprint.book import Book
    from blueprint.language import Block

SAID = ("numbers", "level", "preset")
"""Facts of a book that its title tells."""
STEPS = 3
"""Names of steps that a card gives as examples."""


class Line(NamedTuple):
    """One number on the card: its symbol, what it is, its name in code, and its value as print."""

    symbol: str
    meaning: str
    name: str
    value: str


def as_text(book: Book) -> str:
    """Returns a card of a few lines."""
    lines = [f"{line.symbol} = {line.value}  {line.meaning}  (book[{line.name!r}])" for line in _numbers(book)]
    return "\n".join([_title(book), *(f"  {line}" for line in lines), f"  {_next(book)}"])


def as_html(book: Book) -> str:
    """Returns the card as HTML; nothing of a book's own texts is read as HTML."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(line.symbol)}</th><td style='text-align:right'>{escape(line.value)}</td>"
        f"<td style='text-align:left'>{escape(line.meaning)}</td><td><code>book[{escape(repr(line.name))}]</code></td></tr>"
        for line in _numbers(book)
    )
    return f"<p><b>{escape(_title(book))}</b></p><table>{rows}</table><p>{escape(_next(book))}</p>"


def _title(book: Book) -> str:
    facts = book.blueprint.facts
    told = [f"{key} {facts[key]}" for key in SAID if facts.get(key)]
    return book.blueprint.title + (f" ({', '.join(told)})" if told else "")


def _numbers(book: Book) -> list[Line]:
    """Lists the result, and what adds up to it."""
    outline = book.blueprint
    return [] if outline.result is None else [_line(book, block) for block in (outline.result, *outline.parts)]


def _line(book: Book, block: Block) -> Line:
    if block.axes:  # a book may lead to a row of them, and to no single number
        sizes = " × ".join(str(book.values.size(axis)) for axis in block.axes)
        return Line(block.symbol, block.about.meaning, block.name, f"a table, {sizes}")
    value = book.values.cell(block)
    shown = f"{value:.{block.about.decimals}f}".replace("-", "−") if isinstance(value, float) else str(value)
    return Line(block.symbol, block.about.meaning, block.name, shown)


def _next(book: Book) -> str:
    """Says what there is, and three steps that one may ask for."""
    steps = [name for name in book.blueprint.derivation if name in book.blocks][:STEPS] or [*book.blocks][:STEPS]
    return f"{len(book.blocks)} quantities: book[name] for one of {', '.join(steps)}, …; book.save(path) writes the workbook"
