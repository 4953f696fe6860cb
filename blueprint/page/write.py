"""Writing: it turns a layout into a workbook, each cell in its style, with what one may type there and what it says of itself.

The file format's writer writes what it is given: formulas as they are, and no value where none is known.
"""

import math
from datetime import datetime
from io import BytesIO
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.utility import xl_pixel_width
from xlsxwriter.worksheet import CellFormulaTuple, Worksheet

from blueprint.files import PROGRAM, SaveError, require_workbook_ending, saved_whole
from blueprint.language import Block
from blueprint.page import blanks, charts, contents, formulas, grid, sheet_setup, styles
from blueprint.page.cells import Run, runs
from blueprint.page.layout import Label, Layout
from blueprint.page.outline import Blank
from blueprint.page.parse_cell import is_error


class Unknown(str):
    """The value of a formula that the program that opens the file is to compute: none is written."""


UNKNOWN = Unknown()


class PlainSheet(Worksheet):  # type: ignore[misc]
    """A sheet whose formulas are written as they are; one that waits has no value, and nor have charts of it."""

    def _write_cell(self, row: int, column: int, cell: Any) -> None:
        """Writes the cells that nearly all are, in the writer's letters, at once; it goes through a list for each of them."""
        look = cell.format
        head = f'<c r="{grid.column_letters(column)}{row + 1}" s="{look._get_xf_index()}"' if look else ""
        match cell.__class__.__name__ if look else "":
            case "Number":
                self.fh.write(f"{head}><v>{cell.number:.16G}</v></c>")
            case "String":
                self.fh.write(f'{head} t="s"><v>{cell.string}</v></c>')
            case "Blank":
                self.fh.write(f"{head}/>")
            case "Formula" if isinstance(value := cell.value, float) or _is_text(value):
                typed = ' t="str"' if isinstance(value, str) and value else ""
                self.fh.write(f"{head}{typed}><f>{_escaped(cell.formula)}</f><v>{_escaped(value)}</v></c>")
            case _:
                super()._write_cell(row, column, cell)

    def formula(self, row: int, column: int, formula: str, look: Any, value: float | str) -> None:
        """Writes a formula as it is; the writer would look for functions that it spells otherwise, or that give an array."""
        self._check_dimensions(row, column)
        self.table[row][column] = CellFormulaTuple(formula.removeprefix("="), look, value)

    def _xml_formula_element(self, formula: str, result: Any, attributes: Any) -> None:
        """Writes a formula; without an element for its value where this is unknown."""
        if not isinstance(result, Unknown):
            super()._xml_formula_element(formula, result, attributes)
            return
        self._xml_start_tag("c", attributes)
        self._xml_data_element("f", formula)
        self._xml_end_tag("c")

    def _escape_attributes(self, attribute: Any) -> Any:
        """Leaves an address or a number as it is, as nearly all are; the writer would search each for signs to spell otherwise."""
        plain = not isinstance(attribute, str) or attribute.isalnum()
        return attribute if plain else super()._escape_attributes(attribute)

    def _get_range_data(self, *corners: int) -> list[Any]:
        """Returns what a chart shows without calculating; None for what is unknown, and for an error."""
        found = super()._get_range_data(*corners)
        unknown = any(isinstance(each, Unknown) for each in found)
        return [None if (unknown and each == "") or is_error(each) else each for each in found]

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        """Takes the sign = off the formula of a rule; the writer would also look for each newer function."""
        return formula.removeprefix("=")

    def put(self, row: int, column: int, value: float | str, look: Any) -> None:
        """Writes a word as a word and a number as a number, where the writer would look for more in a word.

        "" and NaN leave the cell blank, with its look; a cell holds no infinite number, and says it in a sign.
        """
        if value == "" or value != value:
            self._write_blank(row, column, None, look)
        elif isinstance(value, str):
            self._write_string(row, column, value, look)
        elif math.isinf(value):
            self._write_string(row, column, "∞" if value > 0 else "−∞", look)
        else:
            self._write_number(row, column, value, look)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not (isinstance(value, Unknown) or is_error(value))


def _escaped(text: str | float) -> str | float:
    if isinstance(text, str) and ("&" in text or "<" in text or ">" in text):
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text


Rule = dict[str, Any]
LARGEST = 1e6
FARTHEST = 1e15
"""How far from 0 a number in a blank may be."""
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
    return {"validate": "list", "source": f"={grid.quoted_title(sheet)}!{first}:{last}"}


def _message(block: Block, expected: str) -> Rule:
    """Says what the cell is for; the title is the key by which files and commands know it."""
    name, symbol = block.name.removesuffix(".yours"), block.symbol.removesuffix("_yours")
    title = f"{name}  {symbol}" if len(name) + len(symbol) + 2 <= TITLE_LETTERS else name[:TITLE_LETTERS]
    about = block.about.meaning + f" ({block.about.unit})" * (block.about.unit not in ("", expected))
    return {"input_title": title, "input_message": f"{about}: {expected}"[:MESSAGE_LETTERS], "ignore_blank": True}


