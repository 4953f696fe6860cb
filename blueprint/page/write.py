"""Writing: it turns a layout into a workbook, each cell in its style."""

from datetime import datetime
from io import BytesIO
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.utility import xl_pixel_width

from blueprint.page import (
    blanks,
    charts,
    contents,
    grid,
    names,
    plain_sheet,
    ruler,
    said,
    sheet_setup,
    styles,
    validation,
    waiting,
    watch,
)
from blueprint.page.cells import Run, runs
from blueprint.page.layout import Label, Layout
from blueprint.page.one_page import set_up
from blueprint.program import PROGRAM
from blueprint.saving import SaveError, saved_whole

OPTIONS = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False, "in_memory": True}
"""In memory: else the writer puts each part into a file of its own first, which stays where a command is killed."""


def write(layout: Layout, path: Path) -> int:
    """Writes a workbook, whole or not at all, and returns how many formulas it holds. Raises SaveError."""
    created = said.created()
    with saved_whole(path) as unfinished:
        archive, formulas = archive_of(layout, created)
        unfinished.write_bytes(archive)
    return formulas


def archive_of(layout: Layout, created: datetime) -> tuple[memoryview, int]:
    """Returns a workbook as a file holds it, and how many formulas it has; created: when the file says it was made."""
    archive = BytesIO()
    with xlsxwriter.Workbook(archive, OPTIONS) as book:
        formulas = BookWriter(layout, book).write(created)
    return archive.getbuffer(), formulas


def new_ruler() -> ruler.Ruler:
    """Returns a ruler for texts in the letters of which the format counts the width of columns."""
    return ruler.Ruler(xl_pixel_width)


