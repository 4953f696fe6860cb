"""The outline of a workbook: which block stands on which sheet, under which heading, beside what. Pure data."""

from blueprint.page.outline.book import Blueprint, Choice, Section, Sheet, blocks_on
from blueprint.page.outline.charts import Chart, Scale, Series
from blueprint.page.outline.items import (
    Box,
    Finder,
    Flow,
    Item,
    Line,
    Note,
    Piece,
    Row,
    Sample,
    Spread,
    Step,
    Table,
    Unchanged,
    View,
    key,
    minor,
)

__all__ = [
    "Blueprint",
    "Box",
    "Chart",
    "Choice",
    "Finder",
    "Flow",
    "Item",
    "Line",
    "Note",
    "Piece",
    "Row",
    "Sample",
    "Scale",
    "Section",
    "Series",
    "Sheet",
    "Spread",
    "Step",
    "Table",
    "Unchanged",
    "View",
    "blocks_on",
    "key",
    "minor",
]
