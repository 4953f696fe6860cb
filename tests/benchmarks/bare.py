"""Writes given cells with XlsxWriter's default classes and nothing else: what a build is compared with.

As a program, `bare.py CELLS FILE`, it prints the seconds of processor time that it spent on reading the cells, which a
build has no need of.
"""

from __future__ import annotations

import pickle
import sys
import time
from pathlib import Path
from typing import Any

import numpy  # noqa: F401 - a build imports it too, and its import is part of the comparison
import xlsxwriter

Cells = dict[str, list[tuple[int, int, str | None, float | str | None, int]]]
"""By sheet: row, column, formula (if any), value (None: blank), number of the format."""


def write(cells: Cells, looks: list[dict[str, Any]], path: Path) -> None:
    """Writes the cells; `looks` are the properties of the formats."""
    with xlsxwriter.Workbook(str(path), {"strings_to_formulas": False, "strings_to_urls": False}) as book:
        formats = [book.add_format(look) for look in looks]
        for sheet, listed in cells.items():
            page = book.add_worksheet(sheet)
            for row, column, formula, value, look in listed:
                if formula is not None:
                    page.write_formula(row, column, formula, formats[look], value)
                elif value is None:
                    page.write_blank(row, column, None, formats[look])
                elif isinstance(value, str):
                    page.write_string(row, column, value, formats[look])
                else:
                    page.write_number(row, column, value, formats[look])


if __name__ == "__main__":
    began = time.process_time()
    cells, looks = pickle.loads(Path(sys.argv[1]).read_bytes())
    print(time.process_time() - began)
    write(cells, looks, Path(sys.argv[2]))
