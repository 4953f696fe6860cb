"""Writing cells: texts, typed values, formulas and links, each in its style; `book` is the file format's writer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from blueprint.page import contents, grid, styles
from blueprint.page.cells import Run, echo_formula
from blueprint.page.layout import Echo, Hop, Jump, Label, Layout, Live
from blueprint.page.saving import SaveError
from blueprint.page.watch import watch_of
from blueprint.page.worksheet import put


class CellsWriter:
    """Writes what stands in the cells of one workbook."""

    def __init__(self, layout: Layout, book: Any, made: datetime):
        self.layout = layout
        self.blueprint = layout.blueprint
        self.book = book
        self.made = made
        self.sheets: dict[str, Any] = {}
        self.formats: dict[Any, Any] = {}
        self.long: dict[tuple[str, int], str | None] = {}
        self.formulas = 0

    def dressed(self, key: Any, properties: styles.Properties) -> Any:
        """Returns the writer's format for a dress, made once."""
        if key not in self.formats:
            self.formats[key] = self.book.add_format(properties)
        return self.formats[key]

    def label_format(self, style: str) -> Any:
        """Returns the format of a label."""
        return self.dressed(style, styles.label_dress(style))

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
            return [self.dressed(key, styles.cell_dress(*key))] * len(run.columns)
        top, left, bottom, right = self.layout.places[block].corners(block, self.layout.values)
        at_row = tuple(side for side, line in (("top", top), ("bottom", bottom)) if line == run.row)
        looks = []
        for column in run.columns:
            sides = at_row + tuple(side for side, line in (("left", left), ("right", right)) if line == column)
            looks.append(self.dressed((*key, sides), styles.cell_dress(*key, sides)))
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
        refuse_left_out(self.sheets[at.sheet].write_url(at.row, at.column, f"internal:{target}", look, text), text)


def refuse_left_out(code: int, what: str) -> None:
    """Raises where the writer, which reports some failures only by a number, has left something out."""
    if code:
        raise SaveError(f"the writer left out {what} (its code {code})")
