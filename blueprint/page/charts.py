"""Charts: native ones, drawn from the cells of the page, so that they follow what one types."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from blueprint.language import Block
from blueprint.page import grid
from blueprint.page.dress import GREY, INK
from blueprint.page.layout import Hung, Layout
from blueprint.page.outline import Chart, Scale, Series

SIZE = {"width": 620, "height": 360}
GAP = 20
MOST_WORDS = 64
"""Dots that get a word beside them; more could not be read."""

# Told apart by those who see no colour, and on paper: Okabe and Ito's colours, with another dash and another mark each.
STROKES = (
    ("#0072B2", "solid", "circle"),
    ("#D55E00", "dash", "square"),
    ("#009E73", "round_dot", "triangle"),
    ("#6F4E7C", "long_dash", "diamond"),
    ("#000000", "solid", "x"),
)
# Bars side by side differ in hatching, so that they can be told apart without colour.
PATTERNS = (None, "wide_upward_diagonal", "dotted_diamond")
KINDS: dict[str, dict[str, str]] = {
    "scatter": {"type": "scatter", "subtype": "straight"},
    "line": {"type": "line"},
    "bars": {"type": "column"},
}
MAJOR_GRID = {"visible": True, "line": {"color": "#D9D9D9", "width": 0.5}}


def hang(hung: Hung, layout: Layout, page: Any, add_chart: Callable[[dict[str, str]], Any]) -> None:
    """Draws a chart and hangs it on its sheet."""
    chart = hung.chart
    made = add_chart(KINDS[chart.kind])
    named, unnamed = 0, 0
    for number, series in enumerate(chart.series):
        drawn = _series(chart, series, number, layout)
        for each in drawn:
            made.add_series(each)
        named, unnamed = (named, unnamed + len(drawn)) if len(drawn) > 1 else (named + 1, unnamed)
    made.set_title({"name": chart.title, "name_font": {"size": 12, "color": INK}, "overlay": False})
    made.set_x_axis(_axis(chart.across) | {"label_position": "low"})
    made.set_y_axis(_axis(chart.up) | {"major_gridlines": MAJOR_GRID})
    hidden = list(range(named, named + unnamed))
    made.set_legend({"position": "bottom", "delete_series": hidden} if len(chart.series) > 1 else {"none": True})
    made.set_size(SIZE)
    offset = {"x_offset": hung.right * (SIZE["width"] + GAP), "object_position": 3}
    page.insert_chart(hung.row, grid.LEFT, made, offset | {"description": f"{chart.title}. {chart.tells}"})


def _series(chart: Chart, series: Series, number: int, layout: Layout) -> list[dict[str, Any]]:
    """Describes a series to the writer; dots that have words are a series each, whose name is the word."""
    colour, dash, mark = STROKES[number % len(STROKES)]
    marker = {"type": mark, "size": 8, "fill": {"color": colour}, "border": {"color": INK}}
    dots = {"line": {"none": True}, "marker": marker}
    if series.words is not None and len(_members(series.values, layout)) <= MOST_WORDS:
        label = {"series_name": True, "value": False, "position": "above", "font": {"size": 9, "color": GREY}}
        blocks = (series.words, series.over, series.values)
        cells = zip(*(_members(block, layout) for block in blocks), strict=True)
        keys = ("name", "categories", "values")
        return [dict(zip(keys, each, strict=True)) | dots | {"data_labels": label} for each in cells]
    given: dict[str, Any] = {
        "name": series.name,
        "categories": "=" + cells_of(series.over, layout),
        "values": "=" + cells_of(series.values, layout),
    }
    if chart.kind == "bars":
        return [given | _filled(colour, PATTERNS[number % len(PATTERNS)]) | {"border": {"color": INK}, "gap": 60}]
    if series.dots:
        return [given | dots]
    small = marker | {"size": 5} if chart.kind == "line" else {"type": "none"}
    return [given | {"line": {"color": colour, "width": 2, "dash_type": dash}, "marker": small}]


def _filled(colour: str, pattern: str | None) -> dict[str, Any]:
    if pattern is None:
        return {"fill": {"color": colour}}
    return {"pattern": {"pattern": pattern, "fg_color": colour, "bg_color": "#FFFFFF"}}


def _axis(scale: Scale) -> dict[str, Any]:
    ends = {"min": scale.low, "max": scale.high}
    return {"name": scale.title, "name_font": {"bold": False, "size": 10}} | {
        k: v for k, v in ends.items() if v is not None
    }


def cells_of(block: Block, layout: Layout) -> str:
    """Returns the range of cells that are drawn: from the first member to the last, without those at the edges."""
    if block in layout.spread:
        sheet, top, last, column = layout.spread[block]
        letter = grid.letters(column)
        return f"{grid.quoted(sheet)}!${letter}${top + 1}:${letter}${last + 1}"
    place, values = layout.places[block], layout.values
    top, left = place.cell(block, (0,) * len(block.axes))
    bottom, right = place.cell(block, tuple(values.size(axis) - 1 for axis in block.axes))
    first, last_cell = f"${grid.letters(left)}${top + 1}", f"${grid.letters(right)}${bottom + 1}"
    return f"{grid.quoted(place.sheet)}!{first}:{last_cell}"


def _members(block: Block, layout: Layout) -> list[str]:
    """Returns the address of every member's cell, without those at the edges."""
    place, values = layout.places[block], layout.values
    cells = (place.cell(block, at) for at in product(*(range(values.size(axis)) for axis in block.axes)))
    return [f"={grid.quoted(place.sheet)}!${grid.letters(column)}${row + 1}" for row, column in cells]
