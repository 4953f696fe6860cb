"""Charts: native ones, drawn from the cells of the page, so that they follow what one types; and the words beside their dots."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from blueprint.language import Block
from blueprint.page import grid, outline, styles
from blueprint.page.layout import Layout, PlacedChart
from blueprint.page.one_page import look

SIDES = {"above": (0.0, 1.0), "below": (0.0, -1.0), "right": (1.0, 0.0), "left": (-1.0, 0.0)}
"""Where a word may stand, and which way that is from its dot."""
WIDE, HIGH = 460.0, 170.0
"""About how large the area is on which dots are drawn, in pixels."""
LETTER, LINE, AWAY = 6.0, 14.0, 7.0
"""Pixels of a letter's width, of a word's height, and from a dot to the word beside it."""


Dot = tuple[float, float, str]
"""Where a dot stands, and the word that belongs to it; one left of the picture is out of sight."""
Corners = tuple[str, int, int, int, int]
"""A sheet, and the first row and column and the last row and column of some of its cells."""
Box = tuple[float, float, float, float]
"""The area that a word takes, in pixels: its left, bottom, right and top."""


def sides(dots: list[Dot], ends: tuple[float | None, float | None]) -> list[str]:
    """Returns the side for each dot's word: the first one where nothing stands yet; `ends` are those of the picture.

    It is found for the numbers at hand. Dots that move later, or are out of sight now, have neighbouring words on
    different sides.
    """
    low, high = (0.0 if ends[0] is None else ends[0], 1.0 if ends[1] is None else ends[1])
    heights = [y for x, y, _ in dots if x >= low] or [0.0]
    bottom, tall = min(heights), max(max(heights) - min(heights), 1.0)
    boxes, found = list[Box](), list[str]()
    for number, (x, y, word) in enumerate(dots):
        at = (x - low) / (high - low) * WIDE, (y - bottom) / tall * HIGH
        order = [*SIDES] if x >= low else [[*SIDES][number % len(SIDES)]]
        near = {side: _box(at, word, side) for side in order}
        side = next((side for side in order if not any(_meet(near[side], box) for box in boxes)), order[0])
        boxes += [near[side]] * (x >= low)
        found.append(side)
    return found


def _box(at: tuple[float, float], word: str, side: str) -> Box:
    """Returns the area of a word on one side of its dot."""
    wide, (right, up) = LETTER * len(word), SIDES[side]
    x, y = at[0] + right * (AWAY + wide / 2), at[1] + up * (AWAY + LINE / 2)
    return x - wide / 2, y - LINE / 2, x + wide / 2, y + LINE / 2


def _meet(one: Box, other: Box) -> bool:
    """Tells whether two areas overlap."""
    return all(one[i] < other[i + 2] and other[i] < one[i + 2] for i in (0, 1))


WIDTH, HEIGHT, GAP = 620, 360, 20
MARGIN, BETWEEN = 70, 40
"""Pixels beside the bars, and how much of a bar's width is left between groups of them, in percent."""
LEAST_BAR = 8.0
"""Pixels a bar is wide at least where a number stands on it; on thinner ones the numbers would overprint."""
ROWS = 19
"""The rows that a chart and the room below it take."""
MOST_WORDS = 64
"""Dots that get a word beside them, and bars that each get one below; more could not be read."""

MOST_GROUPS = 64
"""Groups of which the bars are drawn from ranges of their own; a spreadsheet takes no longer formulas for a series."""
# Told apart by those who see no colour, and on paper: Okabe and Ito's colours, with another dash and another mark each.
STROKES = (
    ("#0072B2", "solid", "circle"),
    ("#D55E00", "dash", "square"),
    ("#009E73", "round_dot", "triangle"),
    ("#6F4E7C", "long_dash", "diamond"),
    ("#000000", "solid", "x"),
)
# Bars side by side differ in hatching, white on their colour, so that they can be told apart without it and seen in a legend.
PATTERNS = (None, "wide_upward_diagonal", "dotted_diamond", "light_horizontal", "light_vertical")
KINDS: dict[str, dict[str, str]] = {
    "scatter": {"type": "scatter", "subtype": "straight"},
    "bars": {"type": "column"},
}
BARS = {"border": {"color": styles.INK}, "gap": BETWEEN}
UNDRAWN = {"line": {"none": True}, "marker": {"type": "none"}}
WORD = {"series_name": True, "value": False, "font": {"size": 9, "color": styles.GREY}}
MAJOR_GRID = {"visible": True, "line": {"color": "#D9D9D9", "width": 0.5}}


