"""Worksheets that are opened again: explained, compared and rebuilt with what was filled in, and no answer told unasked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import blueprint as bp
from blueprint.notation import Axis, book, typed
from blueprint.page.read import FilledIn, Opened
from blueprint.reopening import OwnBook, book_of
from blueprint.worksheets import Asked, Worksheet, worksheet
from tests.commands import run_command
from tests.worksheets.filling import fill, rounded, saved

BLANKS = ["td_errors@t=3,n=1", "advantages@t=3,n=1", "ratio@t=2,n=1", "total_loss"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Worksheet]:
    """Saves a worksheet of classic PPO."""
    path = tmp_path_factory.mktemp("worksheet") / "sheet.xlsx"
    return path, saved(path, "classic", BLANKS)


@pytest.fixture(scope="module")
def some(made: tuple[Path, Worksheet], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fills in two of its blanks, one of them wrong."""
    path, sheet = made
    return fill(path, tmp_path_factory.mktemp("some") / "some.xlsx", {1: rounded(sheet)[0], 2: 0.25})


def digits(sheet: Worksheet, *numbers: int) -> list[str]:
    """Returns answers as pages show them."""
    return [f"{abs(rounded(sheet)[number - 1]):.4f}".rstrip("0") for number in numbers]


def test_an_opened_worksheet_has_no_number_where_a_blank_is_empty_or_awaited(made: tuple[Path, Worksheet]) -> None:
    path, sheet = made
    opened = bp.open(path)
    full = sheet.full.values
    for name in ("td_errors", "advantages", "total_loss", "advantages_used"):
        array, right = opened.values.arrays[opened.blocks[name]], full.arrays[sheet.full.blocks[name]]
        there = ~np.isnan(array)
        assert not there.all(), name
        assert np.array_equal(array[there], right[there]), name
    assert [blank.title for blank in opened.blueprint.blanks] == [blank.title for blank in sheet.blanks]
    assert [blank.cells for blank in opened.blueprint.blanks] == [blank.cells for blank in sheet.blanks]


def test_what_is_filled_in_stands_and_what_follows_goes_on_with_it(made: tuple[Path, Worksheet], some: Path) -> None:
    opened = book_of(some)
    wrong = made[1].blanks[1]
    assert opened.values.cell(opened.blocks["advantages"], *wrong.cells[0]) == 0.25
    assert opened.filled.numbers["advantages"] == {wrong.cells[0]: 0.25}
    environment, step = wrong.cells[0]
    earlier = environment, step - 1
    assert not np.isnan(float(opened.values.cell(opened.blocks["advantages"], *earlier)))


def test_an_empty_blank_is_explained_without_its_answer(made: tuple[Path, Worksheet]) -> None:
    path, sheet = made
    asked = ("explain", path, "advantages", "--step", 3, "--environment", 1)
    told = run_command(*asked, "--depth", "all").output
    assert "a blank, not filled in" in told
    assert "td_errors" in told
    assert not [each for each in digits(sheet, 1, 2) if each in told]
    for more in ("--json", "--latex"):
        assert not [each for each in digits(sheet, 1, 2) if each in run_command(*asked, more).output]
    assert digits(sheet, 2)[0] in run_command(*asked, "--reveal").output
    assert (
        "waits for a blank" in run_command("explain", path, "advantages_used", "--step", 3, "--environment", 1).output
    )
    refused = run_command("explain", "td_errors", "--reveal", "--episode", 1, "--token", 3)
    assert refused.exit_code == 2
    assert "--reveal is for the file of a worksheet" in refused.output


def test_a_worksheet_is_rebuilt_with_its_blanks_and_what_was_filled_in(
    made: tuple[Path, Worksheet], some: Path, tmp_path: Path
) -> None:
    result = run_command("rebuild", some, "-o", tmp_path / "new.xlsx")
    assert result.exit_code == 0, result.output
    assert not [each for each in digits(made[1], 2, 3, 4) if each in result.output]
    one, other = FilledIn(Opened(some)), FilledIn(Opened(tmp_path / "new.xlsx"))
    assert (one.blanks, one.numbers, one.told) == (other.blanks, other.numbers, other.told)
    assert run_command("diff", some, tmp_path / "new.xlsx").exit_code == 0


def test_numbers_of_a_worksheet_are_those_typed_in_it(made: tuple[Path, Worksheet], tmp_path: Path) -> None:
    result = run_command("numbers", made[0], "-o", tmp_path / "a.toml")
    assert result.exit_code == 0
    assert "4 blanks, and what is filled into them: only a worksheet has such" in result.output
    again = bp.build(tmp_path / "a.toml")
    assert np.array_equal(again["total_loss"], made[1].full["total_loss"])


def test_diff_says_what_is_not_compared_because_of_blanks(
    made: tuple[Path, Worksheet], some: Path, tmp_path: Path
) -> None:
    path, sheet = made
    sheet.full.save(tmp_path / "answers.xlsx")
    same = run_command("diff", path, tmp_path / "answers.xlsx")
    assert same.exit_code == 0, same.output
    assert "a is a worksheet: 0 of 4 cells of its blanks are filled in" in same.output
    other = run_command("diff", some, tmp_path / "answers.xlsx")
    assert other.exit_code == 1
    assert "the derivation first parts at A[1, 3]" in other.output
    assert "(a blank)" in other.output


def test_a_worksheet_of_a_blueprint_of_ones_own_is_opened(tmp_path: Path) -> None:
    """No kind knows it: its cells are what the file shows, and what waits shows nothing."""
    t = Axis("t", "year", start=1)
    paid, rate = typed("paid_in", (t,), "d", "paid in", decimals=2), typed("rate", (), "i", "interest", decimals=3)
    balance = bp.block("balance", (t,), "B", "balance", decimals=2)
    balance[t.first - 1] = 0
    balance[t] = balance[t - 1] * (1 + rate) + paid[t]
    own = book("Savings", [rate, paid, balance], t, {rate: 0.035, paid: [103.5, 20.25, 51.75]})
    sheet = worksheet(own.blueprint, [Asked("balance@t=2")])
    sheet.book.save(tmp_path / "own.xlsx")
    opened = book_of(tmp_path / "own.xlsx")
    assert isinstance(opened, OwnBook)
    assert opened["balance"]["balance"].isna().tolist() == [False, True, True]
    assert "a blank, not filled in" in str(opened.explain("balance", t=2))
    filled = book_of(fill(tmp_path / "own.xlsx", tmp_path / "filled.xlsx", {1: 120.25}))
    assert filled.values.cell(filled.blocks["balance"], 1) == 120.25
