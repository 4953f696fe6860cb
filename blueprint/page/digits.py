"""Digits: a number as print, with as many decimals as a line needs; the same in the sheet's formulas and here.

Numbers are rounded by ROUND and joined by &, which every program does alike in every language; the format codes of
TEXT would depend on the reader's decimal sign. Very small and very large numbers are counted in a power of ten, which
stands beside them: 1.2346E-9. Two programs may round a tie apart, or know other digits beyond the fifteenth.

Then the tiles of One page, whose displayed parts come to the displayed result; and what a pocket calculator shows for a line
of the walk, by how many decimals its numbers have, with the constants of that on the sheet: no formula hides one of them.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from math import floor, fsum, inf, isfinite, log10, nan

import numpy as np

from blueprint.language import (
    ATOM,
    BEYOND,
    EXCEL,
    OFF_WORD,
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
from blueprint.page import grid, layout

SHOWN = 4
"""Decimals of a value."""
LEAST, MOST = 1e-4, 1e6
"""Sizes between which a number is printed as it is, and counted in ones."""
SMALLEST = 1e-12
"""What is smaller counts as 0, as on a calculator of twelve decimals: where a sum is 0, one program rounds to 3.7E-17."""
LONGEST = 17
"""Letters of the longest number of fifteen digits, 0.123456789012345. Gnumeric joins some with twenty: 0.40419999999999999999."""
EXACT = Context(prec=400)
"""Digits enough for any number with any of these decimals."""
LARGE_FORMAT = "0.0000E+00"
"""How a value is shown whose size is MOST or more."""


def unit_of(value: float) -> float:
    """Returns the power of ten in which a number is counted: 1, but for very small and very large ones; of no number none."""
    if isinstance(value, Ended):
        return value
    size = abs(value)
    plain = size < SMALLEST or LEAST <= size < MOST or not isfinite(size)
    return 1.0 if plain else float(10.0 ** floor(log10(size)))


def unit_formula(cell: str, at: Mapping[str, str]) -> str:
    """Spells the power of ten in which the number of a cell is counted; `at`: where the constants stand."""
    plain = f"OR(AND(ABS({cell})>={at['least']},ABS({cell})<{at['most']}),ABS({cell})<{at['smallest']})"
    return f"=IF({plain},1,POWER({at['ten']},INT(LOG10(ABS({cell})))))"


@lru_cache(maxsize=1 << 14)  # the same numbers are rounded again for each number of decimals that is tried
def half_up(value: float, decimals: int) -> Decimal:
    """Rounds as a sheet does: its numbers have 15 digits, and what is farther right is not there. What is infinite is no number."""
    if not isfinite(value):
        return Decimal(nan)
    rounded = Decimal(f"{value:.15g}").quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, EXACT)
    return rounded.normalize(EXACT) if rounded else Decimal(0)


@dataclass(frozen=True)
class Operand:
    """A number (or word) that is put into an equation.

    cell: where it stands. unit: the cell that says in which power of ten it is counted ("": in ones).
    whole: printed as it stands.
    """

    value: float | str
    cell: str
    unit: str = ""
    whole: bool = False

    def rounded(self, decimals: int) -> float:
        """Returns the number that a reader types into a calculator."""
        if isinstance(self.value, str):
            return inf if self.value == OFF_WORD else nan
        return self.value if self.whole else float(half_up(self.value / self._unit, decimals)) * self._unit

    def rounded_formula(self, decimals: str) -> str:
        """Spells the same as a formula that binds as tightly as a number."""
        rounded = f"ROUND({self._counted},{decimals})"
        return self.cell if self.whole else f"({rounded}*{self.unit})" if self.unit else rounded

    def printed(self, decimals: int | Ended, factor: bool = False) -> str:
        """Prints the number; a negative factor in brackets; an error where the number is none, or that of its decimals."""
        if isinstance(self.value, str):
            return self.value if self.whole else f"“{self.value}”"
        if isinstance(self.value, Ended):
            return no_number(self.value)
        if self.whole:
            return f"{self.value:.15g}"
        if isinstance(decimals, Ended):
            return no_number(decimals)
        number = half_up(self.value / self._unit, decimals)
        power = "" if self._unit == 1 else f"E{round(log10(self._unit))}"
        text = "−" * (number < 0) + f"{abs(number):f}{power}"
        return f"({text})" if factor and number < 0 else text

    def printed_formula(self, decimals: str, longest: str, factor: bool = False) -> str:
        """Spells the print of the number, to be joined by &; longest: where LONGEST stands."""
        if self.whole or isinstance(self.value, str):
            return self.cell if self.whole else f'"“"&{self.cell}&"”"'
        below = f"ROUND({self._counted},{decimals})<0"
        power = f'&IF({self.unit}=1,"","E"&ROUND(LOG10({self.unit}),0))' if self.unit else ""
        size = joined(f"ROUND(ABS({self._counted}),{decimals})", decimals, longest)
        opened = f'IF({below},"{"(" * factor}−","")&{size}{power}'
        return f'{opened}&IF({below},")","")' if factor else opened

    @property
    def _unit(self) -> float:
        return unit_of(float(self.value)) if self.unit else 1.0

    @property
    def _counted(self) -> str:
        return f"{self.cell}/{self.unit}" if self.unit else self.cell


def joined(number: str, decimals: str, longest: str, any_size: bool = False) -> str:
    """Spells a number as text; where a program joins it with more digits than it has, with all its decimals instead.

    any_size: the number is not counted in a power of ten. A whole one is then joined as it is: LibreOffice's FIXED ends at 2^64.
    """
    long = f"LEN({number})>{longest}"
    asked = f"AND({long},{number}<>INT({number}))" if any_size else long
    return f"IF({asked},FIXED({number},{decimals},1),{number})"


NUMBER = re.compile(r"\d+(?:\.\d+)?")
FIFTEEN_DIGITS = 1e-14


NO_NUMBER = "\ue000"
"""A letter of no language, around the error that stands in a print where a number is missing; the print then is that error."""


def no_number(end: Ended) -> str:
    """Returns what stands in a print for what is no number."""
    return f"{NO_NUMBER}{end.error}{NO_NUMBER}"


class Print(str):
    """A text that prints numbers, and so may be rounded by another program in another way; a word is no print."""

    @property
    def shown(self) -> str:
        """What the cell shows: the text, or the first error among its numbers."""
        return str(self).split(NO_NUMBER)[1] if NO_NUMBER in self else self


def same_print(ours: str, theirs: str) -> bool:
    """Tells whether two texts are the same but for the last decimal of a number, or for what is beyond 15 digits."""
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=False)
    return NUMBER.sub("#", ours) == NUMBER.sub("#", theirs) and all(_same_number(*pair) for pair in pairs)


def _same_number(ours: str, theirs: str) -> bool:
    decimals = max(len(text.partition(".")[2]) for text in (ours, theirs))
    last = 1.001 * 10.0**-decimals if decimals else 0.0  # 1.001: the difference of two decimals is itself rounded
    return abs(float(ours) - float(theirs)) <= max(last, FIFTEEN_DIGITS * abs(float(ours)))


TILE_DECIMALS = (4, 5, 6)
"""How many decimals a tile may show, the best first."""
TOLERANCE = 1e-9
TIMES = "×"


@dataclass(frozen=True)
class Sum:
    """A result, the numbers on its tiles, and the sign before each: what comes first, then + − or ×."""

    result: float | str
    parts: tuple[float | str, ...]
    signs: tuple[str, ...]

    def decimals(self) -> tuple[int, int]:
        """Returns the fewest decimals of the tiles, and of the result, with which the tiles come to the result."""
        ways = ((many, shown) for many in TILE_DECIMALS for shown in TILE_DECIMALS if shown <= many)
        return next((way for way in ways if self.agrees(*way)), (TILE_DECIMALS[0],) * 2)

    def agrees(self, decimals: int, shown: int) -> bool:
        """Tells whether the tiles come to the result as they are displayed."""
        if not self.parts or not self._are_numbers():
            return False
        displayed = self._total([float(half_up(float(part), decimals)) for part in self.parts])
        return half_up(displayed, shown) == half_up(float(self.result), shown)

    def sign(self, decimals: int, shown: int) -> str:
        """Returns = where the displayed tiles come to the result, ≈ where only all their digits do, … where they do not."""
        if not self._are_numbers():
            return "="
        if self.agrees(decimals, shown):
            return "="
        off = abs(self._total([*map(float, self.parts)]) - float(self.result))
        return "≈" if off <= TOLERANCE * (1 + abs(float(self.result))) else "…"

    def sign_formula(self, cells: Sequence[str], decimals: str, shown: str, tolerance: str) -> str:
        """Spells the sign. cells: those of the result and of each tile. decimals, shown, tolerance: the cells of these numbers."""
        result, *parts = cells
        displayed = self._spelled([f"ROUND({part},{decimals})" for part in parts])
        agrees = f"ABS(ROUND({displayed},{shown})-ROUND({result},{shown}))<{tolerance}"
        near = f"ABS({self._spelled(parts)}-{result})<={tolerance}*(1+ABS({result}))"
        return f'IFERROR(CHOOSE((1-({agrees}))*(2-({near}))+1,"=","≈","…"),"=")'  # without numbers nothing is claimed

    def _are_numbers(self) -> bool:
        return not any(isinstance(each, str) or not isfinite(each) for each in (self.result, *self.parts))

    def _total(self, parts: Sequence[float]) -> float:
        total, *others = parts
        for sign, part in zip(self.signs[1:], others, strict=True):
            total = total * part if sign == TIMES else total - part if sign == "−" else total + part
        return total

    def _spelled(self, parts: Sequence[str]) -> str:
        spelled, *others = parts
        for sign, part in zip(self.signs[1:], others, strict=True):
            spelled = f"({spelled}{'*' if sign == TIMES else '-' if sign == '−' else '+'}{part})"
        return spelled


MORE = (0, 2, 4, 7, 10)
"""Decimals that are tried, beyond the fewest ones; with the last of them all fifteen digits of a number are there."""
CLEAN = 12
"""Decimals to which a calculator's result is rounded before it is compared, as its display does it."""

