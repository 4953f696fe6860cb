"""The walk shows one decision, in formulas that follow the choice: values, equations with numbers, and the marked column."""

import re
from dataclasses import replace
from math import exp, sqrt
from pathlib import Path
from typing import Any

import ironcalc
import pytest
from openpyxl import load_workbook

from blueprint.book import Book
from blueprint.language import NotationError
from blueprint.page.recalculate import with_libreoffice
from tests.page.workshop import made

CHOICES = [(1, 1), (1, 4), (1, 7), (1, 8), (2, 4), (2, 5), (2, 8)]
SHEET, VALUE, NUMBERS = "Walk", 4, 6


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, Path]:
    """Saves the default workbook."""
    book = made()
    path = tmp_path_factory.mktemp("walk") / "a.xlsx"
    book.save(path)
    return book, path


def walked(path: Path, episode: int, decision: int) -> list[tuple[str, str, Any, Any]]:
    """Returns symbol, meaning, value and the equation with its numbers of every line, for a choice, as ironcalc has them."""
    model = ironcalc.load_from_xlsx(str(path))
    page = load_workbook(path)[SHEET]
    number = next(i for i, sheet in enumerate(model.get_worksheets_properties()) if sheet["name"] == SHEET)
    model.set_user_input(number, 4, VALUE, str(episode))
    model.set_user_input(number, 5, VALUE, str(decision))
    model.evaluate()
    lines = []
    for row in range(6, page.max_row + 1):
        if str(page.cell(row, VALUE).value).startswith("=") and page.cell(row, 8).value is not None:
            cells = [model.get_cell_value(number, row, column) for column in (VALUE, NUMBERS)]
            lines.append((page.cell(row, 2).value, page.cell(row, 3).value, cells[0], cells[1]))
    return lines


ROWS = {
    "δ": "td_errors", "A": "advantages", "R": "returns", "ρ": "ratio", "U_min": "surrogate", "v_loss": "value.word_loss",
    "share": "share", "Â": "advantage.whitened", "log π_old": "old.logprobs", "log π_ref": "reference.logprobs",
    "log π_θ": "policy.logprobs", "r": "rewards", "H": "policy.entropy", "V_c": "value.clipped", "writes": "word_written",
    "m": "mask", "score": "reward.score",
}  # fmt: skip


@pytest.mark.parametrize(("episode", "decision"), CHOICES)
def test_every_value_is_that_of_the_chosen_decision(saved: tuple[Book, Path], episode: int, decision: int) -> None:
    book, path = saved
    shown = {symbol: value for symbol, _, value, _ in walked(path, episode, decision)}
    for symbol, name in ROWS.items():
        expected = book.values.cell(book.blocks[name], episode - 1, decision - 1)
        assert shown[symbol] == (expected if isinstance(expected, str) else pytest.approx(expected, abs=1e-12)), symbol
    after = book.values.cell(book.blocks["advantages"], episode - 1, decision)
    assert shown["A[t + 1]"] == pytest.approx(after, abs=1e-12)


@pytest.mark.parametrize(("episode", "decision"), CHOICES)
def test_the_numbers_in_an_equation_give_its_value(saved: tuple[Book, Path], episode: int, decision: int) -> None:
    """A person with a pocket calculator gets the value from the line, up to what rounding to four decimals can do."""
    calculated = 0
    for symbol, _, value, numbers in walked(saved[1], episode, decision):
        if numbers and isinstance(value, float):
            # Rounding by 5e-5 in each operand; the largest slope here is that of 1/√σ² and of factors up to 3.
            assert by_hand(numbers) == pytest.approx(value, abs=5e-4), f"{symbol}: {numbers}"
            calculated += 1
    assert calculated > 30


def by_hand(numbers: str) -> float:
    """Calculates a printed line with Python's own arithmetic."""
    text = numbers.removeprefix("= ").replace("−", "-").replace("·", "*").replace("√", "sqrt")
    return float(eval(text, {"__builtins__": {}}, {"exp": exp, "sqrt": sqrt, "max": max, "min": min}))


