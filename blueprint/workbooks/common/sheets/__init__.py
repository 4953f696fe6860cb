"""The sheets that every workbook has: the first one, the derivation of one number, checks and charts."""

from blueprint.workbooks.common.sheets.checks import Witnessed, checks_sheet
from blueprint.workbooks.common.sheets.opening import (
    COMES,
    Lesson,
    conventions_in_use,
    in_line,
    lesson_sheet,
    lines_of_flow,
)
from blueprint.workbooks.common.sheets.rows import Rows, behind, named, repeated, rows_on, several, sheet_of
from blueprint.workbooks.common.sheets.start import (
    ABOUT,
    COLUMNS,
    DASH,
    DOWN,
    LEGEND,
    LINE,
    MAP,
    ON,
    TOTAL,
    UP,
    Made,
    Says,
    adding_up,
    facts_of,
    first_sheet,
    how_to_check,
    judged,
    made_by,
    start_sheet,
    way_back,
    with_,
)
from blueprint.workbooks.common.sheets.walk import InView, Titled, titled_sections

__all__ = [
    "ABOUT", "COLUMNS", "COMES", "DASH", "DOWN", "LEGEND", "LINE", "MAP", "ON", "TOTAL", "UP", "InView", "Lesson", "Made",
    "Rows", "Says", "Titled", "Witnessed", "adding_up", "behind", "checks_sheet", "conventions_in_use", "facts_of", "first_sheet",
    "how_to_check", "in_line", "judged", "lesson_sheet", "lines_of_flow", "made_by", "named", "repeated", "rows_on",
    "several", "sheet_of", "start_sheet", "titled_sections", "way_back", "with_",
]  # fmt: skip
