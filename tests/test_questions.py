"""The page of questions is that of today's workbook, and an engine has every number that it shows in the cell that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blueprint.page.engine import with_ironcalc
from tests.audit import spoil
from tests.page.workshop import made
from tests.questions import (
    EQUATION,
    FIRST,
    MAKES,
    ONE_PAGE,
    OTHERS,
    PAGE,
    REST,
    book,
    filled,
    page,
    positions,
    right,
    shown,
)

TEXT = PAGE.read_text(encoding="utf-8")
CELL = re.compile(r"`'?([^`'!]+)'?!([A-Z]+\d+)` \([^`]*?\) = (−?\d+\.?\d*)(?=[;\n])")


def test_the_page_is_that_of_the_workbook() -> None:
    assert page() == TEXT, "write it anew: python -m tests.questions"


def test_there_are_thirty_two_twelve_of_them_for_the_first_sheet() -> None:
    assert (len(ONE_PAGE), len(OTHERS)) == (12, 20)
    asked = re.findall(r"^\*\*(\d+)\. (.+\?|.+)\*\*$", TEXT, flags=re.MULTILINE)
    assert [int(number) for number, _ in asked] == [*range(1, 33)]
    assert len({question for _, question in asked}) == 32
    assert (
        TEXT.index(FIRST.strip())
        < TEXT.index("**1. ")
        < TEXT.index("**12. ")
        < TEXT.index(REST.strip())
        < TEXT.index("**13. ")
    )


def test_every_answer_is_folded_and_names_a_cell() -> None:
    folded = re.findall(r"<details>\n<summary>Answer</summary>\n\n(.+)\n\nCells: (.+)\n\n</details>", TEXT)
    assert len(folded) == 32
    assert [answer for answer, cells in folded if "!" not in cells] == []
    assert [answer for answer, _ in folded if "{" in answer or "}" in answer] == []


def test_an_engine_computes_each_number_in_the_cell_that_is_named(tmp_path: Path) -> None:
    made().save(tmp_path / "book.xlsx")
    spoil(tmp_path / "book.xlsx", tmp_path / "spoiled.xlsx")
    cells = with_ironcalc(tmp_path / "spoiled.xlsx")
    named = CELL.findall(TEXT)
    computed = [
        (float(str(cells[sheet, cell])), float(number.replace("−", "-")))
        for sheet, cell, number in named
        if (sheet, cell) in cells
    ]
    # Half a unit of the fourth decimal, which is the last one that is shown.
    assert [(found, said) for found, said in computed if abs(found - said) > 0.5001e-4] == []
    assert len(named) > 55
    assert len(computed) > 45


def test_a_number_that_is_no_longer_so_would_be_seen() -> None:
    assert "`Inputs!D10` (β) = 0.1" in TEXT
    assert filled("{ppo.kl_coef=0.3: kl_coef}") == "0.3"
    assert filled("{ppo.kl_coef=0.3: reward.penalty@1.2}") != filled("{reward.penalty@1.2}")


def test_the_words_of_the_page_hold_whatever_the_numbers_are() -> None:
    """An answer speaks of signs and sizes only through what it computes; these it takes for granted."""
    of = book()
    assert len(positions(of, 1)) > 2
    assert filled("{exp: old.logprobs@1.1}") not in ("0", "1")
    assert float(filled("{least: kl.used}").replace("−", "-")) < 0
    assert float(filled("{least: kl.exact}")) > 0
    assert filled("{nonzero: policy.delta.Y}") != "0"
    assert filled("{ppo.gae_lambda=0: advantages@1.1}") == filled("{td_errors@1.1}")
    assert filled("{ppo.update_step=0: policy_loss}") == "0"
    assert filled("{which: clip_fraction.changed}") != "none"
    assert filled("{check.master}") == "OK"


@pytest.mark.parametrize(
    ("number", "text"), [(0.0, "0"), (-0.00001, "0"), (-0.25, "−0.25"), (1.5, "1.5"), ("OK", "OK")]
)
def test_numbers_are_written_with_four_decimals_at_most(number: object, text: str) -> None:
    assert shown(number) == text


def test_every_equation_is_right_on_a_pocket_calculator() -> None:
    found = list(EQUATION.finditer(TEXT))
    assert len(found) >= 4
    assert [each[0] for each in found if not right(each)] == []
    answers = re.sub(r"^Cells:.*$", "", TEXT, flags=re.MULTILINE)
    exact, near = (len(re.findall(rf"(?<![A-Za-z\d.])[\d.]+\)? {sign} −?\d", answers)) for sign in "=≈")
    assert exact == len(found), "an equation is not read"
    assert near == len([line for line in answers.splitlines() if "≈" in line and not line.startswith("the shown")])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("0.6675 + 0.1806 = 0.848", "≈"),
        ("0.6675 + 0.1806 = 0.8481", "="),
        ("−0.1·(−0.2669) = 0.0267", "="),
        ("1 − (−2) = 4", "≈"),
    ],
)
def test_an_equation_whose_last_digit_differs_says_so(said: str, told: str) -> None:
    assert filled(said) == said.replace("=", told)


def test_every_word_for_what_is_made_of_a_row_is_used() -> None:
    used = {word for question in (*ONE_PAGE, *OTHERS) for word in re.findall(r"\{([a-z 01]+): ", question.answer)}
    assert used == set(MAKES)
