"""By hand: what a pocket calculator shows for a line, by how many decimals the numbers in it have; and the lines at the end
of the walk, where the chosen column is, and the constants by which numbers are printed: no formula hides one of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, isfinite

import numpy as np

from blueprint.language import (
    ATOM,
    BEYOND,
    EXCEL,
    Axis,
    Constant,
    Ended,
    Expr,
    Op,
    Rule,
    Spelled,
    calculation,
    spell_formula,
)
from blueprint.page import digits, grid, layout

MORE = (0, 2, 4, 7, 10)
"""Decimals that are tried, beyond the fewest ones; with the last of them all fifteen digits of a number are there."""
CLEAN = 12
"""Decimals to which a calculator's result is rounded before it is compared, as its display does it."""

WITHIN = "within"
"""The operation of a search: its first operand, if the third lies from the second on and below the fourth."""
SHEET: dict[str, Rule] = {**EXCEL, WITHIN: Rule("IF(AND({1}<={2},{2}<{3}),{0},-1)", ATOM, (0, 0, 0, 0))}

Find = Callable[[Expr], digits.Operand | None]
"""Returns the operand of a number's place in an equation; none for an operation on numbers."""


def trials(
    value: digits.Operand,
    shown: int,
    expr: Expr,
    operand: Find,
    at: Mapping[str, str],
    levels: Iterable[tuple[str, int]],
) -> list[tuple[str, float]]:
    """Returns what a calculator shows for a line, with each number of decimals, and last the value as it is shown.

    Each as a formula and as what comes out. shown: decimals with which the value is shown. operand: what stands for the
    numbers in the line. at: the cells of the constants. levels: how many decimals are tried, each with the cell that says so.
    """
    more = shown - digits.SHOWN
    places = f"{at['shown']}+{more}" if more else at["shown"]
    scale = max(1.0, digits.unit_of(float(value.value)))
    ended = value.value if isinstance(value.value, Ended) else Ended(BEYOND)

    def scaled(number: str) -> str:
        return f"{number}/MAX(1,{value.unit})" if value.unit else number

    def tried(cell: str, decimals: int) -> tuple[str, float]:
        result = scaled(f"({spelled(expr, operand, cell)})" if value.unit else spelled(expr, operand, cell))
        with np.errstate(all="ignore"):
            number = float(digits.half_up(evaluated(expr, operand, decimals) / scale, CLEAN))
        found = float(digits.half_up(number, shown)) if isfinite(number) else ended
        return f"=ROUND(ROUND({result},{at['clean']}),{places})", found

    due = ended if isinstance(value.value, Ended) else float(digits.half_up(float(value.value) / scale, shown))
    return [*(tried(*level) for level in levels), (f"=ROUND({scaled(value.cell)},{places})", due)]


def spelled(expr: Expr, operand: Find, decimals: str) -> str:
    """Spells an expression with its numbers rounded."""

    def rounded(inner: Expr) -> Spelled:
        found = operand(inner)
        assert found is not None, f"{inner} has no number of its own"
        return Spelled(found.rounded_formula(decimals))

    return spell_formula(expr, rounded, SHEET).text


def evaluated(expr: Expr, operand: Find, decimals: int) -> float:
    """Calculates an expression with its numbers rounded."""
    found = operand(expr)
    if found is not None:
        return found.rounded(decimals)
    if isinstance(expr, Constant):
        return expr.value  # type: ignore[return-value]  # a word stands on neither side of a sum
    assert isinstance(expr, Op)
    done = _within if expr.name == WITHIN else calculation(expr)
    return float(done(*(evaluated(arg, operand, decimals) for arg in expr.args)))


def _within(found: float, low: float, u: float, high: float) -> float:
    return found if low <= u < high else -1.0


