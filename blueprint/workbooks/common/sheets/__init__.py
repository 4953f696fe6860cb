"""The sheets that every workbook has: the first one, the derivation of one number, checks and charts."""

from blueprint.workbooks.common.sheets.checks import Witnessed, checks_sheet
from blueprint.workbooks.common.sheets.start import (
    ABOUT,
    DASH,
    DOWN,
    LEGEND,
    LINE,
    ON,
    TOTAL,
    UP,
    Made,
    Says,
    adding_up,
    conventions_in_use,
    facts_of,
    in_line,
    lines_of_flow,
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
    "ABOUT", "DASH", "DOWN", "LEGEND", "LINE", "ON", "TOTAL", "UP", "InView", "Made", "Rows", "Says", "Titled", "Witnessed",
    "adding_up", "behind", "checks_sheet", "conventions_in_use", "facts_of", "in_line", "lines_of_flow", "named", "repeated",
    "rows_on", "several", "sheet_of", "start_sheet", "titled_sections", "way_back", "with_",
]  # fmt: skip
