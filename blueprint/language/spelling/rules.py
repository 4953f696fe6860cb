"""How an operation is spelled: a template and how strongly it binds. The tables are data; `spell` applies them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from blueprint.language.errors import NotationError
from blueprint.language.nodes import Expr, Op

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
