"""Blanks: where each stands on a page, which cells wait for it, and the sheet that lists what is left to the reader.

A cell that waits has its formula and no value; by a conditional format it shows “…” on grey instead of a number that
looks right. An error of it is hidden, too: its letters have the colour of its field.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import floor
from typing import Any

import numpy as np

from blueprint.language import Axis, Edge, Values, equation, filled_by, require
from blueprint.page import grid, outline, styles
from blueprint.page.layout import Layout, Link, Live, Pen, sheet_of_its_own
from blueprint.page.outline import Blank, Blueprint

Place = tuple[str, int, int]
"""A cell: its sheet, row and column, counted from 0."""
Rectangle = tuple[int, int, int, int]
"""First row and column, last row and column, counted from 0."""

SCALE, MODULUS = 10_000, 97
"""Of check digits: MOD(ROUND(x·10000, 0), 97), of a blank with several cells of their sum."""
MOST_ARGUMENTS = 200
"""Of one COUNT; a function takes 255."""


def name_of(number: int) -> str:
    """Returns the defined name of a blank, counted from 1: `blank_01`."""
    return f"blank_{number:02}"


def refuse_wrong(blueprint: Blueprint) -> None:
    """Raises NotationError for a blank that is no computed number, or that has no cells, and for a cell in two blanks."""
    known = set(blueprint.blocks())
    seen: dict[tuple[str, tuple[int, ...]], Blank] = {}
    for blank in blueprint.blanks:
        block = blank.block
        require(block in known, f"the blank {blank.title} is of {block.name}, which stands on no sheet")
        require(
            not (block.typed or block.text or block.link or block.limit),
            f"the blank {blank.title}: {block.name} is no computed number of its own, only such a cell can be a blank",
        )
        require(bool(blank.cells) and blank.weight > 0, f"the blank {blank.title} has no cells, or counts nothing")
        for places in blank.cells:
            first = seen.setdefault((block.name, places), blank)
            require(first is blank, f"the blanks {first.title} and {blank.title} have a cell of {block.name} in common")


def places_of(blank: Blank, layout: Layout) -> list[Place]:
    """Returns the cells of a blank, in its order."""
    place = layout.places[blank.block]
    return [(place.sheet, *place.cell(blank.block, places)) for places in blank.cells]


def cells_of(layout: Layout) -> dict[Place, int]:
    """Returns the number of the blank, counted from 1, of every cell that belongs to one."""
    found = enumerate(layout.blueprint.blanks, 1)
    return {cell: number for number, blank in found for cell in places_of(blank, layout)}


def filled(blank: Blank, layout: Layout) -> list[float]:
    """Returns the number that stands in each cell of a blank, NaN in an empty one."""
    if blank.block not in layout.values.held:
        return [np.nan] * len(blank.cells)
    held, spans = layout.values.held[blank.block], layout.values.spans(blank.block)
    return [
        float(held[tuple(place - span[0] for place, span in zip(at, spans, strict=True))]) for at in blank.cells
    ]  # fmt: skip


def areas_of(blank: Blank, layout: Layout) -> list[str]:
    """Returns the ranges of exactly the blank's cells, each with its sheet."""
    sheet = grid.quoted_title(layout.places[blank.block].sheet)
    return [f"{sheet}!{grid.area(*corners, fixed=True)}" for corners in corners_of(blank, layout)]


def corners_of(blank: Blank, layout: Layout) -> list[Rectangle]:
    """Returns the rectangles of which exactly the blank's cells consist."""
    return rectangles((row, column) for _, row, column in places_of(blank, layout))


def rectangles(cells: Iterable[tuple[int, int]]) -> list[Rectangle]:
    """Covers cells with rectangles that overlap nowhere: runs of a row, and equal runs below each other as one."""
    open_runs: dict[tuple[int, int], list[int]] = {}
    found: list[list[int]] = []
    for row, left, right in _row_runs(sorted(set(cells))):
        above = open_runs.get((left, right))
        if above is not None and above[2] == row - 1:
            above[2] = row
        else:
            open_runs[left, right] = [row, left, row, right]
            found.append(open_runs[left, right])
    return [(top, left, bottom, right) for top, left, bottom, right in found]


