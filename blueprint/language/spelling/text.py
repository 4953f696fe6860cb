"""How an expression is spelled, by a style that is data; and the plain text, as it is printed and stands on the page."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from blueprint.language.axes import Axis, Edge, NotationError, Position
from blueprint.language.blocks import Block, Definition
from blueprint.language.nodes import Constant, Count, Expr, Find, Index, Lookup, Op, Reduce, Ref

# SIGN is −a, which no other sign may stand beside; BIG is Σ a, which would swallow a factor behind it.
ANYTHING, SIGN, SUM, BIG, PRODUCT, TIGHT, ATOM = 0, 1, 2, 3, 4, 5, 9


class Rule(NamedTuple):
    """One row of a spelling table.

    template: the text, `{}` for each operand.
    strength: how strongly the whole binds.
    operands: how strongly each operand must bind; a weaker one goes into brackets.
    """

    template: str
    strength: int
    operands: tuple[int, ...]


class Spelled(NamedTuple):
    """A spelled expression and how strongly it binds."""

    text: str
    strength: int = ATOM


Table = Mapping[str, Rule]
Render = Callable[[Expr], Spelled]


def call(template: str, operands: int = 1) -> Rule:
    """Makes the rule of a function: it binds tightest and brackets its operands by itself."""
    return Rule(template, ATOM, (ANYTHING,) * operands)


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
    "rounded": call("round({}, {})", 2),
    "maximum": call("max({}, {})", 2),
    "minimum": call("min({}, {})", 2),
    "less": call("[{} < {}]", 2),
    "at_most": call("[{} ≤ {}]", 2),
    "equal": call("[{} = {}]", 2),
    "filled": call("[{} is given]"),
    "is_off": call("[{} is off]"),
    "where": Rule("{1} if {0} else {2}", ANYTHING, (ANYTHING, ANYTHING, ANYTHING)),
}
SIGNS = {"sum": "Σ_{axes} {body}", "max": "max_{axes} {body}"}
SEARCHES = {"find": "last {axis} with {among} ≤ {value}", "match": "the {axis} whose {among} = {value}"}


class Style(NamedTuple):
    """One way to write expressions: operations by a table, everything else by a template; plain text unless it says otherwise."""

    table: Table = TEXT
    signs: Mapping[str, str] = SIGNS
    searches: Mapping[str, str] = SEARCHES
    brackets: str = "({})"
    word: str = "“{}”"
    digits: str = "{}"
    letter: str = "{}"
    size: str = "how many {}"
    changes: Spelled = Spelled("how many inputs were changed", ANYTHING)
    choice: str = "({rows}) by {number}"
    alternative: str = "{label}: {row}"
    between: str = " | "
    letters: Callable[[str], str] = str
    minus: str = "−"
    plus: str = " + "
    comma: str = ", "
    times: str = "·"
    blank: str = "blank"
    largest: str = "max({})"
    place: str = "place of {} in ({})"
    equals: str = " = "
    roughly: str = " ≈ "
    rest: str = "…"


PLAIN = Style()


def spell(op: Op, table: Table, render: Render, brackets: str = "({})") -> Spelled:
    """Spells an operation by its row of the table; `render` spells the operands. An operation without a row is refused."""
    if op.name not in table:
        raise NotationError(f"this spelling has no row for {op.name}")
    rule = table[op.name]
    parts = [bracketed(render(arg), need, brackets) for arg, need in zip(op.args, rule.operands, strict=True)]
    return Spelled(rule.template.format(*parts), rule.strength)


def bracketed(part: Spelled, need: int, brackets: str = "({})") -> str:
    """Returns the text, in brackets if it binds more weakly than needed."""
    return part.text if part.strength >= need else brackets.format(part.text)


def styled(expr: Expr, style: Style, refer: Callable[[Ref], str]) -> Spelled:
    """Spells an expression in a style; `refer` spells a reference."""

    def render(inner: Expr) -> Spelled:
        return styled(inner, style, refer)

    if isinstance(expr, Ref):  # most are one
        return Spelled(refer(expr), binding_of(expr.block.symbol))
    match expr:
        case Op("choose", (number, *rows), labels):
            listed = style.between.join(
                row if row == label else style.alternative.format(label=style.letters(label), row=row)
                for label, row in zip(labels, (render(row).text for row in rows), strict=True)
            )
            return Spelled(style.choice.format(rows=listed, number=render(number).text))
        case Op():
            return spell(expr, style.table, render, style.brackets)
        case Constant(value):
            word = style.word.format(style.letters(value)) if isinstance(value, str) else None
            return Spelled(style.digits.format(value) if word is None else word)
        case Reduce(name, axes, body):
            return Spelled(
                style.signs[name].format(axes=",".join(map(str, axes)), body=_body(body, render(body), style)), BIG
            )
        case Find(name, axis, among, value):
            spelled = style.searches[name].format(axis=axis, among=render(among).text, value=render(value).text)
            return Spelled(spelled, ANYTHING)
        case Count(what, axis):
            return Spelled((style.letter if what == "number" else style.size).format(axis))
    return style.changes


def _body(body: Expr, spelled: Spelled, style: Style) -> str:
    """Puts the symbol of what a sum goes over into brackets where it is a sum itself."""
    return bracketed(spelled, BIG, style.brackets) if isinstance(body, Ref) else spelled.text


@lru_cache(maxsize=1 << 14)
def binding_of(symbol: str) -> int:
    """Returns how strongly a symbol binds: R−b as a difference does and 1/N as a quotient, so that `(R−b) / s` is no `R − b/s`."""
    open_signs = set(re.findall(r"(?<=[^\W_])[+−/](?=\w)", re.sub(r"\([^()]*\)|\|[^|]*\|", "", symbol)))
    return SUM if open_signs & {"+", "−"} else PRODUCT if open_signs else ATOM


def text(expr: Expr, understood: frozenset[Axis] = frozenset()) -> str:
    """Prints an expression; indices that are understood (the cell's own n and t) are left out: `V[t + 1]`, but `m`."""
    return styled(expr, PLAIN, lambda ref: reference(ref.block, ref.at, understood)).text


def equation(block: Block, definition: Definition, understood: frozenset[Axis] = frozenset()) -> str:
    """Prints one equation: what is defined, =, and the expression."""
    return f"{reference(block, definition.target, understood)} = {text(definition.expr, understood)}"


def equations(block: Block) -> str:
    """Prints all equations of a block, or what is typed in."""
    typed = f"{reference(block, tuple(map(Position, block.axes)))} is typed in"
    return typed if block.typed else "\n".join(equation(block, definition) for definition in block.definitions)


def reference(block: Block, at: tuple[Index, ...], understood: frozenset[Axis] = frozenset()) -> str:
    """Prints a block with its indices."""
    inside = ", ".join([said for index in at if (said := _index(index, understood))])
    return f"{block.symbol}[{inside}]" if inside else block.symbol


def _index(index: Index, understood: frozenset[Axis]) -> str:
    match index:
        case Position(axis, 0) if axis in understood:
            return ""
        case Position() | Edge():
            return _placed(index)
        case Lookup(axis, Constant(int() as member)):
            return str(axis.start + member)
    return text(index.id, understood)


@lru_cache(maxsize=1 << 12)
def _placed(index: Position | Edge) -> str:
    """Prints an index that is not computed: a few stand in every equation."""
    return str(index).replace(" - ", " − ")