class BookWriter:
    """Writes one workbook, feature by feature; `book` is the file format's writer."""

    def __init__(self, layout: Layout, book: Any):
        self.layout, self.blueprint, self.book = layout, layout.blueprint, book
        self.sheets, self.formats, self.formulas = dict[str, Any](), dict[Any, Any](), 0
        self.long: dict[tuple[str, int], str | None] = {}
        watch.watch_of(layout)  # which finds what hangs on blanks
        self.waits = waiting.open_of(layout)

    def write(self, created: datetime) -> int:
        """Writes everything and returns the number of formulas; created: when the file says it was made."""
        self.properties(created)
        measure = new_ruler()
        if self.layout.one_page is not None:
            self.sheets[names.ONE_PAGE] = self.book.add_worksheet(names.ONE_PAGE, plain_sheet.PlainSheet)
            set_up.set_up(self.layout.one_page, self.sheets[names.ONE_PAGE], self.layout, self.look)
        for sheet in self.blueprint.tabs:
            self.sheets[sheet.title] = self.book.add_worksheet(sheet.title, plain_sheet.PlainSheet)
            if self.blueprint.blanks and sheet is self.blueprint.sheets[0]:
                self.own_sheet(names.BLANKS)
            columns = sheet_setup.SheetSetup(sheet, self.sheets[sheet.title], self.layout, self.look, measure).set_up()
            self.long |= {(sheet.title, row): columns.cut.get(row) for row in (*columns.lines, *columns.cut)}
        for title in names.SHEETS:
            self.own_sheet(title)
        self.labels()
        for run in runs(self.layout):
            self.run(run)
        self.views()
        self.names()
        self.notes()
        self.validation()
        for placed in self.layout.charts:
            charts.insert(placed, self.layout, self.sheets, self.book.add_chart)
        return self.formulas

    def own_sheet(self, title: str) -> None:
        """Adds a sheet that is in no outline."""
        self.sheets[title] = self.book.add_worksheet(title, plain_sheet.PlainSheet)
        sheet_setup.set_up_own(title, self.sheets[title], self.layout, self.look)

    def properties(self, created: datetime) -> None:
        """Notes in the file what it is and what it was made from."""
        self.book.set_properties({"title": self.blueprint.title, "author": PROGRAM, "created": created})
        for name, text in said.facts_of(self.layout).items():
            self.book.set_custom_property(f"blueprint {name}", text)

    def names(self) -> None:
        """Gives every block its defined name, and so the table of contents and the place of the chosen column."""
        for name, target in said.names_of(self.layout).items():
            refuse_left_out(self.book.define_name(name, f"={target}"), name)

    def notes(self) -> None:
        """Puts a note at the head of every row of which there is more to say than its name."""
        for block, (sheet, row, column) in self.layout.heads.items():
            if text := validation.note_of(block, self.layout):
                refuse_left_out(
                    self.sheets[sheet].write_comment(row, column, text, validation.note_options(text)), text
                )

    def validation(self) -> None:
        """Says at every typed cell what it is for, and refuses what does not belong there."""
        for block, place in self.layout.places.items():
            if block.typed:
                rule, corners = validation.rule_of(block, self.layout), self.layout.corners(block)
                refuse_left_out(self.sheets[place.sheet].data_validation(*corners, rule), block.name)
        for number, blank in enumerate(self.blueprint.blanks, 1):
            sheet, rule = self.sheets[self.layout.places[blank.block].sheet], validation.rule_of_blank(number, blank)
            first, *others = blanks.corners_of(blank, self.layout)
            code = sheet.data_validation(*first, rule | {"other_cells": list(map(list, others))})
            refuse_left_out(code, blank.title)

    def look(self, key: Any, style: styles.Properties) -> Any:
        """Returns the writer's format for a style, made once."""
        if key not in self.formats:
            self.formats[key] = self.book.add_format(style)
        return self.formats[key]

    def label_look(self, style: str) -> Any:
        """Returns the format of a label."""
        return self.look(style, styles.label_style(style))

    def labels(self) -> None:
        """Writes the fixed texts and numbers."""
        sections = (label for label in self.layout.labels if label.style == "section")
        for label, column in product(sections, range(grid.SYMBOL, grid.SINGLE + 1)):
            self.sheets[label.sheet].write_blank(label.row, column, None, self.label_look("rule"))
        for label in (*self.layout.labels, *watch.watch_of(self.layout).labels):
            self.label(label)

    def label(self, label: Label) -> None:
        """Writes a fixed text; an equation that is too long for its row is broken into lines, or cut."""
        style, text, at = label.style, label.text, (label.sheet, label.row)
        if style == "equation" and label.column == grid.LEFT and at in self.long:
            style = style if self.long[at] else "broken equation"
            text = self.long[at] or text
        self.sheets[label.sheet].put(label.row, label.column, text, self.label_look(style))

    def run(self, run: Run) -> None:
        """Writes the cells of one row of a block."""
        page = self.sheets[run.sheet]
        for i, (column, look, value) in enumerate(zip(run.columns, self.looks(run), run.values, strict=True)):
            if run.formulas is None:
                page.put(run.row, column, value, look)
            else:
                self.formula(run.sheet, run.row, column, run.formulas[i], value, look)

    def formula(self, sheet: str, row: int, column: int, formula: str, value: float | str, look: Any) -> None:
        """Writes a formula with its value; without one where it waits for blanks."""
        value = plain_sheet.UNKNOWN if (sheet, row, column) in self.waits else value
        if value != value or value in (inf, -inf):  # no reader knows what such a number is
            raise SaveError(f"{sheet}!{grid.address(row, column)} would hold {value}, which is no number")
        self.sheets[sheet].formula(row, column, formula, look, value)
        self.formulas += 1

    def looks(self, run: Run) -> list[Any]:
        """Returns the format of each cell of a run; only weights, which have an outline, need more than one."""
        block, role = run.block, self.layout.roles[run.block]
        kind = "blank" if run.blank else contents.kind_of(block)
        key = kind, role, block.about.decimals, run.edge, block.about.reads
        if role != "weights" or run.blank:
            return [self.look(key, styles.cell_style(*key))] * len(run.columns)
        top, left, bottom, right = self.layout.corners(block)
        at_row = tuple(side for side, line in (("top", top), ("bottom", bottom)) if line == run.row)
        ends = [tuple(side for side, end in (("left", left), ("right", right)) if end == x) for x in run.columns]
        return [self.look((*key, at_row + sides), styles.cell_style(*key, at_row + sides)) for sides in ends]

    def views(self) -> None:
        """Writes the page's own formulas, those that show other cells again among them, and the links."""
        for live in (*self.layout.lives, *watch.watch_of(self.layout).lives):
            look = self.label_look(live.style)
            self.formula(*live.at, live.formula, live.value, look)
        for link in self.layout.links:
            (target, text), look = self.layout.leads_to(link), self.label_look(link.style)
            code = self.sheets[link.sheet].write_url(link.row, link.column, f"internal:{target}", look, text)
            refuse_left_out(code, text)


def refuse_left_out(code: int, what: str) -> None:
    """Raises where the writer, which reports some failures only by a number, has left something out."""
    if code:
        raise SaveError(f"the writer left out {what} (its code {code})")
