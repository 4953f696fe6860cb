"""Writing: it turns a layout into a workbook, and says of cells what may be typed there and what a row is about."""

import os
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.utility import xl_pixel_width

from blueprint.language import Block
from blueprint.page import contents, delivered, formulas, grid, names
from blueprint.page.cells import runs
from blueprint.page.charts import hang
from blueprint.page.layout import Layout
from blueprint.page.ruler import Ruler
from blueprint.page.sheet_setup import SheetSetup, set_up_own
from blueprint.page.steps import VALUE
from blueprint.page.watch import fingerprint
from blueprint.page.write_cells import CellsWriter, PlainSheet, refuse_left_out
from blueprint.program import PROGRAM
from blueprint.saving import SaveError, saved_whole

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
            formulas = BookWriter(layout, book).write(made)
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


class BookWriter(CellsWriter):
    """Writes one workbook, feature by feature."""

    def write(self, made: datetime) -> int:
        """Writes everything and returns the number of formulas; made: when the file says it was made."""
        self.properties(made)
        ruler = Ruler(xl_pixel_width)
        for sheet in self.blueprint.sheets:
            self.sheets[sheet.title] = self.book.add_worksheet(sheet.title, PlainSheet)
            columns = SheetSetup(sheet, self.sheets[sheet.title], self.layout, self.look, ruler).set_up()
            self.long |= {(sheet.title, row): columns.cut.get(row) for row in (*columns.lines, *columns.cut)}
        for title in names.SHEETS:
            self.sheets[title] = self.book.add_worksheet(title, PlainSheet)
            set_up_own(title, self.sheets[title], self.layout, self.look)
        self.labels()
        for run in runs(self.layout):
            self.run(run)
        self.views()
        self.names()
        self.notes()
        self.validation()
        for hung in self.layout.charts:
            hang(hung, self.layout, self.sheets[hung.sheet], self.book.add_chart)
        return self.formulas

    def properties(self, made: datetime) -> None:
        """Notes in the file what it is and what it was made from."""
        self.book.set_properties({"title": self.blueprint.title, "author": PROGRAM, "created": made})
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

    def names(self) -> None:
        """Gives every block its defined name, and so the table of contents and the place of the chosen column."""
        known = {names.defined_name(block.name): self.layout.range(block) for block in self.layout.places} | {
            names.CONTENTS_RANGE: contents.table_of(self.layout),
            names.CHANGED_INPUTS: delivered.COUNT_CELL,
            names.CHANGED_SINCE: formulas.CHANGED_CELL,
            names.FIRST_FORMULA: formulas.FOUND_CELL,
        }
        if self.layout.finder is not None:
            sheet, row = self.layout.finder
            known[names.CHOSEN_PLACE] = f"{grid.quoted(sheet)}!{grid.address(row + 1, VALUE, fixed=True)}"
        for name, target in known.items():
            refuse_left_out(self.book.define_name(name, f"={target}"), name)

    def notes(self) -> None:
        """Hangs a note at the head of every row of which there is more to say than its name."""
        for block, (sheet, row, column) in self.layout.heads.items():
            if text := note_of(block, self.layout):
                refuse_left_out(self.sheets[sheet].write_comment(row, column, text, note_options(text)), text)

    def validation(self) -> None:
        """Says at every typed cell what it is for, and refuses what does not belong there."""
        for block, place in self.layout.places.items():
            if block.typed:
                area = self.layout.corners(block)
                code = self.sheets[place.sheet].data_validation(*area, rule_of(block, self.layout))
                refuse_left_out(code, block.name)


def _fitting(text: str) -> str:
    """Returns as many parts of a text, parted by semicolons, as a property of a document holds."""
    return text if len(text) <= LONGEST_PROPERTY else text[:LONGEST_PROPERTY].rpartition(";")[0]


Rule = dict[str, Any]
LARGEST = 1e6
TITLE_LETTERS, MESSAGE_LETTERS = 32, 255


def rule_of(block: Block, layout: Layout) -> Rule:
    """Returns the rule of a typed block: a list of words, a range of numbers, any number, or any word."""
    known = layout.blueprint
    if block in known.picked:
        return _picked(block, layout) | _message(block, "pick one")
    if block in known.choices:
        return {"validate": "list", "source": f"={layout.range(known.choices[block])}"} | _message(
            block, "pick one, or leave it empty"
        )
    if block.text:
        return {"validate": "any"} | _message(block, "a word")
    low, high = known.ranges.get(block, (0.0 if block.limit else -LARGEST, LARGEST))
    kind = "decimal" if block.about.decimals else "integer"
    expected = f"{low:g} … {high:g}" if block in known.ranges else "a number"
    rule: Rule = {"validate": kind, "criteria": "between", "minimum": low, "maximum": high}
    if block.limit:
        cell, expected = grid.address(*layout.corners(block)[:2]), f"{low:g} … {high:g}, or off"
        rule = {
            "validate": "custom",
            "value": f'=OR({cell}="off",AND(ISNUMBER({cell}),{cell}>={low:g},{cell}<={high:g}))',
        }
    return rule | _message(block, expected) | {"error_message": f"{block.about.meaning}: {expected}"[:MESSAGE_LETTERS]}


def _picked(block: Block, layout: Layout) -> Rule:
    """Offers the numbers of the members: those at the head of a sheet along time, else a list."""
    choice, axis = layout.blueprint.chosen, layout.blueprint.picked[block]
    assert choice is not None
    size = layout.values.size(axis)
    if axis is not choice.across[-1]:
        return {"validate": "list", "source": [str(number + axis.start) for number in range(size)]}
    sheet = next(sheet.title for sheet in layout.blueprint.sheets if sheet.across == choice.across)
    first, last = (grid.address(grid.NUMBER_ROW, grid.GROUPS + number, fixed=True) for number in (1, size))
    return {"validate": "list", "source": f"={grid.quoted(sheet)}!{first}:{last}"}


def _message(block: Block, expected: str) -> Rule:
    """Says what the cell is for; the title is the key by which files and commands know it."""
    name, symbol = block.name.removesuffix(".yours"), block.symbol.removesuffix("_yours")
    title = f"{name}  {symbol}" if len(name) + len(symbol) + 2 <= TITLE_LETTERS else name[:TITLE_LETTERS]
    about = block.about.meaning + f" ({block.about.unit})" * (block.about.unit not in ("", expected))
    return {"input_title": title, "input_message": f"{about}: {expected}"[:MESSAGE_LETTERS], "ignore_blank": True}


LETTERS_PER_LINE, LINE_HEIGHT = 62, 15
WIDTH = 400


def note_of(block: Block, layout: Layout) -> str:
    """Returns the note of a block, "" where there is nothing to say besides the name of the row."""
    about, more = block.about, layout.blueprint.notes.get(block.name, "")
    unit, source = f"Range: {about.unit}." * bool(about.unit), f"Source: {about.source}." * bool(about.source)
    parts = [part for part in (more, unit, source) if part]
    return "\n".join([f"{about.symbol} ({block.name}): {about.meaning}.", *parts] if parts else [])


def note_options(text: str) -> dict[str, object]:
    """Returns the size of a note's box, so that its text fits."""
    lines = sum(1 + len(line) // LETTERS_PER_LINE for line in text.split("\n"))
    return {"width": WIDTH, "height": LINE_HEIGHT * (lines + 1), "font_size": 9, "color": "#FFFFE1"}
