"""Worksheets: workbooks in which cells are left blank for a student, and from which no answer can be read."""

from blueprint.worksheets.cutting import without
from blueprint.worksheets.in_use import USED, in_use, read
from blueprint.worksheets.leaks import Leak, Search
from blueprint.worksheets.making import LEVELS, Worksheet, can_be_checked, worksheet
from blueprint.worksheets.requested_blanks import Asked, WorksheetError, asked_from, schema

__all__ = [
    "LEVELS", "USED", "Asked", "Leak", "Search", "Worksheet", "WorksheetError", "asked_from", "can_be_checked",
    "in_use", "read", "schema", "without", "worksheet",
]  # fmt: skip