def rule_of_blank(number: int, blank: Blank) -> Rule:
    """Returns the rule of a blank's cells: any number, typed or by a formula; and the message that says what is asked."""
    about, points = blank.block.about, f"{blank.weight:g} point{'s' * (blank.weight != 1)}"
    expected = "a number" if blank.asks == "number" else "a formula that gives a number"
    digits = f"{about.decimals} decimals" if about.decimals != 1 else "1 decimal"
    return {
        "validate": "decimal",
        "criteria": "between",
        "minimum": -FARTHEST,
        "maximum": FARTHEST,
        "input_title": f"blank {number}  {about.symbol}"[:TITLE_LETTERS],
        "input_message": f"{about.meaning}: {expected}, to {digits} ({points})"[:MESSAGE_LETTERS],
        "error_message": f"Blank {number} takes {expected}; write 0.5 or, where your program does, 0,5.",
        "ignore_blank": True,
    }


WIDTH, LETTERS_PER_LINE, LINE_HEIGHT = 400, 62, 15
"""Of a note: how wide it is, in pixels, the letters of a line, and the pixels that a line takes."""


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


OPTIONS = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False, "in_memory": True}
"""In memory: else the writer puts each part into a file of its own first, which stays where a command is killed."""


def write(layout: Layout, path: Path) -> int:
    """Writes a workbook, whole or not at all, and returns how many formulas it holds.

    Raises SaveError for a name that does not end in .xlsx, and where it cannot be written.
    """
    require_workbook_ending(path)
    created = sheet_setup.created()
    with saved_whole(path) as unfinished:
        archive = BytesIO()
        with xlsxwriter.Workbook(archive, OPTIONS) as book:
            formulas = BookWriter(layout, book).write(created)
        unfinished.write_bytes(archive.getbuffer())
    return formulas


class BookWriter:
    """Writes one workbook, feature by feature; `book` is the file format's writer."""

    def __init__(self, layout: Layout, book: Any):
        self.layout, self.blueprint, self.book = layout, layout.blueprint, book
        self.sheets, self.formats, self.formulas = dict[str, Any](), dict[Any, Any](), 0
        self.long: dict[tuple[str, int], str | None] = {}
        formulas.watch_of(layout)  # which finds what hangs on blanks
        # Gnumeric trusts the values that it finds, and has no FORMULATEXT: told that there is one, it would mark every row.
        self.unvalued = {*blanks.waiting_cells(layout), formulas.PROBE}

    def write(self, created: datetime) -> int:
        """Writes everything and returns the number of formulas; created: when the file says it was made."""
        self.properties(created)
        measure = styles.Ruler(xl_pixel_width)  # in the letters of which the format counts the width of columns
        if self.layout.one_page is not None:
            self.sheets[grid.ONE_PAGE] = self.book.add_worksheet(grid.ONE_PAGE, PlainSheet)
            sheet_setup.set_up_one_page(self.layout.one_page, self.sheets[grid.ONE_PAGE], self.layout, self.look)
        for sheet in self.blueprint.tabs:
            self.sheets[sheet.title] = self.book.add_worksheet(sheet.title, PlainSheet)
            if self.blueprint.blanks and sheet is self.blueprint.sheets[0]:
                self.own_sheet(grid.BLANKS)
            columns = sheet_setup.SheetSetup(sheet, self.sheets[sheet.title], self.layout, self.look, measure).set_up()
            self.long |= {(sheet.title, row): columns.cut.get(row) for row in (*columns.lines, *columns.cut)}
        for title in grid.SHEETS:
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
        self.sheets[title] = self.book.add_worksheet(title, PlainSheet)
        sheet_setup.set_up_own(title, self.sheets[title], self.layout, self.look)

    def properties(self, created: datetime) -> None:
        """Notes in the file what it is and what it was made from."""
        self.book.set_properties({"title": self.blueprint.title, "author": PROGRAM, "created": created})
        for name, text in sheet_setup.facts_of(self.layout).items():
            self.book.set_custom_property(f"blueprint {name}", text)

    def names(self) -> None:
        """Gives every block its defined name, and so the table of contents and the place of the chosen column."""
        for name, target in sheet_setup.names_of(self.layout).items():
            refuse_left_out(self.book.define_name(name, f"={target}"), name)

    def notes(self) -> None:
        """Puts a note at the head of every row of which there is more to say than its name."""
        for block, (sheet, row, column) in self.layout.heads.items():
            if text := note_of(block, self.layout):
                refuse_left_out(self.sheets[sheet].write_comment(row, column, text, note_options(text)), text)

    def validation(self) -> None:
        """Says at every typed cell what it is for, and refuses what does not belong there."""
        for block, place in self.layout.places.items():
            if block.typed:
                rule, corners = rule_of(block, self.layout), self.layout.corners(block)
                refuse_left_out(self.sheets[place.sheet].data_validation(*corners, rule), block.name)
        for number, blank in enumerate(self.blueprint.blanks, 1):
            sheet, rule = self.sheets[self.layout.places[blank.block].sheet], rule_of_blank(number, blank)
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
        return self.formats.get(style) or self.look(style, styles.label_style(style))

    def labels(self) -> None:
        """Writes the fixed texts and numbers."""
        sections = (label for label in self.layout.labels if label.style == "section")
        for label, column in product(sections, range(grid.SYMBOL, grid.SINGLE + 1)):
            self.sheets[label.sheet].write_blank(label.row, column, None, self.label_look("rule"))
        for label in (*self.layout.labels, *formulas.watch_of(self.layout).labels):
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
        """Writes a formula with its value; without one where it waits for blanks, or asks what the program knows."""
        value = UNKNOWN if (sheet, row, column) in self.unvalued else value
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
        for live in (*self.layout.lives, *formulas.watch_of(self.layout).lives):
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
