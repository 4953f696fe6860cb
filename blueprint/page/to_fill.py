"""Blanks: the sheet that lists what is left to the reader, how far it is filled in, and what is not there because of it.

And the line at the head of the first sheet that says how far one is, and whose copy it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from blueprint.language import Axis, Edge, Values, equation, filled_by
from blueprint.page import blanks, grid, names, outline
from blueprint.page.layout import Layout, Link, Live, Pen, sheet_of_its_own

HEADINGS = {
    "blank": 6, "stands at": 23, "symbol": 13, "what is asked": 36, "where": 20, "equation": 42, "title": 28,
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
REASON = COLUMN["symbol"]
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
    if copy := layout.blueprint.facts.get(names.COPY):
        pen = Pen(first, layout)
        pen.label(grid.BANNER_ROW, COPY_COLUMN - 2, names.COPY, "name")
        pen.label(grid.BANNER_ROW, COPY_COLUMN, copy, "note")
    if not layout.blueprint.blanks:
        return
    headings = [*HEADINGS, *(CHECKS if _checked(layout) else ())]
    pen = sheet_of_its_own(
        names.BLANKS,
        names.BLANKS_LEAD,
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
        pen.label(RULE_ROW, COLUMN["yours"], blanks.SCALE, "count")
        pen.label(RULE_ROW, COLUMN["verdict"], blanks.MODULUS, "count")
    if layout.blueprint.left_out:
        pen.label(row + 1, grid.SYMBOL, "Not there, because a blank would follow from it", "section")
    for at, (name, reason) in enumerate(layout.blueprint.left_out.items(), row + 2):
        pen.label(at, grid.SYMBOL, name, "name")
        pen.label(at, REASON, reason, "name")
    layout.end[names.BLANKS] = row + 2 + len(layout.blueprint.left_out)
    Pen(first, layout).label(grid.BANNER_ROW, grid.NAME, "blanks filled in", "name")
    layout.links.append(Link(first, grid.BANNER_ROW, grid.LEFT + 1, f"{names.BLANKS}!A1", names.BLANKS))


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
    sheet, *_ = place = blanks.places_of(blank, pen.layout)[0]
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
    address = f"{grid.quoted(sheet)}!{grid.address(*place[1:])}"
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
    state = f"{names.BLANKS}!{grid.area(FIRST_ROW, STATE, FIRST_ROW + len(known) - 1, STATE, fixed=True)}"
    done = sum(all(each == each for each in blanks.filled(blank, layout)) for blank in known)
    first, of = layout.blueprint.sheets[0].title, f" of {len(known)}"
    yield Live(first, grid.BANNER_ROW, grid.LEFT, f'=COUNTIF({state},"{DONE}")&"{of}"', f"{done}{of}", "live word")
    for row, blank in enumerate(known, FIRST_ROW):
        yield from _lives_of(row, blank, layout)


def _lives_of(row: int, blank: outline.Blank, layout: Layout) -> Iterator[Live]:
    numbers = [each for each in blanks.filled(blank, layout) if each == each]
    areas, size = blanks.areas_of(blank, layout), len(blank.cells)
    count, cells = (grid.address(row, COLUMN[heading]) for heading in ("filled in", "cells"))
    yield Live(names.BLANKS, row, COLUMN["filled in"], f"={blanks.counted(areas)}", float(len(numbers)), "live 0")
    state = DONE if len(numbers) == size else BEGUN if numbers else EMPTY
    formula = f'=IF({count}={cells},"{DONE}",IF({count}=0,"{EMPTY}","{BEGUN}"))'
    yield Live(names.BLANKS, row, STATE, formula, state, "live word")
    if blank.check is None:
        return
    mine, given = (grid.address(row, COLUMN[heading]) for heading in ("yours", "check"))
    scale, modulus = (grid.address(RULE_ROW, COLUMN[heading], fixed=True) for heading in ("yours", "verdict"))
    digits = f"MOD(ROUND(({blanks.summed(areas)})*{scale},0),{modulus})"
    found = float(blanks.check_of(numbers)) if state == DONE else ""
    yield Live(names.BLANKS, row, COLUMN["yours"], f'=IF({count}={cells},{digits},"")', found, "live 0")
    verdict = "" if found == "" else SAME if found == blank.check else OTHER
    yield Live(
        names.BLANKS,
        row,
        COLUMN["verdict"],
        f'=IF({mine}="","",IF({mine}={given},"{SAME}","{OTHER}"))',
        verdict,
        "verdict",
    )


def table_of(layout: Layout) -> str:
    """Returns the range of the table, its headings included."""
    last = FIRST_ROW + len(layout.blueprint.blanks) - 1
    return f"{names.BLANKS}!{grid.area(FIRST_ROW - 1, grid.SYMBOL, last, len(widths(layout)) - 1, fixed=True)}"


def names_of(layout: Layout) -> dict[str, str]:
    """Returns what the names of the blanks, of their table and of the cell that says whose copy it is stand for."""
    found = {
        blanks.name_of(number): ",".join(blanks.areas_of(blank, layout))
        for number, blank in enumerate(layout.blueprint.blanks, 1)
    }
    if found:
        found[names.BLANKS_RANGE] = table_of(layout)
    if names.COPY in layout.blueprint.facts:
        first = grid.quoted(layout.blueprint.sheets[0].title)
        found[names.COPY_CELL] = f"{first}!{grid.address(grid.BANNER_ROW, COPY_COLUMN, fixed=True)}"
    return found
