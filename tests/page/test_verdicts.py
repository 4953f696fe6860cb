"""The stored values of verdicts are computed: where a check fails, Start's stored verdict says LOOK, as an engine's does."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from openpyxl import load_workbook

from blueprint.cli import main
from blueprint.page.engine import with_ironcalc
from tests.page.workshop import made

LOST = ("pipeline/ppo", "reward.score_slot=two_past")
"""Numbers and a setting with which the score lands where no value is kept."""
SETTINGS = [("default", "reward.score_slot=one_past"), ("kl-controller", "controller.horizon=1")]


def verdicts(path: Path) -> tuple[dict[tuple[str, str], object], dict[tuple[str, str], object]]:
    """Returns every verdict of a file, as it is stored and as the engine computes it: cells that say OK, LOOK, same and so on."""
    words = {"OK", "LOOK", "same", "changed", "remark", "overwritten", "differs", "error"}
    computed: dict[tuple[str, str], object] = {c: value for c, value in with_ironcalc(path).items() if value in words}
    workbook = load_workbook(path, data_only=True)
    return {(sheet, cell): workbook[sheet][cell].value for sheet, cell in computed}, computed


@pytest.mark.parametrize(("numbers", "setting"), SETTINGS)
def test_the_stored_verdicts_are_those_of_the_engine_where_a_check_fails(
    numbers: str, setting: str, tmp_path: Path
) -> None:
    book = made(*(["conventions=live"] if numbers == "default" else []), setting, numbers=numbers)
    book.save(tmp_path / "a.xlsx")
    stored, computed = verdicts(tmp_path / "a.xlsx")
    assert stored == computed
    assert len(stored) > 20
    assert "LOOK" in {value for (sheet, _), value in stored.items() if sheet == "Start"}
    assert book.prove(tmp_path / "a.xlsx").failures == []


@pytest.mark.parametrize("numbers", ["default", "kl-controller", "sft"])
def test_the_stored_verdicts_are_those_of_the_engine_where_all_is_well(numbers: str, tmp_path: Path) -> None:
    made(numbers=numbers).save(tmp_path / "a.xlsx")
    stored, computed = verdicts(tmp_path / "a.xlsx")
    assert stored == computed
    assert set(stored.values()) == {"OK", "same"}


def test_a_setting_that_loses_the_score_is_said_when_the_workbook_is_built(tmp_path: Path) -> None:
    numbers, setting = LOST
    path = tmp_path / "a.xlsx"
    ran = CliRunner().invoke(main, ["build", "--numbers", numbers, "--set", setting, "-o", str(path)])
    said = "a check fails: the score lands where values are kept: 2.24667 off, 1e-09 allowed (Checks!F28), and Start says LOOK"
    assert (ran.exit_code, said in ran.output.splitlines()) == (0, True), ran.output
    stored = load_workbook(path, data_only=True)
    assert (stored["Start"]["D6"].value, stored["Checks"]["D11"].value) == ("LOOK", "LOOK")


def test_with_the_positions_behind_the_response_kept_nothing_is_lost_and_nothing_said(tmp_path: Path) -> None:
    numbers, setting = LOST
    options = ["--set", setting, "--set", "advantage.tail_slots=2", "--no-proof", "-o", str(tmp_path / "a.xlsx")]
    ran = CliRunner().invoke(main, ["build", "--numbers", numbers, *options])
    assert (ran.exit_code, "a check fails" in ran.output) == (0, False)
