"""RLHF PPO by hand: equations written once become numbers, spreadsheet formulas and printed mathematics."""

import sys as _sys

from blueprint import interrupted as _first  # noqa: F401  # before the others, which take half a second
from blueprint.api import build, check, open, verify
from blueprint.book import Book, book
from blueprint.language import (
    Axis,
    Block,
    Max,
    NotationError,
    Sum,
    at_most,
    block,
    choose,
    equal,
    exp,
    filled,
    find,
    join,
    less,
    link,
    log,
    match,
    maximum,
    minimum,
    number,
    size,
    sqrt,
    tanh,
    typed,
    where,
)
from blueprint.language.gradient import gradient
from blueprint.moved import Moved as _Moved
from blueprint.workbooks.registry import add_kind

__all__ = [
    "Axis",
    "Block",
    "Book",
    "Max",
    "NotationError",
    "Sum",
    "add_kind",
    "at_most",
    "block",
    "book",
    "build",
    "check",
    "choose",
    "equal",
    "exp",
    "filled",
    "find",
    "gradient",
    "join",
    "less",
    "link",
    "log",
    "match",
    "maximum",
    "minimum",
    "number",
    "open",
    "size",
    "sqrt",
    "tanh",
    "typed",
    "verify",
    "where",
]

_sys.meta_path.append(_Moved())
