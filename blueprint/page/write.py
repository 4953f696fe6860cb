"""Writing: the only place that knows the file format's writer. It turns a layout into a workbook."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.utility import xl_pixel_width

from blueprint.page import contents, delivered, dress, formulas, grid, own
from blueprint.page.cells import Run, echo_formula, runs
from blueprint.page.charts import hang
from blueprint.page.furniture import Furniture, set_up_own
from blueprint.page.guard import note_of, note_options, rule_of
from blueprint.page.layout import Echo, Hop, Jump, Label, Layout, Live
from blueprint.page.names import defined_name
from blueprint.page.picking import PLACE
from blueprint.page.ruler import Ruler
from blueprint.page.saving import SaveError, saved_whole
from blueprint.page.steps import VALUE
from blueprint.page.watch import fingerprint, watch_of
from blueprint.page.worksheet import PlainSheet, put
from blueprint.program import PROGRAM

NEW_YEAR_2026 = 1_767_225_600
"""When a file says it was made, unless SOURCE_DATE_EPOCH says otherwise: fixed, so that the same numbers give the same bytes."""

LONGEST_PROPERTY = 255
"""Letters of a document property of one's own; programs drop what is longer."""
OPTIONS = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False, "in_memory": True}
"""In memory: else the writer puts each part into a file of its own first, which stays where a command is killed."""


