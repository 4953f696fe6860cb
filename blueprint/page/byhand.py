"""By hand: what a pocket calculator shows for a line, by how many decimals the numbers in it have."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from blueprint.language import ATOM, EXCEL, EXCEL_CONDITIONS, NUMPY, Constant, Expr, Op, Rule, Spelled, spell
from blueprint.page.digits import SHOWN, Operand, half_up, unit_of

MORE = (0, 2, 4, 7, 10)
"""Decimals that are tried, beyond the fewest ones; with the last of them all fifteen digits of a number are there."""
CLEAN = 12
"""Decimals to which a calculator's result is rounded before it is compared, as its display does it."""

WITHIN = "within"
"""The operation of a search: its first operand, if the third lies from the second on and below the fourth."""
SHEET: dict[str, Rule] = {**EXCEL, WITHIN: Rule("IF(AND({1}<={2},{2}<{3}),{0},-1)", ATOM, (0, 0, 0, 0))}
NUMBERS = {**NUMPY, WITHIN: lambda found, low, u, high: found if low <= u < high else -1.0}

Find = Callable[[Expr], Operand | None]
"""Returns the operand of a number's place in an equation; none for an operation on numbers."""


def trials(
    value: Operand, expr: Expr, operand: Find, at: Mapping[str, str], levels: Iterable[tuple[str, int]]
) -> list[tuple[str, float]]:
    """Returns what a calculator shows for a line, with each number of decimals, and last the value as it is shown.

    Each as a formula and as what comes out. operand: what stands for the numbers in the line. at: the cells of the
    constants. levels: how many decimals are tried, each with the cell that says so.
    """
    scale = max(1.0, unit_of(float(value.value)))

    def scaled(number: str) -> str:
        return f"{number}/MAX(1,{value.unit})" if value.unit else number

    def tried(cell: str, decimals: int) -> tuple[str, float]:
        result = scaled(f"({spelled(expr, operand, cell)})" if value.unit else spelled(expr, operand, cell))
        with np.errstate(all="ignore"):
            number = float(half_up(evaluated(expr, operand, decimals) / scale, CLEAN))
        return f"=ROUND(ROUND({result},{at['clean']}),{at['shown']})", float(half_up(number, SHOWN))

    due = f"=ROUND({scaled(value.cell)},{at['shown']})", float(half_up(float(value.value) / scale, SHOWN))
    return [*(tried(*level) for level in levels), due]


def spelled(expr: Expr, operand: Find, decimals: str) -> str:
    """Spells an expression with its numbers rounded."""

    def render(inner: Expr) -> Spelled:
        found = operand(inner)
        if found is not None:
            return Spelled(found.rounded_formula(decimals))
        match inner:
            case Op("where", (Op() as test, then, otherwise)):
                condition = spell(test, EXCEL_CONDITIONS, render).text
                return Spelled(f"IF({condition},{render(then).text},{render(otherwise).text})")
            case Op("choose", (number, *rows)):
                return Spelled(f"CHOOSE({render(number).text}+1,{','.join(render(row).text for row in rows)})")
            case Op():
                return spell(inner, SHEET, render)
            case Constant(str() as word):
                return Spelled('"' + word.replace('"', '""') + '"')
            case Constant(value):
                return Spelled(str(value))
        raise AssertionError(f"{inner} has no number of its own")

    return render(expr).text


def evaluated(expr: Expr, operand: Find, decimals: int) -> float:
    """Calculates an expression with its numbers rounded."""
    found = operand(expr)
    if found is not None:
        return found.rounded(decimals)
    if isinstance(expr, Constant):
        return expr.value  # type: ignore[return-value]  # a word stands on neither side of a sum
    assert isinstance(expr, Op)
    return NUMBERS[expr.name](*(evaluated(arg, operand, decimals) for arg in expr.args))
