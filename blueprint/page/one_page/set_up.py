"""Sets up the sheet One page: sizes, merged cells, marks by condition, and one landscape page of paper."""

from typing import Any

from blueprint.page import printing, styles, waiting
from blueprint.page.layout import Layout
from blueprint.page.names import ONE_PAGE
from blueprint.page.one_page import look
from blueprint.page.one_page.canvas import Sheet

PAPER_MARGIN = 0.3


def set_up(sheet: Sheet, page: Any, layout: Layout, make: Any) -> None:
    """Sets up the writer's sheet `page`; `make` makes its format of a style."""
    for column, width in enumerate(sheet.widths):
        page.set_column_pixels(column, column, width)
    for row, height in sheet.heights.items():
        page.set_row_pixels(row, height)
    for row in range(sheet.end + 2, layout.end[ONE_PAGE]):
        page.set_row(row, None, None, {"hidden": True})  # not folded: the bar of folds would take from the width
    page.hide_gridlines(2)
    page.hide_row_col_headers()
    page.set_tab_color(look.STRONG["none"])
    page.set_landscape()
    page.set_paper(9)
    page.set_margins(*[PAPER_MARGIN] * 4)
    page.center_horizontally()
    page.fit_to_pages(1, 1)
    page.print_area(0, 0, sheet.end - 1, len(sheet.widths) - 1)
    head = layout.body[ONE_PAGE]
    page.repeat_rows(0, head - 1)
    page.freeze_panes(head, 0)
    printing.set_footer(page)
    for corners, style in sheet.merged:
        page.merge_range(*corners, "", make(style, styles.label_style(style)))
    for row, column, style in sheet.filled:
        page.write_blank(row, column, None, make(style, styles.label_style(style)))
    waiting.show(ONE_PAGE, page, make, layout)  # first, since the first rule wins
    for mark in sheet.marks:
        rule = {"type": "formula", "criteria": f"={mark.condition}", "format": make(mark.name, mark.style)}
        page.conditional_format(*mark.corners, rule)
