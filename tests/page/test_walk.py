"""The walk shows one decision, in formulas that follow the choice, and a pocket calculator comes to every value."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from openpyxl import load_workbook
from openpyxl.utils import column_index_from_string

from blueprint.book import Book
from blueprint.language import NotationError
from blueprint.workbooks.registry import kinds
from tests.page.soffice import with_libreoffice
from tests.page.walker import NUMBERS, SHEET, VALUE, Walker, added_up, displayed, refuted, rolled
from tests.page.workshop import in_ironcalc, made, opened, save_made

CHOICES = [(1, 1), (1, 4), (1, 7), (1, 8), (2, 4), (2, 5), (2, 8)]
TRIED, OWN = 10, 16


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, Path]:
    book = made()
    path = tmp_path_factory.mktemp("walk") / "a.xlsx"
    book.save(path)
    return book, path


@pytest.fixture(scope="module")
def walker(saved: tuple[Book, Path]) -> Walker:
    return Walker(saved[1])


ROWS = {
    "δ": "td_errors", "A": "advantages", "R": "returns", "ρ": "ratio", "U_min": "surrogate", "v_loss": "value.word_loss",
    "share": "share", "Â": "advantage.whitened", "log π_old": "old.logprobs", "log π_ref": "reference.logprobs",
    "log π_θ": "policy.logprobs", "r": "rewards", "H": "policy.entropy", "V_c": "value.clipped", "writes": "word_written",
    "m": "mask", "score": "reward.score", "s": "rollout.read", "draw": "rollout.drawn", "lse": "policy.logsumexp",
    "v": "critic.out", "V_old": "old_critic.values", "V": "critic.values",
}  # fmt: skip


@pytest.mark.parametrize(("episode", "decision"), CHOICES)
def test_every_value_is_that_of_the_chosen_decision(
    saved: tuple[Book, Path], walker: Walker, episode: int, decision: int
) -> None:
    book, _ = saved
    walker.choose(episode, decision)
    shown = {line.symbol: line.value for line in walker.lines()}
    for symbol, name in ROWS.items():
        expected = book.values.cell(book.blocks[name], episode - 1, decision - 1)
        assert shown[symbol] == (expected if isinstance(expected, str) else pytest.approx(expected, abs=1e-12)), symbol
    after = book.values.cell(book.blocks["advantages"], episode - 1, decision)
    assert shown["A[t + 1]"] == pytest.approx(after, abs=1e-12)


def test_a_pocket_calculator_gives_every_value_of_every_decision(walker: Walker) -> None:
    count, wrong = refuted(walker, product((1, 2), range(1, 9)))
    assert wrong == []
    assert count > 16 * 45


OTHERS: dict[str, Callable[[], Book]] = {
    "large weights": lambda: rolled(2, 30),
    "log-ratios of hundreds": lambda: rolled(3, 300),
    "every convention live": lambda: made("preset=verl", "compare=verl", "ppo.update_step=-7.7"),
    "eight units, twenty words": lambda: made("sizes.vocabulary=20", "sizes.hidden=8", "sizes.max_new_tokens=2"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_pocket_calculator_gives_every_value_of_other_numbers(name: str, tmp_path: Path) -> None:
    OTHERS[name]().save(tmp_path / "a.xlsx")
    count, wrong = refuted(Walker(tmp_path / "a.xlsx"), [(1, 2), (1, 5), (2, 4)])
    assert wrong == []
    assert count > 120


SCORES = {
    1e24: 0, -1e30: 0, 1e-9: 0, -1e-9: 0, 0.00005: 0, -0.00005: 1, 12345.67895: 0, 0.12345: 0, 2.00005: 0, 999999.99996: 0,
}  # fmt: skip
"""Scores, and in how many lines a sum just misses a tie, by what fifteen digits do not hold: they say ≈."""


@pytest.mark.parametrize("score", SCORES)
def test_a_pocket_calculator_copes_with_ties_and_with_numbers_of_any_size(score: float, tmp_path: Path) -> None:
    book = made(numbers="very-very-sleepy")
    typed = dict(book.blueprint.typed) | {book.blocks["reward.score"]: [[score, 0.0, score]]}
    Book(replace(book.blueprint, typed=typed)).save(tmp_path / "a.xlsx")
    count, wrong = refuted(Walker(tmp_path / "a.xlsx"), [(1, 1), (1, 2), (1, 3)])
    assert wrong == []
    assert count == 45 - SCORES[score]


def test_libreoffice_tells_the_same_walk(saved: tuple[Book, Path], tmp_path: Path, needs_libreoffice: None) -> None:
    book = load_workbook(saved[1])
    book[SHEET]["D4"].value, book[SHEET]["D5"].value = 2, 5
    book.save(tmp_path / "b.xlsx")
    theirs = with_libreoffice([tmp_path / "b.xlsx"])[0]
    ours = Walker(saved[1])
    ours.choose(2, 5)
    assert len(ours.lines()) > 70
    for cell, symbol, value, numbers, _ in ours.lines():
        there = theirs[SHEET, cell]
        assert there == (value if isinstance(value, str) else pytest.approx(value, abs=1e-9)), symbol
        assert not numbers or theirs[SHEET, cell.replace("D", "F")] == numbers, symbol


def test_an_operand_stands_above_every_equation_that_reads_it(saved: tuple[Book, Path]) -> None:
    """Or right of it, where it is one of many in a sum; what a draw falls on is its own value."""
    page = opened(saved[1], formulas=True)[SHEET]
    for row in range(6, page.max_row + 1):
        formula = str(page.cell(row, TRIED).value)
        if page.cell(row, NUMBERS).value is not None and formula.startswith("="):
            read = [(column, int(number)) for column, number in re.findall(r"\b([A-Z]{1,2})(\d+)\b", formula)]
            assert read
            above = [number for column, number in read if column in "DF"]
            assert all(number < row for number in above) or page.cell(row, 2).value == "draw", formula
            others = {column for column, number in read if number == row}
            assert all(column in "DH" or column_index_from_string(column) >= OWN for column in others), formula


def test_a_list_shows_what_stands_right_of_it(saved: tuple[Book, Path]) -> None:
    """Each member with its name: words of the vocabulary, x1 …, h1 …"""
    book, path = saved
    page = opened(path)[SHEET]
    lists = {
        page.cell(r, 2).value: r for r in range(6, 80) if page.cell(r, VALUE).value is None and page.cell(r, OWN).value
    }
    assert set(lists) == {"E[s]", "h[t − 1]", "h", "z", "ez", "p"}
    words = [str(word) for word in book.values[book.blocks["vocabulary"]]]
    shown = [
        f"{word} {book.values.cell(book.blocks['old.p'], 0, 3, i):.6f}".rstrip("0") for i, word in enumerate(words)
    ]
    assert page.cell(lists["p"], 5).value == ", ".join(shown)
    for row in lists.values():
        found = [float(each.rpartition(" ")[2].replace("−", "-")) for each in page.cell(row, 5).value.split(", ")]
        cells = [page.cell(row, OWN + number).value for number in range(len(found))]
        assert found == pytest.approx(cells, abs=5.1e-5)


def test_the_first_choice_is_the_first_word_of_the_first_response(saved: tuple[Book, Path]) -> None:
    book, path = saved
    page = opened(path)[SHEET]
    assert (page["D4"].value, page["D5"].value) == (1, len(["the", "old", "dog", "is"]))
    assert book.values.cell(book.blocks["mask"], 0, page["D5"].value - 1) == 1


def test_the_chosen_column_is_marked_on_every_sheet_of_decisions(saved: tuple[Book, Path]) -> None:
    """The rule at the head compares a column's number with the place; the place of (2, 5) is 12 + 5 + 1."""
    path = saved[1]
    book = load_workbook(path)
    model = in_ironcalc(path)
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
    with pytest.raises(NotationError, match=re.escape("walk.decision is 9: positions run 1 … 8")):
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


