"""The spreadsheet's spelling. Only functions that every program computes alike; Excel's own traps stand in the table.

A right operand of + − · / that binds no stronger is bracketed although + and · would not need it: the sheet then adds
and multiplies in the order in which the equation was written. `LN`, because `LOG` is to base 10. No power, because
`-A1^2` means (−A1)² there.
"""

import re
from typing import Protocol

from blueprint.language.axes import Axis, NotationError, Position, require
from blueprint.language.nodes import Changes, Constant, Count, Expr, Find, Lookup, Op, Reduce, Ref
from blueprint.language.spelling.text import (
    ANYTHING,
    ATOM,
    BIG,
    PRODUCT,
    SUM,
    TIGHT,
    Render,
    Rule,
    Spelled,
    Table,
    bracketed,
    call,
    spell,
    text,
)

EXCEL: dict[str, Rule] = {
    "add": Rule("{}+{}", SUM, (SUM, PRODUCT)),
    "sub": Rule("{}-{}", SUM, (SUM, PRODUCT)),
    "mul": Rule("{}*{}", PRODUCT, (BIG, TIGHT)),
    "div": Rule("{}/{}", PRODUCT, (BIG, TIGHT)),
    # A sheet takes -a*b for (-a)*b, which is -(a*b) to the last bit.
    "neg": Rule("-{}", BIG, (PRODUCT,)),
    "abs": call("ABS({})"),
    "exp": call("EXP({})"),
    "log": call("LN({})"),
    "tanh": call("TANH({})"),
    "sqrt": call("SQRT({})"),
    "rounded": call("ROUND({},{})", 2),
    "maximum": call("MAX({},{})", 2),
    "minimum": call("MIN({},{})", 2),
    "less": Rule("IF({}<{},1,0)", ATOM, (SUM, SUM)),
    "at_most": Rule("IF({}<={},1,0)", ATOM, (SUM, SUM)),
    "equal": Rule("IF({}={},1,0)", ATOM, (SUM, SUM)),
    "filled": call('IF({}<>"",1,0)'),
    "is_off": call('IF({}="off",1,0)'),
}

# Inside `where` a comparison stands bare, so that no IF is inside an IF.
EXCEL_CONDITIONS: dict[str, Rule] = {
    "less": Rule("{}<{}", ANYTHING, (SUM, SUM)),
    "at_most": Rule("{}<={}", ANYTHING, (SUM, SUM)),
    "equal": Rule("{}={}", ANYTHING, (SUM, SUM)),
    "filled": Rule('{}<>""', ANYTHING, (SUM,)),
    "is_off": Rule('{}="off"', ANYTHING, (SUM,)),
}

_ONE_ROW = re.compile(r"\D*(\d+):\D*\1")
"""A range of which both ends stand in the same row; a column's letters may still be open."""

LOOKUPS = {"find": "MATCH({value},{among},1)-1", "match": "MATCH({value},{among},0)-1"}


class Addresses(Protocol):
    """Knows where cells stand, as seen from the cell whose formula is being spelled."""

    def cell(self, ref: Ref) -> str:
        """Returns the address of the cell that a reference without lookups means."""

    def span(self, ref: Ref, axes: tuple[Axis, ...]) -> str:
        """Returns the range of a reference's cells along the axes."""

    def number(self, axis: Axis) -> str:
        """Returns the address of the cell that holds the number of the member at hand."""

    def changes(self) -> str:
        """Returns the name of the cell that counts the typed blocks that were changed."""


def spell_formula(expr: Expr, cells: Render, table: Table = EXCEL) -> Spelled:
    """Spells what a formula calculates, operation by operation; `cells` spells what it reads."""

    def render(inner: Expr) -> Spelled:
        return spell_formula(inner, cells, table)

    match expr:
        case Op("where", (Op() as test, then, otherwise)):
            condition = spell(test, EXCEL_CONDITIONS, render).text
            return Spelled(f"IF({condition},{render(then).text},{render(otherwise).text})")
        case Op("mul", (weight, _)) if expr.weighed:
            compared = bracketed(render(weight), SUM)
            return Spelled(f"IF({compared}=0,0,{spell(expr, table, render).text})")
        case Op("choose", (number, *rows)):
            return Spelled(f"CHOOSE({_plus_one(render(number))},{','.join(render(row).text for row in rows)})")
        case Op():
            return spell(expr, table, render)
        case Constant(str() as word):
            return Spelled('"' + word.replace('"', '""') + '"')
        case Constant(value):
            return Spelled(str(value))
    return cells(expr)


def excel(expr: Expr, addresses: Addresses) -> str:
    """Spells an expression as a spreadsheet formula, without the leading `=`."""

    def cells(inner: Expr) -> Spelled:
        match inner:
            case Ref(_, at) if lookups := [i for i, index in enumerate(at) if isinstance(index, Lookup)]:
                return Spelled(_index(inner, lookups, addresses, cells))
            case Ref():
                return Spelled(addresses.cell(inner))
            case Reduce("sum", axes, Op("mul", (Ref() as left, Ref() as right))):
                return Spelled(f"SUMPRODUCT({addresses.span(left, axes)},{addresses.span(right, axes)})")
            case Reduce(name, axes, Ref() as body):
                return Spelled(f"{name.upper()}({addresses.span(body, axes)})")
            case Find(name, axis, among, value):
                sought, listed = excel(value, addresses), addresses.span(among, (axis,))
                return Spelled(LOOKUPS[name].format(value=sought, among=listed), SUM)
            case Changes():
                return Spelled(addresses.changes())
            case Count("number", axis):
                return Spelled(addresses.number(axis))
        raise NotationError(f"the spreadsheet has no spelling for “{text(inner)}”")

    return spell_formula(expr, cells).text


def _plus_one(number: Spelled) -> str:
    """Spells a 0-based id as the 1-based position that INDEX and CHOOSE count in."""
    return bracketed(number, SUM) + "+1"


def _index(ref: Ref, lookups: list[int], addresses: Addresses, cells: Render) -> str:
    """Spells a lookup by a computed id: INDEX with one running position into a row or column of cells."""
    require(
        len(lookups) <= 1, f"{ref.block.name} is looked up along two axes at once: make one of them a step of its own"
    )
    slot, index = ref.block.axes[lookups[0]], ref.at[lookups[0]]
    assert isinstance(index, Lookup)
    along = Ref(ref.block, tuple(Position(slot) if i is index else i for i in ref.at))
    return picked(addresses.span(along, (slot,)), _plus_one(spell_formula(index.id, cells)))


def picked(span: str, position: str) -> str:
    """Spells the cell at a position, counted from 1, of a row or a column of cells.

    Of a row the 1 is written out: Gnumeric and HyperFormula take a position alone for the number of a row.
    """
    sheet, mark, cells = span.rpartition("!")
    return f"INDEX({sheet}{mark}{cells},{'1,' * bool(_ONE_ROW.fullmatch(cells))}{position})"
