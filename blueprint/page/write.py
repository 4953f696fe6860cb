"""Writing: the only place that knows the file format's writer. It turns a layout into a workbook."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import xlsxwriter

from blueprint.language import Block
from blueprint.page import contents, dress, grid
from blueprint.page.cells import Run, echo_formula, runs
from blueprint.page.layout import Layout
from blueprint.page.names import defined_name
from blueprint.page.outline import Sheet, blocks_on
from blueprint.page.saving import SaveError, saved_whole

LAYOUT_VERSION = "1"
"""Version of the way in which blocks lie in a file; a reader refuses what it does not know."""

NEW_YEAR_2026 = 1_767_225_600
"""When a file says it was made, unless SOURCE_DATE_EPOCH says otherwise: fixed, so that the same numbers give the same bytes."""

OPTIONS = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}


def write(layout: Layout, path: Path) -> int:
    """Writes a workbook, whole or not at all, and returns how many formulas it holds."""
    with saved_whole(path) as unfinished, xlsxwriter.Workbook(str(unfinished), OPTIONS) as book:
        return BookWriter(layout, book).write()


class BookWriter:
    """Writes one workbook, feature by feature."""

    def __init__(self, layout: Layout, book: xlsxwriter.Workbook):
        self.layout = layout
        self.blueprint = layout.blueprint
        self.book = book
        self.sheets: dict[str, Any] = {}
        self.formats: dict[Any, Any] = {}
        self.formulas = 0

    def write(self) -> int:
        """Writes everything and returns the number of formulas."""
        self.properties()
        for sheet in self.blueprint.sheets:
            self.sheets[sheet.title] = self.book.add_worksheet(sheet.title)
            self.set_up(sheet)
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
        moment = int(os.environ.get("SOURCE_DATE_EPOCH", NEW_YEAR_2026))
        made = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
        self.book.set_properties({"title": self.blueprint.title, "author": "RLHF Blueprint", "created": made})
        sizes = " ".join(f"{axis.letter}={size}" for axis, size in self.blueprint.sizes.items())
        facts = {"layout": LAYOUT_VERSION, "sizes": sizes, **self.blueprint.facts}
        for name, text in facts.items():
            self.book.set_custom_property(f"blueprint {name}", text)

    def set_up(self, sheet: Sheet) -> None:
        """Sets columns, panes and print of a sheet, and the banner over the groups."""
        page = self.sheets[sheet.title]
        page.hide_gridlines(2)
        page.set_landscape()
        page.fit_to_pages(1, 0)
        page.set_column(0, 0, 1.5)
        page.set_column(grid.SYMBOL, grid.SYMBOL, 13)
        page.set_column(grid.NAME, grid.NAME, 38)
        page.set_column(grid.LEFT, grid.BATCH - 1, self.left_width(sheet))
        page.set_column(grid.BATCH, grid.BATCH, 9.5)
        page.set_column(grid.BATCH + 1, grid.BATCH + 1, 1.5)
        body = self.layout.body[sheet.title]
        page.freeze_panes(body, grid.LEFT)
        page.set_row(grid.TITLE_ROW, 24)
        if sheet.across:
            self.banner(sheet)
        if sheet.grey is not None:
            self.grey(sheet, body)

    def left_width(self, sheet: Sheet) -> float:
        """Returns the width of the ten left columns: room for weights, or together for the longest equation."""
        if any(self.layout.places[b].column == grid.LEFT for b in blocks_on(sheet)) or not sheet.across:
            return 7.6
        title = sheet.title
        longest = max(
            (len(x.text) for x in self.layout.labels if x.sheet == title and x.style == "equation"), default=0
        )
        return max(4.5, 1 + longest / grid.LEFT_COLUMNS)

    def banner(self, sheet: Sheet) -> None:
        """Writes the heads of the groups: their number, then start, 1 … T, end, Σ."""
        page, time = self.sheets[sheet.title], sheet.across[-1]
        members = self.layout.values.size(time)
        groups = self.layout.values.size(sheet.across[0]) if len(sheet.across) > 1 else 1
        number, banner = self.label_format("head number"), self.label_format("banner")
        sides = {side for block in blocks_on(sheet) for axis, side in block.edges if axis is time}
        heads = {"start", "end", "Σ"} if len(sheet.across) > 1 else {{-1: "start", 1: "end"}[side] for side in sides}
        page.write_string(grid.NUMBER_ROW, grid.NAME, f"{time.meaning}  {time.letter}", self.label_format("head name"))
        page.write_string(grid.NUMBER_ROW, grid.BATCH, "batch" if len(sheet.across) > 1 else "all", number)
        for group in range(groups):
            start = grid.start_column(group, members)
            page.set_column(start, start + members + 2, 9)
            page.set_column(start + members + 3, start + members + 3, 1.5)
            for column in range(start, start + members + 3):
                page.write_blank(grid.BANNER_ROW, column, None, banner)
            title = (
                f"{sheet.across[0].meaning} {group + sheet.across[0].start}" if len(sheet.across) > 1 else time.meaning
            )
            page.write_string(grid.BANNER_ROW, start, title.capitalize(), banner)
            for column, head in {start: "start", start + members + 1: "end", start + members + 2: "Σ"}.items():
                if head in heads:
                    page.write_string(grid.NUMBER_ROW, column, head, number)
            for member in range(members):
                page.write_number(grid.NUMBER_ROW, start + 1 + member, member + time.start, number)

    def grey(self, sheet: Sheet, body: int) -> None:
        """Fades the columns that do not count, those where the mask is 0."""
        assert sheet.grey is not None
        page, values = self.sheets[sheet.title], self.layout.values
        members, groups = values.size(sheet.across[-1]), values.size(sheet.across[0])
        row = self.layout.places[sheet.grey].row
        faded = self.dressed("faded", {"font_color": dress.FADED, "bold": False, "italic": True})
        for group in range(groups):
            left = grid.start_column(group, members) + 1
            rule = {"type": "formula", "criteria": f"={grid.letters(left)}${row + 1}=0", "format": faded}
            page.conditional_format(body, left, self.layout.end[sheet.title], left + members - 1, rule)

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
            self.validate(block, {"validate": "decimal", "criteria": "between", "minimum": low, "maximum": high})

    def validate(self, block: Block, rule: dict[str, Any]) -> None:
        """Puts a rule on all cells of a typed block."""
        place = self.layout.places[block]
        top, left, bottom, right = place.corners(block, self.layout.values)
        rule |= {"input_title": block.symbol[:32], "input_message": block.about.meaning[:255], "ignore_blank": True}
        _done(self.sheets[place.sheet].data_validation(top, left, bottom, right, rule), block.name)


def _done(code: int, what: str) -> None:
    """Raises where the writer, which reports some failures only by a number, has left something out."""
    if code:
        raise SaveError(f"the writer left out {what} (its code {code})")
