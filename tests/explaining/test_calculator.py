"""Every line that explains a number is right on a pocket calculator: with the numbers in it one comes to the result in it."""

import random
from math import isfinite

import pytest

from blueprint.language import explained, filled_by
from tests.page.walker import calculated, displayed
from tests.page.workshop import MAINS, made

NUMBERS = (*MAINS.values(), "very-very-sleepy")
NO_SUM = ("“", "…", "place of", "blank", " is given", "[0 is off]")
"""What is no calculation: words, a sum that is too long to be printed, a place in a list, what is typed or not."""
NAMED: dict[tuple[str, str, tuple[int, ...]], str] = {
    ("default", "rewards", (0, 6)): "0.00483 + 1.69224 = 1.6971",
    ("default", "ratio", (0, 6)): "exp(0.2103) = 1.234",
}
"""Lines that were wrong with four decimals: 0.0048 + 1.6922 is 1.697."""


def lines(name: str, most: int) -> list[tuple[str, float, str]]:
    """Returns names, numbers and lines of computed cells of a workbook, drawn at random from each row."""
    book, rng, found = made(numbers=name), random.Random(name), []
    for block in book.blueprint.blocks():
        if block.typed or block.text or block.link:
            continue
        sizes = [range(book.values.size(axis)) for axis in block.axes]
        for _ in range(most if sizes else 1):
            at = tuple(map(rng.choice, sizes))
            value = book.values.cell(block, *at)
            if isinstance(value, float) and isfinite(value) and filled_by(block, at, book.values) is not None:
                found.append((f"{block.name}{at}", value, explained(block, at, book.values)))
    return found


@pytest.mark.parametrize("name", NUMBERS)
def test_a_pocket_calculator_comes_to_the_result(name: str) -> None:
    count, rough, wrong = 0, 0, []
    for cell, value, line in lines(name, most=4):
        rough += "≈" in line and abs(value) > 1e-12  # less is 0 on a calculator
        put_in, equals, _ = line.rpartition(" = ")
        if equals and not any(sign in put_in for sign in NO_SUM):
            count += 1
            if not abs(float(displayed(float(calculated(put_in)), value)) - float(displayed(value, value))) <= 1e-12:
                wrong.append(f"{cell}: {line}")
    assert wrong == []
    assert count > 40
    assert rough == 0


@pytest.mark.parametrize(("name", "row", "at"), NAMED)
def test_lines_that_were_wrong_with_four_decimals(name: str, row: str, at: tuple[int, ...]) -> None:
    book = made(numbers=name)
    assert explained(book.blocks[row], at, book.values) == NAMED[name, row, at]
