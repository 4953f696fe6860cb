"""Waiting: which formulas hang on which blanks, and how a cell shows that it waits until these are filled in.

A cell that waits has its formula and no value; by a conditional format it shows “…” on grey instead of a number that
looks right. An error of it is hidden, too: its letters have the colour of its field.
"""

from collections.abc import Iterable
from typing import Any

from blueprint.page import grid, names, styles
from blueprint.page.blanks import Place, cells_of, counted, filled, name_of, rectangles
from blueprint.page.layout import Layout, Live


def hangs_on(formulas: Iterable[Live], layout: Layout) -> dict[Place, frozenset[int]]:
    """Returns the cells whose formulas read blanks, directly or through others, with the numbers of these, counted from 1."""
    blanks = cells_of(layout)
    if not blanks:
        return {}
    readers = _readers(formulas, layout)
    found: dict[Place, frozenset[int]] = {cell: frozenset([number]) for cell, number in blanks.items()}
    queue = list(found)
    while queue:
        read = queue.pop()
        for reader in readers.get(read, ()):
            before = found.get(reader, frozenset())
            if reader not in blanks and not found[read] <= before:
                found[reader] = before | found[read]
                queue.append(reader)
    return {cell: numbers for cell, numbers in found.items() if cell not in blanks}


def _readers(formulas: Iterable[Live], layout: Layout) -> dict[Place, list[Place]]:
    """Returns by cell the formulas that read it; of a whole range each of its cells."""
    # Only a workbook with blanks needs what takes formulas apart.
    from blueprint.page.written import read_by

    known = {names.defined_name(block.name): layout.range(block) for block in layout.places}
    readers: dict[Place, list[Place]] = {}
    for formula in formulas:
        here = formula.sheet, formula.row, formula.column
        for area in read_by(formula.formula, formula.sheet, known.get):
            for row in range(area.top - 1, area.bottom):
                for column in range(area.left - 1, area.right):
                    readers.setdefault((area.sheet, row, column), []).append(here)
    return readers


def empty(layout: Layout) -> frozenset[int]:
    """Returns the numbers of the blanks, counted from 1, of which a cell is empty."""
    found = enumerate(layout.blueprint.blanks, 1)
    return frozenset(number for number, blank in found if any(each != each for each in filled(blank, layout)))


def open_of(layout: Layout) -> frozenset[Place]:
    """Returns the cells that have no value yet: those that hang on a blank that is empty."""
    missing = empty(layout)
    return frozenset(cell for cell, numbers in layout.hangs.items() if numbers & missing)


def show(sheet: str, page: Any, look: Any, layout: Layout) -> None:
    """Shows the cells of a sheet that wait as waiting, until all blanks on which they hang are filled in."""
    groups: dict[frozenset[int], list[tuple[int, int]]] = {}
    for (title, row, column), numbers in layout.hangs.items():
        if title == sheet:
            groups.setdefault(numbers, []).append((row, column))
    blanks = layout.blueprint.blanks
    for numbers, cells in sorted(groups.items(), key=lambda group: sorted(group[0])):
        found = rectangles(cells)
        rule = {
            "type": "formula",
            "criteria": f"={counted([*map(name_of, sorted(numbers))])}<{sum(len(blanks[n - 1].cells) for n in numbers)}",
            "format": look("waiting", styles.WAITING),
            "multi_range": " ".join(grid.area(*corners) for corners in found),
            "stop_if_true": True,
        }
        page.conditional_format(*found[0], rule)
