"""RLHF PPO by hand: equations written once become numbers, spreadsheet formulas and printed mathematics."""

from blueprint.book import Book, book
from blueprint.language import (
    Axis,
    Block,
    Max,
    NotationError,
    Sum,
    block,
    exp,
    find,
    join,
    less,
    log,
    maximum,
    minimum,
    typed,
    where,
)

__all__ = [
    "Axis",
    "Block",
    "Book",
    "Max",
    "NotationError",
    "Sum",
    "block",
    "book",
    "exp",
    "find",
    "join",
    "less",
    "log",
    "maximum",
    "minimum",
    "typed",
    "where",
]
