"""Overwrites formulas of a workbook in an engine, one at a time, and asks the workbook what it sees."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from blueprint.book import Book
from blueprint.notation import Axis, Sum, block, book, typed
from tests.page.workshop import in_ironcalc, made
from tests.replayed import window_book, with_everything_logged

_ROOM = TemporaryDirectory()
CHAIN = "Formulas"
"""The sheet of the verdict's own chain; besides it the first columns of all others, and the verdict on Start."""

Spot = tuple[str, int, int]


def savings(years: int = 3, source: str = "") -> Book:
    """Makes somebody's own blueprint: a recursion, a lookup and a sum, on one sheet."""
    t, k = Axis("t", "year", start=1), Axis("k", "plan")
    rate = typed("rate", (k,), "i", "interest of each plan", decimals=2)
    plan = typed("plan", (t,), "plan", "plan chosen in the year, counted from 0", decimals=0)
    paid = typed("paid_in", (t,), "d", "paid in", decimals=0)
    balance = block("balance", (t,), "B", "balance at the end of the year", source=source, decimals=2)
    balance[t.first - 1] = 0
    balance[t] = balance[t - 1] * (1 + rate[plan[t]]) + paid[t]
    total = block("total_paid", (), "D", "paid in altogether", decimals=0)
    total[()] = Sum(t, paid[t])
    numbers = {rate: [0.01, 0.05], plan: [0, 1, 1] * (years // 3), paid: [100, 0, 50] * (years // 3)}
    return book("Savings", [rate, plan, paid, balance, total], t, numbers)


KINDS: dict[str, Callable[[], Book]] = {
    "default": lambda: made(),
    "ten-libraries": lambda: made("compare=trl_1.12,verl", "text.episodes=[3]", numbers="ten-libraries"),
    "classic": lambda: made(numbers="classic"),
    "kl-controller": lambda: made(numbers="kl-controller"),
    "very-very-sleepy": lambda: made(numbers="very-very-sleepy"),
    "a minibatch": lambda: window_book(batch=with_everything_logged()),
    "somebody's own": savings,
    "long rows": lambda: savings(300),
}
"""By name, what makes a book."""


class Watched:
    """A workbook in ironcalc; `book` is the one that it was written from."""

    def __init__(self, path: Path, book: Book):
        self.path, self.book = path, book
        self.model = in_ironcalc(path)
        self.model.evaluate()
        self.stale = False
        self.sheets = {sheet["name"]: number for number, sheet in enumerate(self.model.get_worksheets_properties())}
        self.start = next((row for row in range(1, 60) if self.value(("Start", row, 3)) == "all checks"), 0)
        names = {number: name for name, number in self.sheets.items()}
        cells = ((names[s], row, column) for s, row, column in self.model.get_all_cells())
        self.formulas = [spot for spot in cells if self.formula(spot) is not None and not self.in_chain(spot)]

    def in_chain(self, spot: Spot) -> bool:
        """Says whether a cell belongs to the verdict's own chain."""
        sheet, row, column = spot
        return sheet == CHAIN or column == 1 or (sheet == "Start" and row == self.start and column in (4, 8))

    def formula(self, spot: Spot) -> str | None:
        found: str | None = self.model.get_cell_formula(self.sheets[spot[0]], *spot[1:])
        return found

    def value(self, spot: Spot) -> object:
        """Returns what a cell comes to after all that was typed; None where there is no such sheet."""
        if self.stale:
            self.model.evaluate()
            self.stale = False
        return self.model.get_cell_value(self.sheets[spot[0]], *spot[1:]) if spot[0] in self.sheets else None

    def type(self, spot: Spot, text: str) -> None:
        self.model.set_user_input(self.sheets[spot[0]], *spot[1:], text)
        self.stale = True

    @contextmanager
    def overwritten(self, spot: Spot, text: str) -> Iterator[None]:
        """Types over a formula, and writes the formula again at the end."""
        formula = self.formula(spot)
        assert formula is not None
        self.type(spot, text)
        try:
            yield
        finally:
            self.type(spot, formula)

    def of(self, name: str, *at: int) -> Spot:
        """Returns a cell of a block by its members, counted from 0."""
        sheet, row, column = self.book.spots[name].stands(at)
        return sheet, row, column

    def says(self) -> tuple[object, object]:
        """Returns the verdict on the formulas, and the first place."""
        return self.value((CHAIN, 4, 4)), self.value((CHAIN, 4, 5))

    def on_start(self) -> tuple[object, object]:
        """Returns what Start says of all checks, and the place beside it; without a Start, what Formulas says."""
        if not self.start:
            return self.says()
        return self.value(("Start", self.start, 4)), self.value(("Start", self.start, 8))

    def some(self, count: int, seed: int) -> list[Spot]:
        """Returns formulas drawn at random."""
        return random.Random(seed).sample(self.formulas, min(count, len(self.formulas)))


@cache
def watched(kind: str) -> Watched:
    """Builds and opens a workbook of a kind once; whoever types into it leaves it as it was."""
    book, path = KINDS[kind](), Path(_ROOM.name) / f"{kind}.xlsx"
    book.save(path)
    return Watched(path, book)
