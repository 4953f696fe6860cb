"""Writing: the only place that knows the file format's writer. It turns a layout into a workbook."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.exceptions import FileCreateError

from blueprint.language import Block
from blueprint.page import contents, dress, grid
from blueprint.page.cells import Run, echo_formula, runs
from blueprint.page.furniture import Furniture
from blueprint.page.layout import Layout
from blueprint.page.names import defined_name
from blueprint.page.saving import SaveError, saved_whole

NEW_YEAR_2026 = 1_767_225_600
"""When a file says it was made, unless SOURCE_DATE_EPOCH says otherwise: fixed, so that the same numbers give the same bytes."""

OPTIONS = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}


def write(layout: Layout, path: Path) -> int:
    """Writes a workbook, whole or not at all, and returns how many formulas it holds. Raises SaveError."""
    made = _made()
    with saved_whole(path) as unfinished:
        try:
            with xlsxwriter.Workbook(str(unfinished), OPTIONS) as book:
                return BookWriter(layout, book, made).write()
        except FileCreateError as error:
            # It wraps the system's own reason, such as a full disk.
            raise error.args[0] from error


def _made() -> datetime:
    """Returns when the file says it was made."""
    given = os.environ.get("SOURCE_DATE_EPOCH") or NEW_YEAR_2026
    try:
        return datetime.fromtimestamp(int(given), UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError) as error:
        expected = f"seconds since 1970, such as {NEW_YEAR_2026}"
        raise SaveError(f"SOURCE_DATE_EPOCH: found {given}, expected {expected}") from error


class BookWriter:
    """Writes one workbook, feature by feature."""

    def __init__(self, layout: Layout, book: xlsxwriter.Workbook, made: datetime):
        self.layout = layout
        self.blueprint = layout.blueprint
        self.book = book
        self.made = made
        self.sheets: dict[str, Any] = {}
        self.formats: dict[Any, Any] = {}
        self.formulas = 0

    def write(self) -> int:
        """Writes everything and returns the number of formulas."""
        self.properties()
        for sheet in self.blueprint.sheets:
            self.sheets[sheet.title] = self.book.add_worksheet(sheet.title)
            Furniture(sheet, self.sheets[sheet.title], self.layout, self.dressed).place()
        self.sheets[contents.SHEET] = self.book.add_worksheet(contents.SHEET)
        self.set_up_contents()
        self.labels()
        for run in runs(self.layout):
            self.run(run)
        self.echoes()
        self.jumps()
        self.names()
        self.validation()
        return self.formulas

    def dressed(self, key: Any, properties: dress.Properties) -> Any:
        """Returns the writer's format for a dress, made once."""
        if key not in self.formats:
            self.formats[key] = self.book.add_format(properties)
        return self.formats[key]

    def label_format(self, style: str) -> Any:
        """Returns the format of a label."""
        return self.dressed(style, dress.label_dress(style))

    def properties(self) -> None:
        """Notes in the file what it is and what it was made from."""
        self.book.set_properties({"title": self.blueprint.title, "author": "RLHF Blueprint", "created": self.made})
        sizes = " ".join(f"{axis.letter}={size}" for axis, size in self.blueprint.sizes.items())
        facts = {
            "layout": contents.LAYOUT_VERSION,
            "blocks": str(len(self.layout.places)),
            "sizes": sizes,
            **self.blueprint.facts,
        }
        for name, text in facts.items():
            self.book.set_custom_property(f"blueprint {name}", text)

    def set_up_contents(self) -> None:
        """Sets the columns of the sheet of contents and names its table."""
        page = self.sheets[contents.SHEET]
        for column, width in enumerate(contents.WIDTHS):
            page.set_column(column, column, width)
        page.freeze_panes(contents.FIRST_ROW, 1)
        last = self.layout.end[contents.SHEET]
        letter = grid.letters(len(contents.COLUMNS) - 1)
        self.book.define_name(contents.RANGE_NAME, f"={contents.SHEET}!$A${contents.FIRST_ROW}:${letter}${last}")

    def labels(self) -> None:
        """Writes the fixed texts."""
        rule = self.label_format("rule")
        for label in self.layout.labels:
            if label.style == "section":
                for column in range(grid.SYMBOL, grid.BATCH + 1):
                    self.sheets[label.sheet].write_blank(label.row, column, None, rule)
        for label in self.layout.labels:
            self.sheets[label.sheet].write_string(label.row, label.column, label.text, self.label_format(label.style))

    def run(self, run: Run) -> None:
        """Writes the cells of one row of a block."""
        page = self.sheets[run.sheet]
        looks = self.looks(run)
        if run.formulas is not None:
            self.formulas += len(run.formulas)
            for column, formula, look, value in zip(run.columns, run.formulas, looks, run.values, strict=True):
                page.write_formula(run.row, column, formula, look, value)
            return
        for column, look, value in zip(run.columns, looks, run.values, strict=True):
            if value == "" or value != value:
                page.write_blank(run.row, column, None, look)
            elif isinstance(value, str):
                page.write_string(run.row, column, value, look)
            else:
                page.write_number(run.row, column, value, look)

    def looks(self, run: Run) -> list[Any]:
        """Returns the format of each cell of a run; only weights, which have an outline, need more than one."""
        block, role = run.block, self.layout.roles[run.block]
        key = contents.kind_of(block), role, block.about.decimals, run.edge
        if role != "weights":
            return [self.dressed(key, dress.cell_dress(*key))] * len(run.columns)
        top, left, bottom, right = self.layout.places[block].corners(block, self.layout.values)
        at_row = tuple(side for side, line in (("top", top), ("bottom", bottom)) if line == run.row)
        looks = []
        for column in run.columns:
            sides = at_row + tuple(side for side, line in (("left", left), ("right", right)) if line == column)
            looks.append(self.dressed((*key, sides), dress.cell_dress(*key, sides)))
        return looks

    def echoes(self) -> None:
        """Writes the cells that show another cell again."""
        for echo in self.layout.echoes:
            value = self.layout.values.cell(echo.block, *echo.places)
            formula, look = echo_formula(echo, self.layout), self.label_format(echo.style)
            self.sheets[echo.sheet].write_formula(echo.row, echo.column, formula, look, value)
            self.formulas += 1

    def jumps(self) -> None:
        """Writes the links to blocks."""
        for jump in self.layout.jumps:
            target = contents.range_of(jump.block, self.layout, absolute=False)
            look, url = self.label_format("link"), f"internal:{target}"
            place = self.layout.places[jump.block]
            text = jump.text.format(sheet=place.sheet, row=place.row + 1)
            _done(self.sheets[jump.sheet].write_url(jump.row, jump.column, url, look, text), text)

    def names(self) -> None:
        """Gives every block its defined name."""
        for block in self.layout.places:
            _done(self.book.define_name(defined_name(block), "=" + contents.range_of(block, self.layout)), block.name)

    def validation(self) -> None:
        """Offers the words that may be typed, and refuses numbers out of range."""
        for block, words in self.blueprint.choices.items():
            source = "=" + contents.range_of(words, self.layout)
            self.validate(block, {"validate": "list", "source": source})
        for block, (low, high) in self.blueprint.ranges.items():
            kind = "decimal" if block.about.decimals else "integer"
            rule = {"validate": kind, "criteria": "between", "minimum": low, "maximum": high}
            self.validate(block, rule | {"error_message": f"{block.about.meaning}: {low:g} … {high:g}"[:255]})

    def validate(self, block: Block, rule: dict[str, Any]) -> None:
        """Puts a rule on all cells of a typed block."""
        place = self.layout.places[block]
        top, left, bottom, right = place.corners(block, self.layout.values)
        title = f"{block.name.removesuffix('.yours')}  {block.symbol.removesuffix('_yours')}"
        rule |= {"input_title": title[:32], "input_message": block.about.meaning[:255], "ignore_blank": True}
        _done(self.sheets[place.sheet].data_validation(top, left, bottom, right, rule), block.name)


def _done(code: int, what: str) -> None:
    """Raises where the writer, which reports some failures only by a number, has left something out."""
    if code:
        raise SaveError(f"the writer left out {what} (its code {code})")
