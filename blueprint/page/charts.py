"""Charts: native ones, drawn from the cells of the page, so that they follow what one types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blueprint.language import Block
from blueprint.page import grid
from blueprint.page.dress import GREY, INK
from blueprint.page.layout import Hung, Layout
from blueprint.page.outline import Chart, Scale, Series

SIZE = {"width": 620, "height": 360}
GAP = 20
MOST_WORDS = 200
"""Points that get a word beside them; more could not be read."""

# Told apart by those who see no colour, and on paper: Okabe and Ito's colours, with another dash and another mark each.
STROKES = (
    ("#0072B2", "solid", "circle"),
    ("#D55E00", "dash", "square"),
    ("#009E73", "round_dot", "triangle"),
    ("#6F4E7C", "long_dash", "diamond"),
)
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
    for number, series in enumerate(chart.series):
        made.add_series(_series(chart, series, STROKES[number % len(STROKES)], layout))
    made.set_title({"name": chart.title, "name_font": {"size": 12, "color": INK}, "overlay": False})
    made.set_x_axis(_axis(chart.across) | {"label_position": "low"})
    made.set_y_axis(_axis(chart.up) | {"major_gridlines": MAJOR_GRID})
    made.set_legend({"position": "bottom"} if len(chart.series) > 1 else {"none": True})
    made.set_size(SIZE)
    offset = {"x_offset": hung.right * (SIZE["width"] + GAP), "object_position": 3}
    page.insert_chart(hung.row, grid.SYMBOL, made, offset | {"description": f"{chart.title}. {chart.tells}"})


def _series(chart: Chart, series: Series, stroke: tuple[str, str, str], layout: Layout) -> dict[str, Any]:
    colour, dash, mark = stroke
    given: dict[str, Any] = {
        "name": series.name,
        "categories": "=" + cells_of(series.over, layout),
        "values": "=" + cells_of(series.values, layout),
    }
    marker = {"type": mark, "size": 8, "fill": {"color": colour}, "border": {"color": INK}}
    if chart.kind == "bars":
        return given | {"fill": {"color": colour}, "border": {"color": INK}, "gap": 60}
    if series.dots:
        return given | {"line": {"none": True}, "marker": marker} | _words(series, layout)
    small = marker | {"size": 5} if chart.kind == "line" else {"type": "none"}
    return given | {"line": {"color": colour, "width": 2, "dash_type": dash}, "marker": small}


def _words(series: Series, layout: Layout) -> dict[str, Any]:
    """Puts the word of each point beside it, as long as there are few enough to read."""
    if series.words is None:
        return {}
    sheet, row, columns = _row(series.words, layout)
    if len(columns) > MOST_WORDS:
        return {}
    custom = [{"value": f"={grid.quoted(sheet)}!${grid.letters(column)}${row + 1}"} for column in columns]
    font = {"size": 9, "color": GREY}
    return {"data_labels": {"value": True, "custom": custom, "position": "right", "font": font}}


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


def _row(block: Block, layout: Layout) -> tuple[str, int, range]:
    """Returns the sheet, the row and the columns, gaps included, of a block that lies in one row."""
    place, values = layout.places[block], layout.values
    top, left = place.cell(block, (0,) * len(block.axes))
    _, right = place.cell(block, tuple(values.size(axis) - 1 for axis in block.axes))
    return place.sheet, top, range(left, right + 1)
