"""Rows that are one number whatever a file holds, because what they stand for is switched off: no library has code for them.

Under settings without a filter of tokens, `keep` is 1 everywhere. To double it, or to add it where it multiplies, is nobody's
mistake, and has the same numbers as doubling what it multiplies. So an equation is changed as it is without such rows. Which rows
are in force without them, and which ones other settings have otherwise, is told here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

from blueprint.language import Block, Constant, Edge, Expr, Op, Ref, rebuilt, text, walk
from blueprint.misconceptions.rewriting import is_setting
from blueprint.verifying.definitions import Equations

COMPUTED: Mapping[str, Callable[..., float]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a: -a, "maximum": max,
    "minimum": min, "less": lambda a, b: float(a < b), "at_most": lambda a, b: float(a <= b),
    "equal": lambda a, b: float(a == b),
}  # fmt: skip


@lru_cache(maxsize=64)
def constant_rows(equations: Equations) -> Mapping[Block, float]:
    """Returns the rows that are one number, and which; a row with an end column of its own is none."""
    found = dict[Block, float]()
    for row in equations.rows.values():
        if (
            len(row.definitions) == 1
            and not row.text
            and not any(isinstance(at, Edge) for at in row.definitions[0].target)
        ):
            value = _value(row.definitions[0].expr, found)
            if value is not None:
                found[row] = value
    return found


def _value(expr: Expr, known: Mapping[Block, float]) -> float | None:
    """Returns the number that an expression is, None where it reads something else."""
    match expr:
        case Constant(int() as number):
            return float(number)
        case Ref(block):
            return known.get(block)
        case Op("at_most", (Ref(held), Ref(limit))) if source(held) is source(limit):  # a limit that is off
            return 1.0
        case Op("where", (test, then, otherwise)):
            holds, one, other = (_value(each, known) for each in (test, then, otherwise))
            if holds is None:
                return one if one == other else None
            return one if holds else other
        case Op(name, args) if name in COMPUTED:
            values = [_value(each, known) for each in args]
            if name == "mul" and 0.0 in values:
                return 0.0
            numbers = [each for each in values if each is not None]
            return COMPUTED[name](*numbers) if len(numbers) == len(values) else None
    return None


def source(block: Block) -> Block:
    """Returns the row that a row repeats, cell by cell, or itself."""
    while len(block.definitions) == 1 and isinstance(expr := block.definitions[0].expr, Ref) and _in_place(block, expr):
        block = expr.block
    return block


def _in_place(block: Block, expr: Ref) -> bool:
    along = tuple(getattr(each, "axis", None) for each in expr.at)
    return along == block.axes and not any(getattr(each, "by", 0) for each in expr.at)


def without_constants(expr: Expr, known: Mapping[Block, float]) -> Expr:
    """Returns an equation without factors that are 1, terms that are 0, and branches that are never taken."""
    if not any(isinstance(node, Ref) and node.block in known and not is_setting(node.block) for node in walk(expr)):
        return expr
    match expr:
        case Op("where", (test, then, otherwise)) if (holds := _of_rows(test, known)) is not None:
            return without_constants(then if holds else otherwise, known)
        case Op("mul" | "add" | "sub" | "div" as name, (left, right)):
            one, other = _of_rows(left, known), _of_rows(right, known)
            neutral = 1.0 if name in ("mul", "div") else 0.0
            if other == neutral:
                return without_constants(left, known)
            if one == neutral and name in ("mul", "add"):
                return without_constants(right, known)
    return rebuilt(expr, lambda inner: without_constants(inner, known))


def _of_rows(expr: Expr, known: Mapping[Block, float]) -> float | None:
    """Returns the number that is made of such rows; a number that is written stays."""
    return None if isinstance(expr, Constant) else _value(expr, known)


def without_ones(expr: Expr) -> Expr:
    """Returns an equation without what does nothing, to tell whether two changes of it are one: x·1, x + 0, a − (−b), √x·√x."""
    made = rebuilt(expr, without_ones) if isinstance(expr, Op) else expr
    match made:
        case Op("mul" | "div", (x, Constant(1))) | Op("mul", (Constant(1), x)):
            return x
        case Op("add" | "sub", (x, Constant(0))) | Op("add", (Constant(0), x)) | Op("neg", (Op("neg", (x,)),)):
            return x
        case Op("sub", (x, Op("neg", (y,)))):
            return Op("add", (x, y))
        case Op("add", (x, Op("neg", (y,)))):
            return Op("sub", (x, y))
        case Op("mul", (Op("sqrt", (x,)), Op("sqrt", (y,)))) if text(x) == text(y):
            return x
        case Op("sqrt", (Op("mul", (x, y)),)) if text(x) == text(y) and not isinstance(x, Ref):  # of a sum of squares
            return x
    return made


def nothing_added(expr: Expr, zero: Collection[str]) -> Expr:
    """Returns an equation without the settings, by name, that are 0 and are added: an ε that there is not."""
    match expr:
        case Op("add" | "sub", (x, Ref(block))) if is_setting(block) and block.name in zero:
            return nothing_added(x, zero)
    return rebuilt(expr, lambda inner: nothing_added(inner, zero)) if isinstance(expr, Op) else expr


def in_force(equations: Equations, wanted: Collection[str], known: Collection[str]) -> set[str]:
    """Returns the names of the rows of which anything comes to those that are wanted, where others are known.

    None is only read where another one is 0, or in a branch that is never taken.
    """
    names, constant = {block: name for name, block in equations.rows.items()}, constant_rows(equations)
    stop = {equations.rows[name] for name in known if name in equations.rows}
    blocks = dict.fromkeys(equations.rows[name] for name in wanted if name in equations.rows)
    for block in (ahead := [*blocks]):
        read = (node for of in block.definitions for node in walk(_without_nothing(of.expr, constant)))
        new = dict.fromkeys(node.block for node in read if isinstance(node, Ref) and node.block in names)
        ahead += [each for each in new if each not in blocks and each not in stop]
        blocks |= new
    return {names[block] for block in blocks}


def _without_nothing(expr: Expr, known: Mapping[Block, float]) -> Expr:
    """Returns an equation without constants, and without products with a row that is 0."""

    def without(inner: Expr) -> Expr:
        match inner:
            case Op("mul", args) if any(_of_rows(each, known) == 0.0 for each in args):
                return Constant(0)
        return rebuilt(inner, without)

    return without(without_constants(expr, known))


def equations_apart(own: Equations, theirs: Equations) -> dict[str, Expr]:
    """Returns by row the equation that others have of it, where both have one, and these are not the same."""
    here, there = _inside(own), _inside(theirs)
    return {name: made for name, (made, says) in there.items() if name in here and here[name][1] != says}


@lru_cache(maxsize=256)
def _inside(equations: Equations) -> Mapping[str, tuple[Expr, str]]:
    """Returns the equation of each row that has one inside, and how it is written."""
    every = {name: row.inside for name, row in equations.rows.items()}
    return {name: (own, text(own)) for name, own in every.items() if own is not None}