def _row_runs(cells: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yields row, first and last column of the neighbours in a row, of sorted cells."""
    begin = 0
    for i, (row, column) in enumerate(cells):
        if i + 1 == len(cells) or cells[i + 1] != (row, column + 1):
            yield row, cells[begin][1], column
            begin = i + 1


def over(function: str, ranges: list[str]) -> str:
    """Spells COUNT or SUM over ranges, or over what names stand for."""
    parts = (ranges[i : i + MOST_ARGUMENTS] for i in range(0, len(ranges), MOST_ARGUMENTS))
    return "+".join(f"{function}({','.join(part)})" for part in parts)


def check_of(numbers: Iterable[float]) -> int:
    """Returns the check digits of a blank, 0 … 96, as the formula on the sheet Blanks comes to."""
    scaled = sum(numbers) * SCALE
    rounded = floor(abs(scaled) + 1 / 2)  # as ROUND does: halves away from zero
    return int(rounded if scaled >= 0 else -rounded) % MODULUS


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
    from blueprint.page.saved_file import read_by

    known = {grid.defined_name(block.name): layout.range(block) for block in layout.places}
    readers: dict[Place, list[Place]] = {}
    for formula in formulas:
        here = formula.sheet, formula.row, formula.column
        for area in read_by(formula.formula, formula.sheet, known.get):
            for row, column in product(area.rows, area.columns):
                readers.setdefault((area.sheet, row - 1, column - 1), []).append(here)
    return readers


def waiting_cells(layout: Layout) -> frozenset[Place]:
    """Returns the cells that have no value yet: those that hang on a blank that is empty."""
    blanks = enumerate(layout.blueprint.blanks, 1)
    missing = {number for number, blank in blanks if any(each != each for each in filled(blank, layout))}
    return frozenset(cell for cell, numbers in layout.hangs.items() if numbers & missing)


def show_waiting(sheet: str, page: Any, look: Any, layout: Layout) -> None:
    """Shows the cells of a sheet that wait as waiting, until all blanks on which they hang are filled in.

    On One page the result goes on saying what it is. Of the rules for a cell the first one wins, so these are the first to be
    asked for; `wait_in_gnumeric` comes when all others are.
    """
    styles_of = {live.at: live.style for live in layout.lives if live.sheet == sheet}
    groups: dict[tuple[frozenset[int], str], list[tuple[int, int]]] = {}
    for at, numbers in layout.hangs.items():
        if at[0] == sheet:
            style = styles_of.get(at, "")
            called = style if style.startswith("one-page result ") else ""
            groups.setdefault((numbers, called), []).append(at[1:])
    for (numbers, called), cells in sorted(groups.items(), key=lambda group: (sorted(group[0][0]), group[0][1])):
        found = rectangles(cells)
        waiting = styles.waiting(called.split(" ")[2].replace("_", " ") if called else "")
        rule = {
            "type": "formula",
            "criteria": f"={_missing(numbers, layout)}",
            "format": look(f"waiting {called}".rstrip(), waiting),
            "multi_range": " ".join(grid.area(*corners) for corners in found),
            "stop_if_true": True,
        }
        page.conditional_format(*found[0], rule)


def _missing(numbers: Iterable[int], layout: Layout, sign: str = "<") -> str:
    """Spells that a cell of some blanks is empty; with the sign "=" that none is."""
    chosen = sorted(numbers)
    cells = sum(len(layout.blueprint.blanks[number - 1].cells) for number in chosen)
    return f"{over('COUNT', [*map(name_of, chosen)])}{sign}{cells}"


def once_filled(condition: str, corners: Rectangle, sheet: str, layout: Layout) -> str:
    """Returns a condition for cells that holds only once all blanks are filled in on which they, or what it reads, hang.

    LibreOffice shows both rules of a cell that is in two of them with other ranges, so no mark holds for a cell that waits.
    """
    if not layout.hangs:
        return condition
    # Only a workbook with blanks needs what takes formulas apart.
    from blueprint.page.saved_file import read_by

    top, left, bottom, right = corners
    cells = {(sheet, *at) for at in product(range(top, bottom + 1), range(left, right + 1))}
    for area in read_by(f"={condition}", sheet, lambda name: None):
        cells |= {(area.sheet, row - 1, column - 1) for row, column in product(area.rows, area.columns)}
    numbers = frozenset[int]().union(*(layout.hangs.get(cell, ()) for cell in cells))
    return f"AND({_missing(numbers, layout, '=')},{condition})" if numbers else condition


def wait_in_gnumeric(page: Any, layout: Layout) -> None:
    """Moves what shows cells as waiting to the end of a sheet's file: Gnumeric has one rule for a cell, the last one it reads.

    Other programs go by the number of a rule, which stays.
    """
    rules = page.cond_formats
    for area in [area for area, of in rules.items() if of[0].get("stop_if_true")] if layout.hangs else ():
        rules[area] = rules.pop(area)


HEADINGS = {
    "blank": 8, "stands at": 23, "symbol": 13, "what is asked": 36, "where": 20, "equation": 42, "title": 28,
    "write": 9, "decimals": 9, "points": 7, "cells": 6, "filled in": 8, "so it is": 8,
}  # fmt: skip
"""Of the table, each with its width in letters, from the second column on."""
CHECKS = {"check": 8, "yours": 8, "verdict": 10}
"""More of them, where check digits are asked for."""
COLUMN = {heading: column for column, heading in enumerate((*HEADINGS, *CHECKS), grid.SYMBOL)}
STATE = COLUMN["so it is"]
COPY_COLUMN = grid.LEFT + 5
FIRST_ROW, RULE_ROW = 6, 4
DONE, BEGUN, EMPTY = "filled in", "begun", "empty"
SAME, OTHER = "same", "other"
REASON = COLUMN["what is asked"]
RULE = (
    "Check: the sum of a blank's cells, times the first number on the right, rounded, modulo the second. "
    "Where yours is the same, the number is right, or one time in a hundred lucky."
)


def widths(layout: Layout) -> list[float]:
    """Returns the width of every column, in letters."""
    return [1.5, *HEADINGS.values(), *(CHECKS.values() if _checked(layout) else ())]


def _checked(layout: Layout) -> bool:
    return any(blank.check is not None for blank in layout.blueprint.blanks)


def lay_blanks(layout: Layout) -> None:
    """Adds the sheet, if there are blanks: a row for each, then what is left out; and the line of the first sheet."""
    first = layout.blueprint.sheets[0].title
    if copy := layout.blueprint.facts.get(grid.COPY):
        pen = Pen(first, layout)
        pen.label(grid.BANNER_ROW, COPY_COLUMN - 2, grid.COPY, "name")
        pen.label(grid.BANNER_ROW, COPY_COLUMN, copy, "note")
    if not layout.blueprint.blanks:
        return
    headings = [*HEADINGS, *(CHECKS if _checked(layout) else ())]
    pen = sheet_of_its_own(
        grid.BLANKS,
        grid.BLANKS_LEAD,
        layout,
        grid.SYMBOL,
        FIRST_ROW,
        dict(enumerate(headings, grid.SYMBOL)),
        whole=True,
    )
    for row, blank in enumerate(layout.blueprint.blanks, FIRST_ROW):
        _row(row, blank, pen)
    row = FIRST_ROW + len(layout.blueprint.blanks)
    if _checked(layout):
        pen.label(RULE_ROW, grid.SYMBOL, RULE, "note")
        pen.label(RULE_ROW, COLUMN["yours"], SCALE, "count")
        pen.label(RULE_ROW, COLUMN["verdict"], MODULUS, "count")
    if layout.blueprint.left_out:
        pen.label(row + 1, grid.SYMBOL, "Not there, because a blank would follow from it", "section")
    for at, (name, reason) in enumerate(layout.blueprint.left_out.items(), row + 2):
        pen.label(at, grid.SYMBOL, name, "name")
        pen.label(at, REASON, reason, "name")
    layout.end[grid.BLANKS] = row + 2 + len(layout.blueprint.left_out)
    Pen(first, layout).label(grid.BANNER_ROW, grid.NAME, "blanks filled in", "name")
    layout.links.append(Link(first, grid.BANNER_ROW, grid.LEFT + 1, f"{grid.BLANKS}!A1", grid.BLANKS))


SAMPLES = (
    outline.Sample(" ", "blank", "line", "cream in a dashed outline: a blank, fill in what belongs there"),
    outline.Sample("…", "waiting", "", "… on grey: waits for a blank; it shows its number when that is filled in"),
)


def with_legend(blueprint: outline.Blueprint) -> outline.Blueprint:
    """Returns the outline with what blanks look like in its legend, if there are blanks and a legend."""
    if not blueprint.blanks:
        return blueprint
    sheets = (replace(sheet, sections=tuple(map(_with_samples, sheet.sections))) for sheet in blueprint.sheets)
    return replace(blueprint, sheets=tuple(sheets))


def _with_samples(section: outline.Section) -> outline.Section:
    last = max((i for i, item in enumerate(section.items, 1) if isinstance(item, outline.Sample)), default=0)
    return replace(section, items=section.items[:last] + SAMPLES + section.items[last:]) if last else section


def _row(row: int, blank: outline.Blank, pen: Pen) -> None:
    """Names one blank: what is asked, and where."""
    sheet, *_ = place = places_of(blank, pen.layout)[0]
    texts: dict[str, float | str] = {
        "symbol": blank.block.symbol, "what is asked": blank.block.about.meaning,
        "where": cells_named(blank, pen.layout.values), "write": f"a {blank.asks}",
        "decimals": blank.block.about.decimals, "points": blank.weight,
        "cells": len(blank.cells), "equation": _equation(blank, pen.layout), "title": blank.title,
    }  # fmt: skip
    for heading, text in texts.items():
        style = (
            "equation" if heading == "equation" else "number" if heading in ("decimals", "points", "cells") else "name"
        )
        pen.label(row, COLUMN[heading], text, style)
    pen.label(row, grid.SYMBOL, row - FIRST_ROW + 1, "count")
    address = f"{grid.quoted_title(sheet)}!{grid.address(*place[1:])}"
    pen.link(row, COLUMN["stands at"], address, address.replace("'", ""))
    if blank.check is not None:
        pen.label(row, COLUMN["check"], blank.check, "count")


def _equation(blank: outline.Blank, layout: Layout) -> str:
    """Returns the equation of a blank's first cell, if it is printed."""
    if not blank.says:
        return ""
    filled = filled_by(blank.block, blank.cells[0], layout.values)
    sheet = layout.places[blank.block].sheet
    across = next((each.across for each in layout.blueprint.sheets if each.title == sheet), ())
    return equation(blank.block, filled.definition, frozenset(across)) if filled else ""


def cells_named(blank: outline.Blank, values: Values) -> str:
    """Says which cells a blank has: `plot 1, week 5`, or along an axis with several `week 3 … 5`."""
    along = zip(blank.block.axes, *blank.cells, strict=True) if blank.block.axes else ()
    return ", ".join(_named(axis, places, values) for axis, *places in along)


def _named(axis: Axis, places: Sequence[int], values: Values) -> str:
    numbers = sorted(set(places))
    sides = {-1: str(Edge(axis, -1)), values.size(axis): str(Edge(axis, 1))}
    ends = [sides.get(place, str(place + axis.start)) for place in dict.fromkeys((numbers[0], numbers[-1]))]
    return f"{axis.meaning} {' … '.join(ends)}"


def lives(layout: Layout) -> Iterator[Live]:
    """Spells how far each blank is filled in, and all of them; nothing watches these formulas."""
    known = layout.blueprint.blanks
    if not known:
        return
    # Of one blank, too, the range has both ends: IronCalc counts in no single cell.
    state = f"{grid.BLANKS}!{grid.lookup_area(FIRST_ROW, STATE, FIRST_ROW + len(known) - 1, STATE)}"
    done = sum(all(each == each for each in filled(blank, layout)) for blank in known)
    first, of = layout.blueprint.sheets[0].title, f" of {len(known)}"
    yield Live(first, grid.BANNER_ROW, grid.LEFT, f'=COUNTIF({state},"{DONE}")&"{of}"', f"{done}{of}", "live word")
    for row, blank in enumerate(known, FIRST_ROW):
        yield from _lives_of(row, blank, layout)


def _lives_of(row: int, blank: outline.Blank, layout: Layout) -> Iterator[Live]:
    numbers = [each for each in filled(blank, layout) if each == each]
    areas, size = areas_of(blank, layout), len(blank.cells)
    count, cells = (grid.address(row, COLUMN[heading]) for heading in ("filled in", "cells"))
    yield Live(grid.BLANKS, row, COLUMN["filled in"], f"={over('COUNT', areas)}", float(len(numbers)), "live 0")
    state = DONE if len(numbers) == size else BEGUN if numbers else EMPTY
    formula = f'=IF({count}={cells},"{DONE}",IF({count}=0,"{EMPTY}","{BEGUN}"))'
    yield Live(grid.BLANKS, row, STATE, formula, state, "live word")
    if blank.check is None:
        return
    mine, given = (grid.address(row, COLUMN[heading]) for heading in ("yours", "check"))
    scale, modulus = (grid.address(RULE_ROW, COLUMN[heading], fixed=True) for heading in ("yours", "verdict"))
    digits = f"MOD(ROUND(({over('SUM', areas)})*{scale},0),{modulus})"
    found = float(check_of(numbers)) if state == DONE else ""
    yield Live(grid.BLANKS, row, COLUMN["yours"], f'=IF({count}={cells},{digits},"")', found, "live 0")
    verdict = "" if found == "" else SAME if found == blank.check else OTHER
    yield Live(
        grid.BLANKS,
        row,
        COLUMN["verdict"],
        f'=IF({mine}="","",IF({mine}={given},"{SAME}","{OTHER}"))',
        verdict,
        "verdict",
    )


def table_of(layout: Layout) -> str:
    """Returns the range of the table, its headings included."""
    last = FIRST_ROW + len(layout.blueprint.blanks) - 1
    return f"{grid.BLANKS}!{grid.area(FIRST_ROW - 1, grid.SYMBOL, last, len(widths(layout)) - 1, fixed=True)}"


def names_of(layout: Layout) -> dict[str, str]:
    """Returns what the names of the blanks, of their table and of the cell that says whose copy it is stand for."""
    found = {
        name_of(number): ",".join(areas_of(blank, layout)) for number, blank in enumerate(layout.blueprint.blanks, 1)
    }
    if found:
        found[grid.BLANKS_RANGE] = table_of(layout)
    if grid.COPY in layout.blueprint.facts:
        first = grid.quoted_title(layout.blueprint.sheets[0].title)
        found[grid.COPY_CELL] = f"{first}!{grid.address(grid.BANNER_ROW, COPY_COLUMN, fixed=True)}"
    return found
