"""The pieces of a watch: how it is cut, and how it says of cells that they hold formulas, values and numbers."""

from collections.abc import Iterator
from itertools import groupby

from blueprint.page.layout import Live

LONGEST, MOST_CELLS = 7_500, 120
"""Letters and cells of one watch: a formula may have 8,192 letters, and a function 255 arguments."""


def parts(formulas: list[Live]) -> Iterator[list[Live]]:
    """Cuts the formulas of a row into parts that one watch can hold."""
    part: list[Live] = []
    letters = 0
    for formula in formulas:
        # The end of a range may be spelled once for each SUM, COUNT, MAX and MIN.
        needs = len(constant(formula)) + (12 * len(formula.cell) if formula.summed else len(again(formula))) + 10
        if part and (letters + needs > LONGEST or len(part) == MOST_CELLS):
            yield part
            part, letters = [], 0
        part.append(formula)
        letters += needs
    yield part


def constant(formula: Live) -> str:
    """Spells that the text of a formula has no capital letter, or, where it never had one, no small one."""
    text, found = formula.formula, f"_xlfn.FORMULATEXT({formula.cell})"
    same = f"EXACT({found},{'UPPER' if text == text.lower() else 'LOWER'}({found}))"
    return f"NOT(_xlfn.ISFORMULA({formula.cell}))" if text == text.upper() == text.lower() else same


def again(formula: Live) -> str:
    """Spells that a cell has the value to which its formula comes."""
    return f"{formula.cell}=({formula.formula[1:]})"


def ranges(formulas: list[Live]) -> Iterator[str]:
    """Yields the ranges of neighbouring cells."""
    for _, neighbours in groupby(enumerate(formulas), key=lambda numbered: numbered[1].column - numbered[0]):
        cells = [formula.cell for _, formula in neighbours]
        yield cells[0] if len(cells) == 1 else f"{cells[0]}:{cells[-1]}"
