"""What a blank asks, as feedback says it: words for the cells, and where to look again if no known mistake was made."""

from collections.abc import Iterator
from typing import NamedTuple

from blueprint.classes.key import Key, KeyBlank
from blueprint.classes.typed import base_of
from blueprint.language import Definition, Ref, Values, compute, equation, filled_by, walk
from blueprint.page.outline import Blank, Blueprint
from blueprint.page.to_fill import cells_named

MOST_READ = 6
"""Rows that a hint names."""


class InWords(NamedTuple):
    """A blank in words: what is asked and where, and what to look at again; the latter holds no number of the student's file."""

    asked: str
    hint: str


def in_words(key: Key) -> dict[str, InWords]:
    """Returns the blanks of a class in words, by id."""
    base = base_of(key)
    values = compute(base.blocks(), base.sizes, base.typed, beyond=True)
    return {blank.id: _in_words(blank, base, values) for blank in key.blanks}


def _in_words(each: KeyBlank, base: Blueprint, values: Values) -> InWords:
    block = next(block for block in base.blocks() if block.name == each.block)
    blank = Blank(each.title, block, tuple(map(tuple, each.cells)))
    asked = f"{block.about.meaning or block.name} ({block.symbol})"
    filled = filled_by(block, blank.cells[0], values)
    return InWords(
        ", ".join(filter(None, (asked, cells_named(blank, values)))),
        _hint(blank, filled.definition, each.sheet, base) if filled else "",
    )


def _hint(blank: Blank, definition: Definition, sheet: str, base: Blueprint) -> str:
    across = next((each.across for each in base.sheets if each.title == sheet), ())
    read = list(dict.fromkeys(_read(definition)))
    more = " and what else it reads" if len(read) > MOST_READ else ""
    look = f"; look again at {', '.join(read[:MOST_READ])}{more}" if read else ""
    return f"The equation is {equation(blank.block, definition, frozenset(across))}{look}."


def _read(definition: Definition) -> Iterator[str]:
    """Yields the rows that an equation reads, each with what it is."""
    for node in walk(definition.expr):
        if isinstance(node, Ref):
            about = node.block.about
            yield f"{about.symbol} ({about.meaning})" if about.meaning else about.symbol