def test_libreoffice_tells_the_same_walk(saved: tuple[Book, Path], tmp_path: Path, needs_libreoffice: None) -> None:
    book = load_workbook(saved[1])
    book[SHEET]["D4"].value, book[SHEET]["D5"].value = 2, 5
    book.save(tmp_path / "b.xlsx")
    theirs = with_libreoffice([tmp_path / "b.xlsx"])[0]
    ours = walked(saved[1], 2, 5)
    rows = [row for row in range(6, 150) if (SHEET, f"D{row}") in theirs and (SHEET, f"H{row}") in theirs]
    assert len(rows) == len(ours) > 70
    for row, (symbol, _, value, numbers) in zip(rows, ours, strict=True):
        there = theirs[SHEET, f"D{row}"]
        assert there == (value if isinstance(value, str) else pytest.approx(value, abs=1e-9)), symbol
        assert theirs.get((SHEET, f"F{row}")) == numbers, symbol


def test_an_operand_stands_above_every_equation_that_reads_it(saved: tuple[Book, Path]) -> None:
    page = load_workbook(saved[1])[SHEET]
    for row in range(6, page.max_row + 1):
        formula = str(page.cell(row, NUMBERS).value)
        if formula.startswith("="):
            read = [int(number) for number in re.findall(r"\b[HI](\d+)\b", formula)]
            assert read
            assert all(number < row for number in read), f"row {row}: {formula}"


def test_the_first_choice_is_the_first_word_of_the_first_response(saved: tuple[Book, Path]) -> None:
    book, path = saved
    page = load_workbook(path, data_only=True)[SHEET]
    assert (page["D4"].value, page["D5"].value) == (1, len(["the", "old", "dog", "is"]))
    assert book.values.cell(book.blocks["mask"], 0, page["D5"].value - 1) == 1


def test_the_chosen_column_is_marked_on_every_sheet_of_decisions(saved: tuple[Book, Path]) -> None:
    """The rule at the head compares a column's number with the place; the place of (2, 5) is 12 + 5 + 1."""
    path = saved[1]
    book = load_workbook(path)
    model = ironcalc.load_from_xlsx(str(path))
    number = next(i for i, sheet in enumerate(model.get_worksheets_properties()) if sheet["name"] == SHEET)
    model.set_user_input(number, 4, VALUE, "2")
    model.set_user_input(number, 5, VALUE, "5")
    model.evaluate()
    sheet, cell = next(iter(book.defined_names["chosen_place"].destinations))
    place = model.get_cell_value(number, int(cell.split("$")[2]), VALUE)
    assert (sheet, place) == (SHEET, 18)
    across = [
        page
        for page in book.worksheets
        if page["Q4"].value == 1 and page["P4"].value == "start" and page["AC4"].value == 1
    ]
    assert len(across) > 8
    for page in across:
        rules = [
            rule for each in page.conditional_formatting for rule in each.rules if "chosen_place" in str(rule.formula)
        ]
        assert [rule.formula for rule in rules] == [["COLUMN()-15=chosen_place"]], page.title
        assert page.cell(4, 15 + 18).value == 5  # the head over that column


def test_a_choice_outside_the_workbook_is_refused() -> None:
    book = made()
    assert book.blueprint.chosen is not None
    decision = book.blueprint.chosen.numbers[1]
    broken = Book(replace(book.blueprint, typed=dict(book.blueprint.typed) | {decision: 9}))
    with pytest.raises(NotationError, match=re.escape("walk.decision is 9: decisions run 1 … 8")):
        _ = broken.layout


@pytest.mark.parametrize("typed", [1e24, -1e30, 1e-9, -1e-9, 0.00005, -0.00005, 12345.67895])
def test_any_number_is_printed_as_the_engine_prints_it(tmp_path: Path, typed: float) -> None:
    """Large ones, ties, and those that round to 0, which has no sign."""
    book = made(numbers="very-very-sleepy")
    score = book.blocks["reward.score"]
    given = dict(book.blueprint.typed) | {score: [[typed, 0.0, 5.0]]}
    changed = Book(replace(book.blueprint, typed=given))
    changed.save(tmp_path / "a.xlsx")
    assert changed.prove(tmp_path / "a.xlsx").failures == []
    assert "−0)" not in "".join(str(live.value) for live in changed.layout.lives)
