"""The notation: axes, blocks, expressions; their values and spellings. It knows no field of knowledge, no file format, no torch."""

from blueprint.language.axes import Axis, join
from blueprint.language.blocks import Block
from blueprint.language.errors import NoNumber, NotationError
from blueprint.language.evaluate import compute
from blueprint.language.functions import (
    Max,
    Sum,
    at_most,
    changes,
    choose,
    constant,
    equal,
    exp,
    filled,
    find,
    is_off,
    less,
    log,
    match,
    maximum,
    minimum,
    number,
    size,
    sqrt,
    tanh,
    where,
)
from blueprint.language.making import block, link, transposed, typed
from blueprint.language.nodes import Expr, Operand
from blueprint.language.spelling.text import equations, text
from blueprint.language.values import Values

# Printing is taught to the nodes here, so that they need not know their renderers.
Expr.__str__ = text  # type: ignore[method-assign,assignment]
Block.__str__ = equations  # type: ignore[method-assign,assignment]

__all__ = [
    "Axis",
    "Block",
    "Expr",
    "Max",
    "NoNumber",
    "NotationError",
    "Operand",
    "Sum",
    "Values",
    "at_most",
    "block",
    "changes",
    "choose",
    "compute",
    "constant",
    "equal",
    "equations",
    "exp",
    "filled",
    "find",
    "is_off",
    "join",
    "less",
    "link",
    "log",
    "match",
    "maximum",
    "minimum",
    "number",
    "size",
    "sqrt",
    "tanh",
    "transposed",
    "typed",
    "where",
]
