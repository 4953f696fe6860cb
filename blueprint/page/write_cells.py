"""Writing cells: texts, typed values, formulas and links, each in its style; `book` is the file format's writer."""

from typing import Any

from xlsxwriter.worksheet import Worksheet

from blueprint.page import contents, grid, styles
from blueprint.page.cells import Run
from blueprint.page.layout import Label, Layout
from blueprint.page.watch import watch_of
from blueprint.saving import SaveError


class PlainSheet(Worksheet):  # type: ignore[misc]
    """A sheet whose formulas are written as they are."""

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        """Takes the sign = off; the writer would also look for each of 29 newer functions, a third of the time of a build."""
        return formula.removeprefix("=")


def put(page: Any, row: int, column: int, value: float | str, look: Any) -> None:
    """Writes a word as a word and a number as a number, where the writer would look for more in a word.

    "" and NaN leave the cell blank, with its look.
    """
    if value == "" or value != value:
        page.write_blank(row, column, None, look)
    elif isinstance(value, str):
        page.write_string(row, column, value, look)
    else:
        page.write_number(row, column, value, look)


class CellsWriter:
    """Writes what stands in the cells of one workbook."""

    def __init__(self, layout: Layout, book: Any):
        self.layout, self.blueprint, self.book = layout, layout.blueprint, book
        self.sheets: dict[str, Any] = {}
        self.formats: dict[Any, Any] = {}
        self.long: dict[tuple[str, int], str | None] = {}
        self.formulas = 0

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
        for label in self.layout.labels:
            if label.style == "section":
                for column in range(grid.SYMBOL, grid.SINGLE + 1):
                    self.sheets[label.sheet].write_blank(label.row, column, None, self.label_look("rule"))
        for label in (*self.layout.labels, *watch_of(self.layout).labels):
            self.label(label)

    def label(self, label: Label) -> None:
        """Writes a fixed text; an equation that is too long for its row is broken into lines, or cut."""
        style, text, at = label.style, label.text, (label.sheet, label.row)
        if style == "equation" and label.column == grid.LEFT and at in self.long:
            style = style if self.long[at] else "broken equation"
            text = self.long[at] or text
        put(self.sheets[label.sheet], label.row, label.column, text, self.label_look(style))

    def run(self, run: Run) -> None:
        """Writes the cells of one row of a block."""
        page = self.sheets[run.sheet]
        for i, (column, look, value) in enumerate(zip(run.columns, self.looks(run), run.values, strict=True)):
            if run.formulas is None:
                put(page, run.row, column, value, look)
            else:
                page.write_formula(run.row, column, run.formulas[i], look, value)
        self.formulas += len(run.formulas or ())

    def looks(self, run: Run) -> list[Any]:
        """Returns the format of each cell of a run; only weights, which have an outline, need more than one."""
        block, role = run.block, self.layout.roles[run.block]
        key = contents.kind_of(block), role, block.about.decimals, run.edge, block.about.reads
        if role != "weights":
            return [self.look(key, styles.cell_style(*key))] * len(run.columns)
        top, left, bottom, right = self.layout.corners(block)
        at_row = tuple(side for side, line in (("top", top), ("bottom", bottom)) if line == run.row)
        looks = []
        for column in run.columns:
            sides = at_row + tuple(side for side, line in (("left", left), ("right", right)) if line == column)
            looks.append(self.look((*key, sides), styles.cell_style(*key, sides)))
        return looks

    def views(self) -> None:
        """Writes the page's own formulas, those that show other cells again among them, and the links."""
        for live in (*self.layout.lives, *watch_of(self.layout).lives):
            look = self.label_look(live.style)
            self.sheets[live.sheet].write_formula(live.row, live.column, live.formula, look, live.value)
            self.formulas += 1
        for link in self.layout.links:
            (target, text), look = self.layout.leads_to(link), self.label_look(link.style)
            code = self.sheets[link.sheet].write_url(link.row, link.column, f"internal:{target}", look, text)
            refuse_left_out(code, text)


def refuse_left_out(code: int, what: str) -> None:
    """Raises where the writer, which reports some failures only by a number, has left something out."""
    if code:
        raise SaveError(f"the writer left out {what} (its code {code})")