def write(layout: Layout, path: Path) -> int:
    """Writes a workbook, whole or not at all, and returns how many formulas it holds. Raises SaveError."""
    made = _made()
    with saved_whole(path) as unfinished:
        archive = BytesIO()
        with xlsxwriter.Workbook(archive, OPTIONS) as book:
            formulas = BookWriter(layout, book, made).write()
        unfinished.write_bytes(archive.getbuffer())
    return formulas


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
        self.long: dict[tuple[str, int], str | None] = {}
        self.formulas = 0

    def write(self) -> int:
        """Writes everything and returns the number of formulas."""
        self.properties()
        ruler = Ruler(xl_pixel_width)
        for sheet in self.blueprint.sheets:
            self.sheets[sheet.title] = self.book.add_worksheet(sheet.title, PlainSheet)
            furniture = Furniture(sheet, self.sheets[sheet.title], self.layout, self.dressed, ruler)
            furniture.place()
            self.long |= {(sheet.title, row): None for row in furniture.columns.lines}
            self.long |= {(sheet.title, row): text for row, text in furniture.columns.cut.items()}
        for title in own.SHEETS:
            self.sheets[title] = self.book.add_worksheet(title, PlainSheet)
            set_up_own(title, self.sheets[title], self.layout, self.dressed)
        self.labels()
        for run in runs(self.layout):
            self.run(run)
        self.views()
        self.links()
        self.names()
        self.notes()
        self.validation()
        for hung in self.layout.charts:
            hang(hung, self.layout, self.sheets[hung.sheet], self.book.add_chart)
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
        self.book.set_properties({"title": self.blueprint.title, "author": PROGRAM, "created": self.made})
        sizes = " ".join(f"{axis.letter}={size}" for axis, size in self.blueprint.sizes.items())
        axes = dict.fromkeys(axis for block in self.layout.places for axis in block.axes)
        facts = {
            "layout": contents.LAYOUT_VERSION,
            "blocks": str(len(self.layout.places)),
            "sizes": sizes,
            "axes": _fitting("; ".join(f"{axis.letter}={axis.meaning} from {axis.start}" for axis in axes)),
            "formulas": fingerprint(self.layout),
            **self.blueprint.facts,
        }
        for name, text in facts.items():
            self.book.set_custom_property(f"blueprint {name}", text)

    def labels(self) -> None:
        """Writes the fixed texts."""
        rule = self.label_format("rule")
        for label in self.layout.labels:
            if label.style == "section":
                for column in range(grid.SYMBOL, grid.SINGLE + 1):
                    self.sheets[label.sheet].write_blank(label.row, column, None, rule)
        for label in self.layout.labels:
            self.label(label)

    def label(self, label: Label) -> None:
        """Writes a fixed text; an equation that is too long for its row is broken into lines, or cut."""
        look, text, at = self.label_format(label.style), label.text, (label.sheet, label.row)
        if label.style == "equation" and label.column == grid.LEFT and at in self.long:
            look = look if self.long[at] else self.label_format("broken equation")
            text = self.long[at] or text
        self.sheets[label.sheet].write_string(label.row, label.column, text, look)

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
            put(page, run.row, column, value, look)

    def looks(self, run: Run) -> list[Any]:
        """Returns the format of each cell of a run; only weights, which have an outline, need more than one."""
        block, role = run.block, self.layout.roles[run.block]
        key = contents.kind_of(block), role, block.about.decimals, run.edge, block.about.reads
        if role != "weights":
            return [self.dressed(key, dress.cell_dress(*key))] * len(run.columns)
        top, left, bottom, right = self.layout.places[block].corners(block, self.layout.values)
        at_row = tuple(side for side, line in (("top", top), ("bottom", bottom)) if line == run.row)
        looks = []
        for column in run.columns:
            sides = at_row + tuple(side for side, line in (("left", left), ("right", right)) if line == column)
            looks.append(self.dressed((*key, sides), dress.cell_dress(*key, sides)))
        return looks

    def views(self) -> None:
        """Writes the cells that show others again, the page's own formulas, and copies of what is typed."""
        for echo in self.layout.echoes:
            value = self.layout.values.cell(echo.block, *echo.places)
            self.formula(echo, echo_formula(echo, self.layout), value)
        for live in (*self.layout.lives, *watch_of(self.layout).lives):
            self.formula(live, live.formula, live.value)
        for copy in (*self.layout.copies, *watch_of(self.layout).copies):
            put(self.sheets[copy.sheet], copy.row, copy.column, copy.value, self.label_format(copy.style))

    def formula(self, at: Echo | Live, formula: str, value: float | str) -> None:
        """Writes one formula with its value."""
        self.sheets[at.sheet].write_formula(at.row, at.column, formula, self.label_format(at.style), value)
        self.formulas += 1

    def links(self) -> None:
        """Writes the links to blocks and to other cells."""
        for jump in self.layout.jumps:
            place = self.layout.places[jump.block]
            text = jump.text.format(sheet=place.sheet, row=place.corners(jump.block, self.layout.values)[0] + 1)
            self.link(jump, contents.range_of(jump.block, self.layout, absolute=False), text, jump.style)
        for hop in self.layout.hops:
            self.link(hop, hop.target, hop.text, "link")

    def link(self, at: Jump | Hop, target: str, text: str, style: str) -> None:
        """Writes one link."""
        look = self.label_format(style)
        _done(self.sheets[at.sheet].write_url(at.row, at.column, f"internal:{target}", look, text), text)

    def names(self) -> None:
        """Gives every block its defined name, and so the table of contents and the place of the chosen column."""
        for block in self.layout.places:
            self.name(defined_name(block), contents.range_of(block, self.layout))
        self.name(contents.RANGE_NAME, contents.table_of(self.layout))
        self.name(own.CHANGED_INPUTS, delivered.COUNT_CELL)
        self.name(own.CHANGED_SINCE, formulas.CHANGED_CELL)
        self.name(own.FIRST_FORMULA, formulas.FOUND_CELL)
        if self.layout.finder is not None:
            sheet, row = self.layout.finder
            self.name(PLACE, f"{grid.quoted(sheet)}!${grid.letters(VALUE)}${row + 2}")

    def name(self, name: str, target: str) -> None:
        """Defines one name."""
        _done(self.book.define_name(name, f"={target}"), name)

    def notes(self) -> None:
        """Hangs a note at the head of every row of which there is more to say than its name."""
        for block, (sheet, row, column) in self.layout.heads.items():
            if text := note_of(block, self.layout):
                _done(self.sheets[sheet].write_comment(row, column, text, note_options(text)), text)

    def validation(self) -> None:
        """Says at every typed cell what it is for, and refuses what does not belong there."""
        for block, place in self.layout.places.items():
            if block.typed:
                corners = place.corners(block, self.layout.values)
                _done(self.sheets[place.sheet].data_validation(*corners, rule_of(block, self.layout)), block.name)


def _done(code: int, what: str) -> None:
    """Raises where the writer, which reports some failures only by a number, has left something out."""
    if code:
        raise SaveError(f"the writer left out {what} (its code {code})")


def _fitting(text: str) -> str:
    """Returns as many parts of a text, parted by semicolons, as a property of a document holds."""
    return text if len(text) <= LONGEST_PROPERTY else text[:LONGEST_PROPERTY].rpartition(";")[0]
