"""Digits: a number as print, with as many decimals as a line needs; the same in the sheet's formulas and here.

Numbers are rounded by ROUND and joined by &, which every program does alike in every language; the format codes of
TEXT would depend on the reader's decimal sign. Very small and very large numbers are counted in a power of ten, which
stands beside them: 1.2346E-9. Two programs may round a tie apart, or know other digits beyond the fifteenth.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import lru_cache
from math import floor, inf, isfinite, log10, nan

from blueprint.language import OFF_WORD, Ended

SHOWN = 4
"""Decimals of a value."""
LEAST, MOST = 1e-4, 1e6
"""Sizes between which a number is printed as it is, and counted in ones."""
SMALLEST = 1e-12
"""What is smaller counts as 0, as on a calculator of twelve decimals: where a sum is 0, one program rounds to 3.7E-17."""
LONGEST = 17
"""Letters of the longest number of fifteen digits, 0.123456789012345. Gnumeric joins some with twenty: 0.40419999999999999999."""
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
    with localcontext(prec=400):
        rounded = Decimal(f"{value:.15g}").quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
        return rounded.normalize() if rounded else Decimal(0)


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


def joined(number: str, decimals: str, longest: str) -> str:
    """Spells a number as text; where a program joins it with more digits than it has, with all its decimals instead."""
    return f"IF(LEN({number})>{longest},FIXED({number},{decimals},1),{number})"


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