def sums(
    values: Sequence[float | str],
    cells: Sequence[str],
    whole: digits.Operand | None,
    at: Mapping[str, str],
    levels: Iterable[tuple[str, int]],
) -> list[tuple[str, float]]:
    """Returns what listed numbers add up to, rounded to each number of decimals, and last what they are said to add up to.

    Each as a formula and as what comes out. cells: where the numbers stand, side by side. whole: the quantity that is their
    sum, or a part of it (their mean); without one it is their own sum. at, levels: as for `trials`.
    """
    ended = next((each for each in (*values, whole and whole.value) if isinstance(each, Ended)), None)
    total = 0.0 if ended else fsum(map(float, values))
    due = total if whole is None or ended else float(whole.value)
    part = due / total if total else 1.0
    area = f"{cells[0]}:{cells[-1]}"
    times = "" if whole is None else f"*IF(SUM({area})=0,1,{whole.cell}/SUM({area}))"

    def tried(cell: str, decimals: int) -> tuple[str, float]:
        rounded = "+".join(f"ROUND({each},{cell})" for each in cells)  # Gnumeric rounds no range at once
        formula = f"=ROUND(ROUND(({rounded}){times},{at['clean']}),{at['shown']})"
        if ended:
            return formula, ended
        found = digits.half_up(fsum(float(digits.half_up(float(each), decimals)) for each in values) * part, CLEAN)
        return formula, float(digits.half_up(float(found), digits.SHOWN))

    shown = ended or float(digits.half_up(due, digits.SHOWN))
    last = f"=ROUND({f'SUM({area})' if whole is None else whole.cell},{at['shown']})"
    return [*(tried(*level) for level in levels), (last, shown)]


CONSTANTS = {
    "least": ("plain", "smaller ones are powers of ten", digits.LEAST, "live 4"),
    "most": ("plain", "from here on powers of ten", digits.MOST, "live 0"),
    "smallest": ("least", "smaller ones are 0, as rounding is", digits.SMALLEST, "live 12"),
    "ten": ("ten", "what the powers are of", 10.0, "live 0"),
    "clean": ("digits", "decimals of a pocket calculator", float(CLEAN), "live 0"),
    "longest": ("letters", "of the longest number", float(digits.LONGEST), "live 0"),
    "shown": ("shown", "decimals of the values", float(digits.SHOWN), "live 0"),
}
"""By key: symbol, meaning, value and style."""
LAST = "last"
"""The key of the number of the last member, which hangs on how many there are."""
PLACE, FIRST = 1, 2
LINES = FIRST + len(CONSTANTS) + 3
"""The lines, from the first one on: how far apart the groups stand, the chosen place, the constants; and how many there are."""
LEVELS = (*MORE, MORE[-1] + 1)
"""Decimals beyond the fewest ones that are tried; the last stands for lines that do not come out with any."""


def cells_of(first: int) -> tuple[dict[str, str], list[str]]:
    """Returns the cell of each constant, and those of the decimals that are tried; first: the row of the first line."""
    rows, columns = enumerate((*CONSTANTS, LAST), first + FIRST), range(grid.LEFT, grid.LEFT + len(LEVELS))
    levels = [grid.address(first + LINES - 1, column, fixed=True) for column in columns]
    return {key: grid.address(row, grid.LEFT, fixed=True) for row, key in rows}, levels


def lay_constants(
    pen: layout.Pen, row: int, across: tuple[Axis, ...], place: tuple[str, float], dec: str, least: int
) -> None:
    """Lays the lines out, from a row on.

    across, place: the axes of the chosen column, and the formula and the number that say where it is.
    dec, least: the name of the fewest decimals, and how many these are.
    """
    *outer, time = across
    members = pen.values.size(time)
    apart = f"columns from one {outer[0].meaning if outer else ''} to the next"
    lines: tuple[tuple[str, str, float | str, str], ...] = (
        ("apart", apart, float(grid.stride(members)), "live 0"),
        ("place", f"the chosen {time.meaning}’s place in every row", "", ""),
        *CONSTANTS.values(),
        (time.letter.upper(), f"the last {time.meaning}", float(time.start + members - 1), "live 0"),
        ("more", "decimals beyond the fewest, to be tried", "", ""),
        ("tried", "decimals tried; the last: none is enough", "", ""),
    )
    for line, (symbol, meaning, value, style) in enumerate(lines, row):
        pen.name(line, symbol, meaning)
        pen.label(line, grid.LEFT, value, style)
    pen.live(row + PLACE, grid.LEFT, *place, "live 0")
    tried = row + LINES - 1
    for column, more in enumerate(LEVELS, grid.LEFT):
        pen.label(tried - 1, column, float(more), "live 0")
        pen.live(tried, column, f"={dec}+{grid.address(tried - 1, column)}", float(least + more), "live 0")
