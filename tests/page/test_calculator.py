"""Every displayed line with operands, on every sheet of every built-in workbook, is right on a pocket calculator.

A line with operands shows numbers and what they come to: a text such as “ln 2 = 0.6931”, a row of Start whose equation reads
other rows of Start, and a single number whose equation reads single numbers alone. *Walk* and *One page* consist of such lines,
and have tests of their own. Checks show what rounding leaves, and numbers such as 1.7E-06 their size alone. A row that runs over
positions or weights shows four decimals, and is no such line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import copy
from functools import cache
from math import e, exp, log, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.language import Block, Op, Reduce, Ref, walk
from blueprint.language.evaluate import fill
from blueprint.page.grid import ONE_PAGE
from tests.page.fits import shown
from tests.page.workshop import BUILT_IN, Read, made, opened

OWN = ("Walk", ONE_PAGE)
"""Sheets of lines with operands, which have tests of their own."""
COPIES = ("Delivered", "Contents")
SYMBOL, VALUE, EQUATION = 2, 4, 9
"""Columns of Start, counted from 1."""
NUMBER = r"−?\d+(?:\.\d+)?(?:[eE]−?\d+)?"
CLAIM = re.compile(rf"(?P<left>[\d.eE(−][\d.eE()·×+/÷− ]*|(?:ln|exp|EXP|√) ?[\d.(][\d.)]*) [=≈] (?P<right>{NUMBER})")
"""Arithmetic of numbers alone, and what it is said to come to."""
KNOWN = {"ln": log, "exp": exp, "EXP": exp, "sqrt": sqrt, "e": e}
LINES = {
    "Advantage", "Advantages", "Charts", "Controller", "Conventions", "Critic", "Diagnostics", "Draws", "First hour",
    "Grid", "Groups", "Inputs", "Labels", "Libraries", "Log-probs", "Long trace", "Loss", "Notes", "Optimum", "Pairs",
    "Pictures", "Policy", "Progress", "Rankings", "Reward & advantage", "Rewards", "Rollout", "Scores", "Slope", "Start",
    "Temperature", "Traces", "Update", "λ",
}  # fmt: skip
"""Sheets that have such lines, besides Walk and One page; every other sheet has none."""
OPEN = {
    ("epochs", "loss.grad.norm"), ("epochs", "epoch2.total_loss"), ("epochs", "epoch4.total_loss"),
    ("pipeline/ppo", "epoch2.total_loss"), ("classic", "total_loss"),
}  # fmt: skip
"""Lines on single sheets that are still a last digit off, as a sum of three parts may be; Start and One page are right. More
decimals of the parts are no way out: they are what students type with four."""
_ROOM = TemporaryDirectory()


class Line(NamedTuple):
    """A line with operands: its sheet, what it says, what it shows, and what a calculator shows with as many decimals."""

    sheet: str
    says: str
    shows: float
    comes_to: float


@cache
def saved(name: str) -> tuple[Book, Read]:
    """Returns a book, and its file as a reader has it."""
    book, path = made(numbers=name), Path(_ROOM.name) / f"{name.replace('/', '-')}.xlsx"
    book.save(path)
    return book, opened(path)


def number(text: str) -> float:
    """Reads a number with a true minus sign."""
    return float(text.replace("−", "-"))


def rounded(value: float, like: str) -> float:
    """Rounds half up to as many decimals as a displayed number has."""
    ten = 10.0 ** len(like.partition(".")[2])
    return float(np.copysign(np.floor(abs(value) * ten + 0.5 + 1e-7), value) / ten) + 0.0


def claims_in(text: str) -> Iterator[tuple[str, float, float]]:
    """Finds what a text says that numbers come to: its words, the result, and what a calculator makes of them."""
    for found in CLAIM.finditer(text):
        left = found["left"].strip()
        if not re.search(r"[·×+/÷]|\d ?− ?\d|ln|exp|EXP|√", left):
            continue
        spelled = re.sub(r"(ln|exp|EXP|√) ?([\d.]+)", r"\1(\2)", left).replace("√", "sqrt")
        for sign, python in {"−": "-", "·": "*", "×": "*", "÷": "/"}.items():
            spelled = spelled.replace(sign, python)
        yield (
            found[0],
            number(found["right"]),
            rounded(float(eval(spelled, {"__builtins__": {}}, KNOWN)), found["right"]),
        )


def texts(name: str) -> Iterator[Line]:
    """Yields the lines of texts and notes."""
    file = saved(name)[1]
    for page in (file[title] for title in file.sheetnames if title not in (*OWN, *COPIES)):
        for cell in page._cells.values():  # those that are there: most of the rectangle around them is not
            said = [cell.value if isinstance(cell.value, str) else "", cell.comment.text if cell.comment else ""]
            for text in said:
                yield from (Line(page.title, *found) for found in claims_in(text))


def on_start(name: str) -> Iterator[Line]:
    """Yields the rows of Start that add or multiply other rows of Start, where the equation holds for what is shown there."""
    page = saved(name)[1]["Start"]
    rows: dict[str, tuple[Any, str]] = {}
    for row in page.iter_rows():
        symbol, value, equation = (row[at - 1] for at in (SYMBOL, VALUE, EQUATION))
        if isinstance(symbol.value, str) and isinstance(value.value, int | float):
            rows.setdefault(symbol.value.strip(), (value, str(equation.value or "")))
    for value, equation in rows.values():
        parts = re.split(r" ?([·+−/]) ?", equation.partition(" = ")[2])
        if len(parts) < 3 or not all(part in rows for part in parts[::2]):
            continue
        signs = ["*" if sign == "·" else "-" if sign == "−" else sign for sign in parts[1::2]]

        def come_to(numbers: list[float], signs: list[str] = signs) -> float:
            spelled = "".join(f"({n!r}){sign}" for n, sign in zip(numbers, [*signs, ""], strict=True))
            return float(eval(spelled, {"__builtins__": {}}))

        exact = come_to([float(rows[part][0].value) for part in parts[::2]])
        if abs(exact - value.value) < 1e-9:  # of means over tokens a product need not hold
            displayed = come_to([number(shown(rows[part][0])) for part in parts[::2]])
            yield Line("Start", equation, number(shown(value)), rounded(displayed, shown(value)))


def operands(block: Block, book: Book) -> list[Block] | None:
    """Returns what a single number is calculated from, if those are single numbers, too."""
    places = book.layout.places
    nodes = [node for definition in block.definitions for node in walk(definition.expr)]
    reads = list(dict.fromkeys(node.block for node in nodes if isinstance(node, Ref)))
    if (
        block.axes
        or block.text
        or not any(isinstance(node, Op) for node in nodes)
        or any(isinstance(n, Reduce) for n in nodes)
    ):
        return None
    return reads if reads and all(each in places and not each.axes and not each.text for each in reads) else None


def singles(name: str) -> Iterator[Line]:
    """Yields the single numbers that are calculated from single numbers alone."""
    book, file = saved(name)

    def displayed(block: Block) -> str:
        sheet, _, cell = book.layout.address(block, ()).replace("$", "").rpartition("!")
        found = file[sheet.strip("'")][cell]
        return "" if found.value is None else shown(found).replace("−", "-")

    for block in book.layout.places:
        reads = operands(block, book)
        if reads is None or block.name.startswith("check.") or (name, block.name) in OPEN:
            continue
        if any(_weight(each) == _weight(block) != "" or "E" in displayed(each) for each in reads) or "E" in displayed(
            block
        ):
            continue
        values = copy(book.values)
        values.arrays = {**book.values.arrays, block: book.values.arrays[block].copy()}
        try:
            values.arrays |= {each: np.array(float(displayed(each))) for each in reads}
            shows = float(displayed(block))
        except ValueError:
            continue  # off, or no number
        fill((block,), values)
        comes_to = float(values.arrays[block])
        yield Line(book.layout.places[block].sheet, block.name, shows, rounded(comes_to, displayed(block)))


@cache
def lines_of(found: Callable[[str], Iterator[Line]], name: str) -> list[Line]:
    """Returns what one of the three finds in a workbook."""
    return [*found(name)]


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("found", [texts, on_start, singles])
def test_every_line_is_right(name: str, found: Callable[[str], Iterator[Line]]) -> None:
    assert [line for line in lines_of(found, name) if abs(line.shows - line.comes_to) > 1e-9] == []


def test_lines_are_found() -> None:
    """A wrong text is seen, and the numbers of lines are those that were counted when this was written."""
    assert [*claims_in("2 · 3 = 7, and ln 2 = 0.6931")] == [("2 · 3 = 7", 7.0, 6.0), ("ln 2 = 0.6931", 0.6931, 0.6931)]
    assert [*claims_in("γ = 1, λ = 0.95 and k1 = 2, at u = 0")] == []
    assert {line.says for line in on_start("default")} == {"r = pen + score", "R = A + V_old"}
    assert len([*singles("default")]) > 10


def test_every_other_sheet_has_no_such_line() -> None:
    with_lines, every = set[str](), set[str]()
    for name in BUILT_IN:
        every |= {_first(sheet) for sheet in saved(name)[1].sheetnames}
        with_lines |= {_first(line.sheet) for found in (texts, on_start, singles) for line in lines_of(found, name)}
    assert with_lines == LINES
    assert every >= {*LINES, *OWN}


def _weight(block: Block) -> str:
    """Returns which weight a step makes; a weight takes all of its digits from one step to the next."""
    return re.sub(r"^update[\d.]+", "", block.name) if block.name.startswith("update") else ""


def _first(title: str) -> str:
    """Returns the title of a sheet in the first step."""
    return re.sub(r" \d+(\.\d+)?$", "", title)