def insert(placed: PlacedChart, layout: Layout, pages: Mapping[str, Any], add_chart: Callable[..., Any]) -> None:
    """Makes a chart of the writer's and puts it on its sheet, one of the pages, on which everything else stands already."""
    page = pages[placed.sheet]
    chart = placed.chart
    native = add_chart(KINDS[chart.kind])
    words = [label for series in chart.series for label in _words(chart, series, layout)]
    described = (
        _series(chart, number, layout) | _kept(chart, number, layout, pages) for number in range(len(chart.series))
    )
    for series in [*described, *words]:
        native.add_series(series)
    native.set_title({"name": chart.title, "name_font": {"size": 12, "color": styles.INK}})
    every = {"interval_unit": 1} if _cells_across(chart, layout) <= MOST_WORDS else {}
    native.set_x_axis(_axis(chart.across) | {"label_position": "low"} | every)
    native.set_y_axis(_axis(chart.up) | {"label_position": "low", "major_gridlines": MAJOR_GRID})
    unnamed = list(range(len(chart.series), len(chart.series) + len(words)))
    native.set_legend({"position": "bottom", "delete_series": unnamed} if len(chart.series) > 1 else {"none": True})
    native.set_size({"width": _width(chart), "height": HEIGHT})
    options = {"x_offset": placed.right * (WIDTH + GAP), "object_position": 3}
    page.insert_chart(placed.row, grid.LEFT, native, options | {"description": f"{chart.title}. {chart.tells}"})


def right_of(placed: PlacedChart) -> int:
    """Returns how far right of the names a chart ends, in pixels."""
    return placed.right * (WIDTH + GAP) + _width(placed.chart)


def _series(chart: outline.Chart, number: int, layout: Layout) -> dict[str, Any]:
    """Describes a series to the writer."""
    series, (stroke, dash, mark) = chart.series[number], STROKES[number % len(STROKES)]
    colour = look.STRONG[series.colour] if series.colour else stroke
    cells = {
        "categories": f"={cells_of(series.over, chart, layout)}",
        "values": f"={cells_of(series.values, chart, layout)}",
    }
    described: dict[str, Any] = {"name": series.name} | cells
    if chart.kind == "bars":
        pattern = PATTERNS[number % len(PATTERNS)]
        hatched = {"pattern": {"pattern": pattern, "fg_color": "#FFFFFF", "bg_color": colour}}
        return described | (hatched if pattern else {"fill": {"color": colour}}) | BARS | _numbers(chart, layout)
    if series.dots:
        marker = {"type": mark, "size": 8, "fill": {"color": colour}, "border": {"color": styles.INK}}
        return described | UNDRAWN | {"marker": marker}
    return described | UNDRAWN | {"line": {"color": colour, "width": 2, "dash_type": dash}}


def _width(chart: outline.Chart) -> int:
    return 2 * WIDTH + GAP if chart.wide else WIDTH


def _numbers(chart: outline.Chart, layout: Layout) -> dict[str, Any]:
    """Describes the numbers at the ends of bars; where several bars stand side by side, upright in the middle of each.

    At their ends they would meet the words of the axis, or a neighbour's number.
    """
    groups, beside = _cells_across(chart, layout), len(chart.series)
    if not chart.numbers or (_width(chart) - MARGIN) / (groups * (beside + BETWEEN / 100)) < LEAST_BAR:
        return {}
    font: dict[str, Any] = {"size": 8, "color": styles.INK}
    where: dict[str, Any] = {"position": "outside_end", "font": font}
    if beside > 1:
        where = {"position": "center", "font": font | {"rotation": -90}, "fill": {"color": "#FFFFFF"}}
    return {"data_labels": {"value": True, "num_format": chart.numbers} | where}