WITHIN = "within"
"""The operation of a search: its first operand, if the third lies from the second on and below the fourth."""
SHEET: dict[str, Rule] = {**EXCEL, WITHIN: Rule("IF(AND({1}<={2},{2}<{3}),{0},-1)", ATOM, (0, 0, 0, 0))}

FindOperand = Callable[[Expr], Operand | None]
"""Returns the operand of a number's place in an equation; none for an operation on numbers."""


def trials(
    value: Operand,
    shown: int,
    expr: Expr,
    operand: FindOperand,
    at: Mapping[str, str],
    levels: Iterable[tuple[str, int]],
) -> list[tuple[str, float]]:
    """Returns what a calculator shows for a line, with each number of decimals, and last the value as it is shown.

    Each as a formula and as what comes out. shown: decimals with which the value is shown. operand: what stands for the
    numbers in the line. at: the cells of the constants. levels: how many decimals are tried, each with the cell that says so.
    """
    more = shown - SHOWN
    places = f"{at['shown']}+{more}" if more else at["shown"]
    scale = max(1.0, unit_of(float(value.value)))
    ended = value.value if isinstance(value.value, Ended) else Ended(BEYOND)

    def scaled(number: str) -> str:
        return f"{number}/MAX(1,{value.unit})" if value.unit else number

    def tried(cell: str, decimals: int) -> tuple[str, float]:
        result = scaled(
            f"({spelled_rounded(expr, operand, cell)})" if value.unit else spelled_rounded(expr, operand, cell)
        )
        with np.errstate(all="ignore"):
            number = float(half_up(evaluated_rounded(expr, operand, decimals) / scale, CLEAN))
        found = float(half_up(number, shown)) if isfinite(number) else ended
        return f"=ROUND(ROUND({result},{at['clean']}),{places})", found

    due = ended if isinstance(value.value, Ended) else float(half_up(float(value.value) / scale, shown))
    return [*(tried(*level) for level in levels), (f"=ROUND({scaled(value.cell)},{places})", due)]


