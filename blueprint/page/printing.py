"""Printing: landscape, titles repeated, numbered pages, and letters that stay large enough to read."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

A4 = 9
MARGIN = 0.4
# Letter is the narrower of the two in landscape, A4 the lower one: what fits both is set for either.
USABLE_INCHES = 11.0 - 2 * MARGIN
INCHES_PER_LETTER = 7 / 96
SMALLEST_SCALE = 0.6
"""At 60 % ten points are six on paper, the smallest that one reads without effort."""


def pages_across(widths: Mapping[int, float], repeated: range) -> int:
    """Returns over how many pages side by side a sheet is spread, so that it is not shrunk below the smallest scale.

    widths: the width of every column in letters. repeated: the columns that every page shows again.
    """
    inches = {column: width * INCHES_PER_LETTER * SMALLEST_SCALE for column, width in widths.items()}
    again = sum(inches.get(column, 0) for column in repeated)
    rest = sum(inches.values()) - again
    return max(1, ceil(rest / (USABLE_INCHES - again)))


def set_up_print(page: Any, head_rows: int, widths: Mapping[int, float], repeated: range) -> None:
    """Sets paper, margins, repeated rows and columns, and what stands at the foot of each page."""
    page.set_landscape()
    page.set_paper(A4)
    page.set_margins(MARGIN, MARGIN, 0.5, 0.6)
    page.print_row_col_headers()
    page.fit_to_pages(pages_across(widths, repeated), 0)
    page.repeat_rows(0, head_rows - 1)
    if len(repeated):
        page.repeat_columns(repeated.start, repeated.stop - 1)
    page.set_footer("&L&8&F&C&8&A&R&8page &P of &N")
