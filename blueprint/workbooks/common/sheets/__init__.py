"""The sheets that every workbook has: the first one, the derivation of one number, checks and charts."""

<<<<<<< HEAD
from blueprint.workbooks.common.sheets.averaged import TOTAL
from blueprint.workbooks.common.sheets.checks import checks_sheet
from blueprint.workbooks.common.sheets.flow import DASH, DOWN, LINE, ON, UP, with_
from blueprint.workbooks.common.sheets.head import InView
from blueprint.workbooks.common.sheets.rows import Rows, named, rows_on, several
from blueprint.workbooks.common.sheets.start import CHECKING, COLUMNS, LEGEND, WIDTHS, Made, Says, made_by, start_sheet
from blueprint.workbooks.common.sheets.walk import Titled, titled_sections
from blueprint.workbooks.common.sheets.witness_section import Beside, Witnessed, beside
=======
from blueprint.workbooks.common.sheets.checks import Beside, Witnessed, beside, checks_sheet
from blueprint.workbooks.common.sheets.start import (
    CHECKING,
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
    made_by,
    start_sheet,
    with_,
)
from blueprint.workbooks.common.sheets.walk import InView, Titled, titled_sections
>>>>>>> cf1ad86 (Sheets of words in one module; Walk with the rows that stay in view, Checks with the witness's section, Start with the map's arrows)

__all__ = [
    "CHECKING",
    "COLUMNS",
    "DASH",
    "DOWN",
    "LEGEND",
    "LINE",
    "ON",
    "TOTAL",
    "UP",
    "WIDTHS",
    "Beside",
    "InView",
    "Made",
    "Rows",
    "Says",
    "Titled",
    "Witnessed",
    "beside",
    "checks_sheet",
    "made_by",
    "named",
    "rows_on",
    "several",
    "start_sheet",
    "titled_sections",
    "with_",
]