# The walk of every kind: with the numbers that a line prints, a pocket calculator comes to the value that it shows.


WALKS = {
    "default": [*product((1, 2), (2, 4, 7, 8))], "epochs": [*product((1, 2), (4, 6))],
    "very-very-sleepy": [*product((1,), (1, 2, 3))],
    "dpo": [*product((1, 2, 3), (1,))], "grpo": [*product((1, 2, 5, 9), (2, 4, 5))], "sft": [*product((1, 2), (2, 3, 4, 5))],
    "ten-libraries": [*product((1, 3), (1, 4))],
}  # fmt: skip
"""By built-in numbers, of every kind that has a walk, the columns that are walked through."""


def test_every_kind_that_has_a_walk_is_among_them() -> None:
    without = [kind for kind in kinds() if not set(WALKS) & set(kind.built_in())]
    assert len(without) < len(kinds())
    assert [name for kind in without for name in kind.built_in() if made(numbers=name).layout.walk] == []


@cache
def walked(name: str) -> Walker:
    """Opens a built-in workbook once; whoever walks begins with a choice of his own."""
    with TemporaryDirectory() as folder:
        return Walker(save_made(Path(folder) / "a.xlsx", numbers=name))


@pytest.mark.parametrize("name", WALKS)
def test_a_pocket_calculator_comes_to_every_value(name: str) -> None:
    choices = WALKS[name]
    count, wrong = refuted(walked(name), choices)
    assert wrong == []
    assert count > 10 * len(choices)


