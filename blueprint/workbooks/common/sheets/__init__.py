"""The sheets that every workbook has: the first one, the derivation of one number, checks and charts."""

from blueprint.workbooks.common.sheets.checks import Witnessed, checks_sheet
from blueprint.workbooks.common.sheets.opening import Lesson, conventions_in_use, in_line, lesson_sheet, lines_of_flow
from blueprint.workbooks.common.sheets.rows import Rows, behind, named, repeated, rows_on, several, sheet_of
from blueprint.workbooks.common.sheets.start import (
    COLUMNS,
    DASH,
    DOWN,
    LEGEND,
    LINE,
    ON,
    TOTAL,
    UP,
    WIDTHS,
    Made,
    Says,
    facts_of,
    how_to_check,
    made_by,
    start_sheet,
    way_back,
    with_,
)
from blueprint.workbooks.common.sheets.walk import InView, Titled, titled_sections

__all__ = [
    "COLUMNS", "DASH", "DOWN", "LEGEND", "LINE", "ON", "TOTAL", "UP", "WIDTHS", "InView", "Lesson", "Made", "Rows", "Says",
    "Titled", "Witnessed", "behind", "checks_sheet", "conventions_in_use", "facts_of", "how_to_check", "in_line",
    "lesson_sheet", "lines_of_flow", "made_by", "named", "repeated", "rows_on", "several", "sheet_of", "start_sheet",
    "titled_sections", "way_back", "with_",
]  # fmt: skip
