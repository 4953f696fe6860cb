"""Types into delivered workbooks, and asks them what was changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from tests.page.finished import NUMBER_ROW, Engine, Finished, Value, finished

LOOKS = "walk."
"""Which decision is shown, and with how many decimals, is no input of the loss."""

Change = tuple[str, int, int, Value]
"""A block, the row and the column of one of its cells, and what is typed there."""


class Delivered:
    """A workbook in an engine, and where its sheets say whether anything was changed."""

    def __init__(self, file: Finished):
        self.file = file
        self.engine = Engine(file.path)
        self.stale = True
        page = file.shown["Delivered"]
        lines = {row: [cell.value for cell in line] for row, line in enumerate(page.iter_rows(), 1)}
        self.head = next(row for row, line in lines.items() if "verdict" in line)
        self.name, self.verdict, self.copy = (1 + lines[self.head].index(h) for h in ("name", "verdict", "the copy"))
        self.listed = [(str(line[self.name - 1]), row) for row, line in lines.items() if row > self.head]
        self.listed = [(name, row) for name, row in self.listed if name != "None"]
        self.count = next(row for row, line in lines.items() if "inputs that were changed" in line)
        self.asking = [self._asking(sheet) for sheet in ("Start", "Checks")]

    @property
    def typed(self) -> list[str]:
        return [name for name, block in self.file.book.blocks.items() if block.typed and not name.startswith(LOOKS)]

    @contextmanager
    def typing(self, *changes: Change) -> Iterator[Delivered]:
        """Types into cells, and types the old values again at the end."""
        before = [self._type(change) for change in changes]
        try:
            yield self
        finally:
            for change in before:
                self._type(change)

    def _type(self, change: Change) -> Change:
        """Types into a cell; returns what to type there to have it as before."""
        name, row, column, value = change
        sheet = self.file.places[name].sheet
        before = self.engine.value(sheet, row, column)
        self.engine.type(sheet, row, column, value)
        self.stale = True
        return name, row, column, before

    def says(self, sheet: str, row: int, column: int) -> Value:
        """Returns what a cell comes to after all that was typed."""
        if self.stale:
            self.engine.evaluate()
            self.stale = False
        return self.engine.value(sheet, row, column)

    def changed(self) -> set[str]:
        """Returns the blocks of which the sheet says that they were changed; all others must be the same."""
        verdicts = {name: self.says("Delivered", row, self.verdict) for name, row in self.listed}
        assert set(verdicts.values()) <= {"same", "changed"}
        return {name for name, verdict in verdicts.items() if verdict == "changed"}

    def in_all(self) -> tuple[Value, Value, Value]:
        """Returns how many inputs are said to be changed, and what Start and Checks say."""
        count = self.says("Delivered", self.count, self.verdict)
        start, checks = (self.says(*cell) for cell in self.asking)
        return count, start, checks

    def _asking(self, sheet: str) -> tuple[str, int, int]:
        """Finds the one cell of a sheet that says whether anything typed was changed."""
        cells = (cell for row in self.file.shown[sheet].iter_rows() for cell in row)
        (found,) = [cell for cell in cells if cell.value in ("same", "changed")]
        return sheet, found.row, found.column

    def master(self) -> Value:
        cell = self.file.places["check.master"]
        return self.says(cell.sheet, cell.top, cell.left)

    def cells(self, name: str) -> dict[tuple[int, int], Value]:
        """Returns what stands in the cells of a block: below the decisions' numbers in their columns, else in all."""
        area = self.file.places[name]
        page = self.file.shown[area.sheet]
        numbered = {c.column for c in page[NUMBER_ROW] if isinstance(c.value, int)}
        across = {axis.letter for axis in self.file.book.blocks[name].axes} >= {"n", "t"}
        return {at: page.cell(*at).value for at in area.cells() if not across or at[1] in numbered}

    def first(self, name: str) -> tuple[str, int, int]:
        """Returns the first cell of a block as a change begins."""
        return name, *next(iter(self.cells(name)))


@cache
def delivered(name: str, *overrides: str) -> Delivered:
    """Opens a workbook once; whoever types into it leaves it as it was."""
    return Delivered(finished(name, *overrides))


def another(value: Value, words: bool, file: Finished) -> Value:
    """Returns something else that may stand in a cell."""
    if not words:
        return 0.5 if value is None else float(value) + 0.1
    known = file.book.blocks.get("vocabulary")
    vocabulary = ["sleepy", "tired"] if known is None else file.computed("vocabulary").tolist()[1:]
    return next(str(word) for word in vocabulary if word != value)


def groups(names: Sequence[str]) -> Iterator[list[str]]:
    """Yields groups of names, by the digits of their numbers: of any two each is once in a group without the other."""
    for digit in range(len(names).bit_length()):
        for side in (0, 1):
            if group := [name for number, name in enumerate(names) if number >> digit & 1 == side]:
                yield group


def changes(opened: Delivered, name: str) -> Iterator[Change]:
    """Yields changes of one block, each of one cell: the first, a middle and the last one; one emptied, one filled."""
    cells, words = opened.cells(name), opened.file.book.blocks[name].text
    places = list(cells)
    for at in dict.fromkeys((places[0], places[len(places) // 2], places[-1])):
        yield name, *at, another(cells[at], words, opened.file)
    filled, empty = ([at for at in places if (cells[at] is None) is blank] for blank in (False, True))
    if filled:
        yield name, *filled[-1], None
    if empty:
        yield name, *empty[0], another(None, words, opened.file)