def test_a_value_of_six_decimals_is_right_in_all_of_them() -> None:
    """What a token adds to GRPO's loss is shown with six: 0.0357·(−1.5648) is −0.05586, and not −0.055887."""
    walked("grpo").choose(5, 4)
    (line,) = [line for line in walked("grpo").lines() if line.symbol == "add_L"]
    assert (line.decimals, f"{line.value:.6f}") == (6, "-0.055887")
    assert re.fullmatch(r"= 0\.035714\d*·\(−1\.564838\d*\)", line.numbers)


@pytest.mark.parametrize("name", WALKS)
def test_a_list_adds_up_to_the_line_below_that_is_its_sum(name: str) -> None:
    """The log-probs of a pair's tokens add up to S_w as it is displayed, and the probabilities of all tokens to 1."""
    sums, wrong = added_up(walked(name), WALKS[name])
    assert wrong == []
    assert sums >= {"default": 8, "epochs": 4, "very-very-sleepy": 0, "dpo": 12}.get(name, 0)


@pytest.mark.parametrize(("of", "per"), [("sum", "1"), ("mean", "len")])
def test_a_list_comes_to_its_mean_as_well(of: str, per: str, tmp_path: Path) -> None:
    save_made(tmp_path / "a.xlsx", f"logp.of={of}", numbers="dpo")
    file = Walker(tmp_path / "a.xlsx")
    for pair in (1, 2, 3):
        file.choose(pair, 1)
        lists = file.lists()
        assert len(lists) == 4
        for listed, below in lists:
            count = len(listed) if per == "len" else 1
            assert displayed(float(sum(listed)) / count, below) == displayed(below, below, digits=15)


def test_what_stands_beside_the_chosen_decision_is_named_by_the_axis_along_which_it_does() -> None:
    told = {str(label.text) for label in made().layout.labels if label.sheet == "Walk"}
    assert {"the position before: a", "the next position: m", "the next position: RM"} <= told


@pytest.mark.parametrize("name", ["default", "dpo", "sft", "grpo"])
def test_no_word_is_missing_where_a_walk_has_no_groups(name: str) -> None:
    said = [str(label.text) for label in made(numbers=name).layout.labels if label.sheet == "Walk"]
    assert [text for text in said if "  " in text.strip() and not text[0].isdigit()] == []
