"""The notation: axes, blocks, expressions; their values and spellings. It knows no field of knowledge and no file format.

Torch is imported by `evaluate_torch` alone, which is not imported here.
"""

from blueprint.language.axes import Axis, Edge, NotationError, Position, join, require
from blueprint.language.blocks import About, Block, Definition
from blueprint.language.cells import Cell, Members, Read, chain, filled_by, origin, places_of, reads
from blueprint.language.evaluate import Computation, compute, fill, run
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
    rounded,
    size,
    sqrt,
    tanh,
    weighed,
    where,
)  # fmt: skip
from blueprint.language.lost import BEYOND, NoNumber
from blueprint.language.making import again, block, link, reading, transposed, typed
from blueprint.language.nodes import Arithmetic, Constant, Count, Expr, Find, Index, Lookup, Op, Operand, Reduce, Ref
from blueprint.language.schedule import Loop, Step, components, in_order, needs, schedule
from blueprint.language.spelling.excel import EXCEL, excel, picked, spell_formula
from blueprint.language.spelling.latex import escaped, latex_equation, latex_equations, latex_explained, latex_symbol
from blueprint.language.spelling.numbers import explained, printed
from blueprint.language.spelling.text import (
    ANYTHING,
    ATOM,
    TEXT,
    Rule,
    Spelled,
    equation,
    equations,
    reference,
    spell,
    text,
)
from blueprint.language.trees import OFF_WORD, at_member, rebuilt, reindexed, walk
from blueprint.language.values import Array, Ended, Held, Values
from blueprint.language.vectorise import calculation

# Printing is taught to the nodes here, so that they need not know their renderers.
Expr.__str__ = text  # type: ignore[method-assign,assignment]
Block.__str__ = equations  # type: ignore[method-assign,assignment]

__all__ = [
    "ANYTHING", "ATOM", "BEYOND", "EXCEL", "OFF_WORD", "TEXT", "About", "Arithmetic", "Array", "Axis", "Block", "Cell",
    "Computation", "Constant", "Count", "Definition", "Edge", "Ended", "Expr", "Find", "Held", "Index", "Lookup", "Loop", "Max",
    "Members", "NoNumber",
    "NotationError", "Op", "Operand", "Position", "Read", "Reduce", "Ref", "Rule", "Spelled", "Step", "Sum", "Values",
    "again", "at_member", "at_most", "block", "calculation", "chain", "changes", "choose", "components", "compute", "constant",
    "equal", "equation", "equations", "escaped", "excel", "exp", "explained", "fill", "filled", "filled_by", "find", "in_order",
    "is_off", "join", "latex_equation", "latex_equations", "latex_explained", "latex_symbol", "less", "link", "log",
    "match", "maximum", "minimum", "needs", "number", "origin", "picked", "places_of", "printed", "reading", "reads", "rebuilt",
    "reference", "reindexed", "require", "rounded", "run", "schedule", "size", "spell", "spell_formula", "sqrt", "tanh", "text",
    "transposed", "typed", "walk", "weighed", "where",
]  # fmt: skip