def _words(chart: outline.Chart, series: outline.Series, layout: Layout) -> list[dict[str, Any]]:
    """Describes the words beside dots: each is a series of its own, without a mark, whose name is the word."""
    found = _sides(chart, series, layout)
    if series.words is None or not found:
        return []
    members = (_members(block, layout) for block in (series.words, series.over, series.values))
    return [
        {"name": name, "categories": across, "values": up} | UNDRAWN | {"data_labels": WORD | {"position": side}}
        for name, across, up, side in zip(*members, found, strict=True)
    ]


def _sides(chart: outline.Chart, series: outline.Series, layout: Layout) -> list[str]:
    """Returns on which side of its dot each word of a series stands; none where there are no words, or too many."""
    if series.words is None or layout.values[series.values].size > MOST_WORDS:
        return []
    x, y, words = (layout.values[block].ravel().tolist() for block in (series.over, series.values, series.words))
    return sides([*zip(x, y, words, strict=True)], (chart.across.low, chart.across.high))


def _axis(scale: outline.Scale) -> dict[str, Any]:
    # The writer takes None for an end that is free.
    ends = {"min": scale.low, "max": scale.high, "major_unit": scale.unit}
    return {"name": scale.title, "name_font": {"bold": False, "size": 10}, **ends}


def _corners(block: Block, layout: Layout) -> Corners:
    """Returns sheet, first row and column, and last row and column of the cells that are drawn, without those at edges."""
    if block in layout.spread:
        sheet, top, last, column = layout.spread[block]
        return sheet, top, column, last, column
    place, sizes = layout.places[block], [layout.values.size(axis) for axis in block.axes]
    return place.sheet, *place.cell(block, (0,) * len(sizes)), *place.cell(block, tuple(size - 1 for size in sizes))


def _drawn(block: Block, chart: outline.Chart, layout: Layout) -> list[Corners]:
    """Returns the corners of the cells that are drawn: all of a block's, or those of each group that may have bars."""
    spans = _spans(chart, layout)
    if not spans or block in layout.spread:
        return [_corners(block, layout)]
    place = layout.places[block]
    return [(place.sheet, *place.cell(block, (i, first)), *place.cell(block, (i, last))) for i, first, last in spans]


def _spans(chart: outline.Chart, layout: Layout) -> list[tuple[int, int, int]]:
    """Returns each group that may have bars, with the first and the last of its members that may; none where all may."""
    if not chart.among:
        return []
    may = np.all([layout.values[block] > 0 for block in chart.among], axis=0)
    if chart.given is not None:
        may = may & (layout.values[chart.given] == 0)
    places = [(group, np.flatnonzero(row)) for group, row in enumerate(may)]
    found = [(group, int(at[0]), int(at[-1])) for group, at in places if at.size]
    return found if len(found) <= MOST_GROUPS else []


def cells_of(block: Block, chart: outline.Chart, layout: Layout) -> str:
    """Returns the range of cells that are drawn; several in brackets."""
    ranges = [
        f"{grid.quoted_title(sheet)}!{grid.address(top, left, fixed=True)}:{grid.address(bottom, right, fixed=True)}"
        for sheet, top, left, bottom, right in _drawn(block, chart, layout)
    ]
    return ranges[0] if len(ranges) == 1 else f"({','.join(ranges)})"


def _kept(chart: outline.Chart, number: int, layout: Layout, pages: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the cells of a series show, which the writer does not look up itself where they are several ranges."""
    series = chart.series[number]
    if len(_drawn(series.values, chart, layout)) == 1:
        return {}
    shown = {"categories_data": series.over, "values_data": series.values}
    return {
        key: [
            value
            for sheet, *corners in _drawn(block, chart, layout)
            for value in pages[sheet]._get_range_data(*corners)
        ]
        for key, block in shown.items()
    }


def _cells_across(chart: outline.Chart, layout: Layout) -> int:
    """Returns how many cells are drawn side by side, those between the groups among them."""
    corners = _drawn(chart.series[0].values, chart, layout)
    return sum((bottom - top + 1) * (right - left + 1) for _, top, left, bottom, right in corners)


def _members(block: Block, layout: Layout) -> list[str]:
    """Returns the address of every member's cell, without those at the edges."""
    return [f"={layout.address(block, at, fixed=True)}" for at in np.ndindex(layout.values[block].shape)]
