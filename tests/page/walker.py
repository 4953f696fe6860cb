"""A walk in an engine: one chooses a decision, and calculates each line again with a pocket calculator of twelve digits."""

import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from math import exp, inf, log, nan, sqrt, tanh
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blueprint.book import Book
from tests.page.workshop import in_ironcalc, made, opened

SHEET, VALUE, BESIDE, NUMBERS, WHERE = "Walk", 4, 5, 6, 7
ROUGH = "≈ "


class Line(NamedTuple):
    """A line as the engine has it: the cell of its value, its symbol, its value, the equation with its numbers.

    decimals: with how many the value is shown.
    """

    cell: str
    symbol: str
    value: Any
    numbers: Any
    decimals: int = 4


class Walker:
    """A saved workbook in ironcalc, on whose walk one can choose another decision."""

    def __init__(self, path: Path):
        self.model, self.page = in_ironcalc(path), opened(path, formulas=True)[SHEET]
        self.sheet = next(i for i, s in enumerate(self.model.get_worksheets_properties()) if s["name"] == SHEET)
        last = range(6, self.page.max_row + 1)
        self.rows = [row for row in last if str(self.page.cell(row, VALUE).value).startswith("=") and self.where(row)]

    def where(self, row: int) -> bool:
        """Tells whether a line has a link to where its quantity stands."""
        return self.page.cell(row, WHERE).hyperlink is not None

    def beside(self, row: int) -> bool:
        """Tells whether a second number that is only read stands on a line; its name is its link."""
        return self.page.cell(row, BESIDE).hyperlink is not None

    def choose(self, episode: int, decision: int) -> None:
        """Chooses a decision, as one does it on the sheet; where only one of the two is chosen, the other is ignored."""
        meant = {"n": episode, "p": episode, "t": decision}
        letters = {row: self.page.cell(row, 2).value for row in range(4, 6)}
        first = next(row for row, letter in letters.items() if letter in meant)
        typed = [meant[letter] for letter in letters.values() if letter in meant]
        for row, number in enumerate(typed, first):
            self.model.set_user_input(self.sheet, row, VALUE, str(number))
        self.model.evaluate()

    def lines(self) -> list[Line]:
        """Returns all lines, two of a row where two numbers are read on it."""
        return [line for row in self.rows for line in self.on(row)]

    def lists(self) -> list[tuple[list[Decimal], float]]:
        """Returns the numbers of each list, as they are displayed, with the value of the line below it."""
        found = []
        for row in range(6, self.page.max_row):
            text, below = (self.model.get_cell_value(self.sheet, *at) for at in ((row, BESIDE), (row + 1, VALUE)))
            numbers = [Decimal(each.replace("−", "-")) for each in LISTED.findall(str(text or ""))]
            if numbers and self.page.cell(row, VALUE).value is None and self.where(row):
                found.append((numbers, float(below) if isinstance(below, float | int) else nan))
        return found

    def on(self, row: int) -> list[Line]:
        """Returns the lines of a row."""
        cell, name = partial(self.model.get_cell_value, self.sheet, row), partial(self.page.cell, row)
        if not self.beside(row):
            shown = name(VALUE).number_format.partition(".")[2]
            return [Line(f"D{row}", name(2).value, cell(VALUE), cell(NUMBERS), max(4, len(shown)))]
        second = name(BESIDE).value.removesuffix(" =").rpartition(": ")[2]
        return [Line(f"D{row}", name(2).value, cell(VALUE), ""), Line(f"F{row}", second, cell(NUMBERS), "")]


LISTED = re.compile(r"(?:^|, )\S+ (−?\d+(?:\.\d+)?)(?=, |$)")
"""A number of a list, behind its word."""


def added_up(walker: Walker, choices: Iterable[tuple[int, int]]) -> tuple[int, list[str]]:
    """Adds up the lists of which a line below is the sum, and those of probabilities; returns how many, and which are wrong.

    A list is of a sum if it comes nearer to it than the rounding of its numbers can make of it.
    """
    count, wrong = 0, []
    for episode, decision in choices:
        walker.choose(episode, decision)
        for listed, below in walker.lists():
            for value in (below, 1.0):
                if abs(float(sum(listed)) - value) < len(listed) * 0.6e-4:
                    count += 1
                    good = displayed(float(sum(listed)), value) == displayed(value, value, digits=15)
                    wrong += [] if good else [f"{episode, decision}: {listed} and {value}"]
    return count, wrong


def calculated(numbers: str) -> float | bool:
    """Calculates a printed line with Python's own arithmetic."""
    text = re.sub(r"\|([^|]*)\|", r"abs(\1)", numbers.removeprefix("= "))
    for print, sign in {
        "−": "-",
        "·": "*",
        "√": "sqrt",
        "≤": "<=",
        " = ": "==",
        " is off": "==off",
        "[": "(",
        "]": ")",
    }.items():
        text = text.replace(print, sign)
    known = {
        "exp": exp,
        "sqrt": sqrt,
        "ln": log,
        "tanh": tanh,
        "max": max,
        "min": min,
        "abs": abs,
        "round": round,
        "off": inf,
    }
    return eval(text, {"__builtins__": {}}, known)  # type: ignore[no-any-return]


def displayed(result: float, value: float, digits: int = 12, decimals: int = 4) -> Decimal:
    """Rounds a result as a line shows its value: to its decimals, of a large number those of its mantissa."""
    large = Decimal(f"{value:.15g}").adjusted() if abs(value) >= 1e6 else 0
    return Decimal(f"{result:.{digits}g}").scaleb(-large).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def refuted(walker: Walker, choices: Iterable[tuple[int, int]]) -> tuple[int, list[str]]:
    """Calculates lines with a pocket calculator of twelve digits; returns how many there are, and which are wrong.

    One that says ≈ does not promise to come out.
    """
    count, wrong = 0, []
    for episode, decision in choices:
        walker.choose(episode, decision)
        for line in walker.lines():
            if line.numbers and not line.numbers.startswith(ROUGH):
                result = calculated(line.numbers)
                shown = partial(displayed, value=line.value, decimals=line.decimals)
                good = result is True or shown(result) == shown(line.value, digits=15)
                count += 1
                wrong += [] if good else [f"{episode, decision} {line.symbol}: {line.value} {line.numbers}"]
    return count, wrong


def rolled(seed: int, size: float, *overrides: str) -> Book:
    """Makes a book with other weights, about as large as `size`."""
    book, rng = made(*overrides), np.random.default_rng(seed)
    typed = dict(book.blueprint.typed)
    for block, given in book.blueprint.typed.items():
        if block.name.endswith((".E", ".Y", ".w", ".b")):
            typed[block] = np.round(rng.normal(size=np.array(given).shape) * size, 3).tolist()
    return Book(replace(book.blueprint, typed=typed))
