"""The mathematics as plain text, as it is printed and as it stands beside a row of the page."""

from __future__ import annotations

from blueprint.language.axes import Axis, Position
from blueprint.language.blocks import Block, Definition
from blueprint.language.errors import NotationError
from blueprint.language.nodes import Changes, Constant, Count, Expr, Find, Index, Lookup, Op, Reduce, Ref
from blueprint.language.spelling.rules import ANYTHING, BIG, PRODUCT, SIGN, SUM, TIGHT, Rule, Spelled, call, spell

TEXT: dict[str, Rule] = {
    "add": Rule("{} + {}", SUM, (SIGN, SUM)),
    "sub": Rule("{} − {}", SUM, (SIGN, BIG)),
    "mul": Rule("{}·{}", PRODUCT, (PRODUCT, BIG)),
    "div": Rule("{} / {}", PRODUCT, (BIG, TIGHT)),
    "neg": Rule("−{}", SIGN, (BIG,)),
    "abs": call("|{}|"),
    "exp": call("exp({})"),
    "log": call("ln({})"),
    "tanh": call("tanh({})"),
    "sqrt": call("√({})"),
    "maximum": call("max({}, {})", 2),
    "minimum": call("min({}, {})", 2),
    "less": call("[{} < {}]", 2),
    "at_most": call("[{} ≤ {}]", 2),
    "equal": call("[{} = {}]", 2),
    "filled": call("[{} is given]"),
    "is_off": call("[{} is off]"),
    "where": Rule("{1} if {0} else {2}", ANYTHING, (ANYTHING, ANYTHING, ANYTHING)),
}

SIGNS = {"sum": "Σ", "max": "max"}
SEARCHES = {"find": "last {axis} with {among} ≤ {value}", "match": "the {axis} whose {among} = {value}"}


NOTHING: frozenset[Axis] = frozenset()


def text(expr: Expr, understood: frozenset[Axis] = NOTHING) -> str:
    """Prints an expression; indices that are understood (the cell's own n and t) are left out: `V[t + 1]`, but `m`."""
    return _render(expr, understood).text


def equation(block: Block, definition: Definition, understood: frozenset[Axis] = NOTHING) -> str:
    """Prints one equation: what is defined, =, and the expression."""
    return f"{reference(block, definition.target, understood)} = {text(definition.expr, understood)}"


def equations(block: Block) -> str:
    """Prints all equations of a block, or what is typed in."""
    if block.typed:
        return f"{reference(block, tuple(Position(axis) for axis in block.axes))} is typed in"
    return "\n".join(equation(block, definition) for definition in block.definitions)


def reference(block: Block, at: tuple[Index, ...], understood: frozenset[Axis] = NOTHING) -> str:
    """Prints a block with its indices."""
    shown = [_index(index, understood) for index in at]
    inside = ", ".join(index for index in shown if index)
    return f"{block.symbol}[{inside}]" if inside else block.symbol


def _index(index: Index, understood: frozenset[Axis]) -> str:
    match index:
        case Lookup(axis, Constant(int() as member)):
            return str(axis.start + member)
        case Lookup(_, id):
            return text(id, understood)
        case Position(axis, 0) if axis in understood:
            return ""
        case _:
            return str(index).replace(" - ", " − ")


def _render(expr: Expr, understood: frozenset[Axis]) -> Spelled:
    def render(inner: Expr) -> Spelled:
        return _render(inner, understood)

    match expr:
        case Op("choose", (number, *rows)):
            rows_shown = [render(row).text for row in rows]
            named = zip(expr.labels, rows_shown, strict=True)
            listed = " | ".join(row if label == row else f"{label}: {row}" for label, row in named)
            return Spelled(f"({listed}) by {render(number).text}")
        case Op():
            return spell(expr, TEXT, render)
        case Constant(value):
            return Spelled(f"“{value}”" if isinstance(value, str) else str(value))
        case Ref(block, at):
            return Spelled(reference(block, at, understood))
        case Reduce(name, axes, body):
            letters = ",".join(axis.letter for axis in axes)
            return Spelled(f"{SIGNS[name]}_{letters} {render(body).text}", BIG)
        case Find(name, axis, among, value):
            return Spelled(
                SEARCHES[name].format(axis=axis.letter, among=render(among).text, value=render(value).text), ANYTHING
            )
        case Count("number", axis):
            return Spelled(axis.letter)
        case Changes():
            return Spelled("how many inputs were changed", ANYTHING)
        case Count("size", axis):
            return Spelled(f"how many {axis.letter}")
    raise NotationError(f"the text has no spelling for {expr!r}")