def spelled_rounded(expr: Expr, operand: FindOperand, decimals: str) -> str:
    """Spells an expression with its numbers rounded."""

    def rounded(inner: Expr) -> Spelled:
        found = operand(inner)
        assert found is not None, f"{inner} has no number of its own"
        return Spelled(found.rounded_formula(decimals))

    return spell_formula(expr, rounded, SHEET).text


def evaluated_rounded(expr: Expr, operand: FindOperand, decimals: int) -> float:
    """Calculates an expression with its numbers rounded."""
    found = operand(expr)
    if found is not None:
        return found.rounded(decimals)
    if isinstance(expr, Constant):
        return expr.value  # type: ignore[return-value]  # a word stands on neither side of a sum
    assert isinstance(expr, Op)
    done = _within if expr.name == WITHIN else calculation(expr)
    return float(done(*(evaluated_rounded(arg, operand, decimals) for arg in expr.args)))


def _within(found: float, low: float, u: float, high: float) -> float:
    return found if low <= u < high else -1.0


def sum_trials(
    values: Sequence[float | str],
    cells: Sequence[str],
    whole: Operand | None,
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
        found = half_up(fsum(float(half_up(float(each), decimals)) for each in values) * part, CLEAN)
        return formula, float(half_up(float(found), SHOWN))

    shown = ended or float(half_up(due, SHOWN))
    last = f"=ROUND({f'SUM({area})' if whole is None else whole.cell},{at['shown']})"
    return [*(tried(*level) for level in levels), (last, shown)]


CONSTANTS = {
    "least": ("plain", "smaller ones are powers of ten", LEAST, "live 4"),
    "most": ("plain", "from here on powers of ten", MOST, "live 0"),
    "smallest": ("least", "smaller ones are 0, as rounding is", SMALLEST, "live 12"),
    "ten": ("ten", "what the powers are of", 10.0, "live 0"),
    "clean": ("digits", "decimals of a pocket calculator", float(CLEAN), "live 0"),
    "longest": ("letters", "of the longest number", float(LONGEST), "live 0"),
    "shown": ("shown", "decimals of the values", float(SHOWN), "live 0"),
}
"""By key: symbol, meaning, value and style."""
LAST = "last"
"""The key of the number of the last member, which hangs on how many there are."""
PLACE, FIRST = 1, 2
CONSTANT_LINES = FIRST + len(CONSTANTS) + 3
"""The lines, from the first one on: how far apart the groups stand, the chosen place, the constants; and how many there are."""
LEVELS = (*MORE, MORE[-1] + 1)
"""Decimals beyond the fewest ones that are tried; the last stands for lines that do not come out with any."""


def constant_cells(first: int) -> tuple[dict[str, str], list[str]]:
    """Returns the cell of each constant, and those of the decimals that are tried; first: the row of the first line."""
    rows, columns = enumerate((*CONSTANTS, LAST), first + FIRST), range(grid.LEFT, grid.LEFT + len(LEVELS))
    levels = [grid.address(first + CONSTANT_LINES - 1, column, fixed=True) for column in columns]
    return {key: grid.address(row, grid.LEFT, fixed=True) for row, key in rows}, levels


def lay_constants(
    pen: layout.Pen, row: int, across: tuple[Axis, ...], place: tuple[str, float], dec: str, least: int
) -> None:
    """Lays the lines out, from a row on.

    across, place: the axes of the chosen column, and the formula and the number that say where it is.
    dec, least: the name of the fewest decimals, and how many these are.
    """
    *outer, time = map(pen.layout.blueprint.called, across)
    members = pen.values.size(across[-1])
    apart = f"columns from one {outer[0].meaning if outer else 'group of columns'} to the next"
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
    tried = row + CONSTANT_LINES - 1
    for column, more in enumerate(LEVELS, grid.LEFT):
        pen.label(tried - 1, column, float(more), "live 0")
        pen.live(tried, column, f"={dec}+{grid.address(tried - 1, column)}", float(least + more), "live 0")
