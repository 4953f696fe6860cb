"""The sheets that every workbook has: the first one, the derivation of one number, checks and charts."""

from blueprint.workbooks.common.sheets.checks import Witnessed, checks_sheet
from blueprint.workbooks.common.sheets.start import (
    ABOUT,
    COLUMNS,
    COMES,
    DASH,
    DOWN,
    LEGEND,
    LINE,
    MAP,
    ON,
    TOTAL,
    UP,
    Lesson,
    Made,
    Says,
    adding_up,
    conventions_in_use,
    facts_of,
    first_sheet,
    how_to_check,
    in_line,
    judged,
    lesson_sheet,
    lines_of_flow,
    made_by,
    start_sheet,
    way_back,
    with_,
)
from blueprint.workbooks.common.sheets.walk import (
    InView,
    Rows,
    Titled,
    behind,
    named,
    repeated,
    rows_on,
    several,
    sheet_of,
    titled_sections,
)

__all__ = [
    "ABOUT", "COLUMNS", "COMES", "DASH", "DOWN", "LEGEND", "LINE", "MAP", "ON", "TOTAL", "UP", "InView", "Lesson", "Made",
    "Rows", "Says", "Titled", "Witnessed", "adding_up", "behind", "checks_sheet", "conventions_in_use", "facts_of", "first_sheet",
    "how_to_check", "in_line", "judged", "lesson_sheet", "lines_of_flow", "made_by", "named", "repeated", "rows_on",
    "several", "sheet_of", "start_sheet", "titled_sections", "way_back", "with_",
]  # fmt: skip
