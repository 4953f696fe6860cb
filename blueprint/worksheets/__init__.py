"""Worksheets: workbooks in which cells are left blank for a student, and from which no answer can be read."""

from blueprint.worksheets.asked import Asked, asked_from, schema
from blueprint.worksheets.check_digits import can_be_checked
from blueprint.worksheets.cutting import without
from blueprint.worksheets.errors import WorksheetError
from blueprint.worksheets.in_use import USED, in_use, read
from blueprint.worksheets.leaks import Leak, Search
from blueprint.worksheets.made import LEVELS, Worksheet
from blueprint.worksheets.making import worksheet

__all__ = [
    "LEVELS", "USED", "Asked", "Leak", "Search", "Worksheet", "WorksheetError", "asked_from", "can_be_checked",
    "in_use", "read", "schema", "without", "worksheet",
]  # fmt: skip
