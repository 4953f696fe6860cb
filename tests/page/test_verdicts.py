"""Verdicts are computed, turn to LOOK where a cell is spoiled, and have colours of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.page.engine import with_ironcalc
from blueprint.page.read import Found
from blueprint.page.styles import VERDICTS
from tests.commands import run_command
from tests.page.colours import Styles
from tests.page.finished import finished
from tests.page.workshop import in_ironcalc, located, made, opened, save_made

LOST = ("pipeline/ppo", "reward.score_slot=two_past")
"""Numbers and a setting with which the score lands where no value is kept."""
SETTINGS = [("default", "reward.score_slot=one_past"), ("kl-controller", "controller.horizon=1")]


def verdicts(path: Path) -> tuple[dict[tuple[str, str], object], dict[tuple[str, str], object]]:
    """Returns every verdict of a file, as it is stored and as the engine computes it: cells that say OK, LOOK, same and so on."""
    words = {"OK", "LOOK", "same", "changed", "remark", "overwritten", "differs", "error"}
    computed: dict[tuple[str, str], object] = {c: value for c, value in with_ironcalc(path).items() if value in words}
    workbook = opened(path)
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
    save_made(tmp_path / "a.xlsx", numbers=numbers)
    stored, computed = verdicts(tmp_path / "a.xlsx")
    assert stored == computed
    assert set(stored.values()) == {"OK", "same"}


def test_a_setting_that_loses_the_score_is_said_when_the_workbook_is_built(tmp_path: Path) -> None:
    numbers, setting = LOST
    path = tmp_path / "a.xlsx"
    ran = run_command("build", "--numbers", numbers, "--set", setting, "-o", path)
    said = "a check fails: the score lands where values are kept: 2.24667 off, 1e-09 allowed (Checks!F28), and Start says LOOK"
    assert (ran.exit_code, said in ran.output.splitlines()) == (0, True), ran.output
    stored = opened(path)
    assert (stored["Start"]["D6"].value, stored["Checks"]["D11"].value) == ("LOOK", "LOOK")


def test_with_the_positions_behind_the_response_kept_nothing_is_lost_and_nothing_said(tmp_path: Path) -> None:
    numbers, setting = LOST
    options = ["--set", setting, "--set", "advantage.tail_slots=2", "--no-proof", "-o", str(tmp_path / "a.xlsx")]
    ran = run_command("build", "--numbers", numbers, *options)
    assert (ran.exit_code, "a check fails" in ran.output) == (0, False)


# Every check can fail: a cell spoiled on purpose turns its verdict, the master check and Start to LOOK.


# By check: what is spoiled (block, index with edge cells counted) and what is typed there.
SPOILED: dict[str, list[tuple[str, tuple[int, ...], str]]] = {
    "check.sum_old_policy": [("old.p", (0, 4, 2), "0.9")],
    "check.sum_reference": [("reference.p", (1, 3, 0), "0.9")],
    "check.sum_new_policy": [("policy.p", (0, 5, 7), "0")],
    "check.log_old_policy": [("old.logprobs", (0, 4), "0.5")],
    "check.log_reference": [("reference.logprobs", (1, 4), "0.01")],
    "check.log_new_policy": [("policy.logprobs", (0, 6), "1")],
    "check.exact_kl": [("kl.exact", (0, 4), "-0.001")],
    "check.k3": [("kl.k3", (1, 3), "-0.2")],
    "check.returns": [("returns", (0, 4), "3")],
    "check.ratio": [("update_step.yours", (), "0"), ("ratio", (0, 4), "1.0001")],
    "check.total": [("share", (0, 4), "1")],
    "check.parts": [("adds.value_loss", (), "7")],
    "check.settings": [("gamma.yours", (), "1.5")],
    "check.draws": [("rollout.draw", (0, 0), "1")],
    "check.length": [("max_new_tokens", (), "9")],
    "check.lambda_0": [("identity.lambda_0", (0, 4), "2")],
    "check.lambda_1": [("identity.to_go", (0, 5), "2")],
    "check.gamma_0": [("identity.gamma_0", (1, 4), "-3")],
    "check.prompt": [("given", (0, 2), "")],
    "check.empty": [("given", (1, 0), "")],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_made(tmp_path_factory.mktemp("checks") / "a.xlsx")


@pytest.fixture(scope="module")
def places(path: Path) -> dict[str, Found]:
    return located(path)


def test_every_check_is_spoiled_here(places: dict[str, Found]) -> None:
    assert {name.removesuffix(".verdict") for name in places if name.endswith(".verdict")} == set(SPOILED)


@pytest.fixture(scope="module")
def model(path: Path) -> Any:
    """Opens it in the engine; whoever types into it leaves it as it was."""
    return in_ironcalc(path)


@pytest.mark.parametrize("check", SPOILED)
def test_a_spoiled_cell_is_seen(model: Any, places: dict[str, Found], check: str) -> None:
    sheets = {sheet["name"]: number for number, sheet in enumerate(model.get_worksheets_properties())}
    spoiled = [((sheets[places[name].sheet], *places[name].address(at)), typed) for name, at, typed in SPOILED[check]]

    def says(name: str) -> object:
        found = places[name]
        return model.get_cell_value(sheets[found.sheet], found.top, found.left)

    model.evaluate()
    assert (says(f"{check}.verdict"), says("check.master")) == ("OK", "OK")
    before = [(cell, model.get_cell_content(*cell)) for cell, _ in spoiled]
    for cell, typed in spoiled:
        model.set_user_input(*cell, typed)
    model.evaluate()
    assert (says(f"{check}.verdict"), says("check.master")) == ("LOOK", "LOOK")
    (row,) = (row for row in range(1, 40) if model.get_cell_value(sheets["Start"], row, 3) == "all checks")
    assert model.get_cell_value(sheets["Start"], row, 4) == "LOOK"
    for cell, content in before:
        model.set_user_input(*cell, content)


# The colours of OK and LOOK stand on what a check says, and on no option of a setting that is called by the same word.


def coloured(numbers: str) -> dict[str, set[tuple[str, int, int]]]:
    """Returns the cells that a rule colours, by the word for which it does."""
    found: dict[str, set[tuple[str, int, int]]] = {}
    for rule in Styles(finished(numbers)).rules:
        word = rule.formula.strip('"')
        if rule.kind == "cellIs" and word in VERDICTS:
            found.setdefault(word, set()).update((rule.sheet, *cell) for at in rule.cells for cell in at.cells())
    return found


@pytest.mark.parametrize("numbers", ["dpo", "default", "grpo"])
def test_no_setting_is_coloured_as_a_verdict(numbers: str) -> None:
    file, found = finished(numbers), coloured(numbers)
    settings = {
        (at.sheet, *cell)
        for name, at in file.places.items()
        if name.endswith((".yours", ".preset")) or f"{name}.yours" in file.places
        for cell in at.cells()
    }
    assert settings
    assert not settings & set().union(*found.values())
    said = {cell for cell in set().union(*found.values()) if cell[0] not in ("Delivered", "Formulas")}
    assert {file.shown[sheet].cell(row, column).value for sheet, row, column in said} == {"OK", "same"}
    start = {cell for cell in found["OK"] if cell[0] == "Start"}
    assert {file.shown["Start"].cell(row, column).value for _, row, column in start} == {"OK", "same"}


def test_the_option_same_of_dpo_is_black_on_conventions_and_on_start() -> None:
    file, found = finished("dpo"), coloured("dpo")
    at = file.places["watch.rewards"]
    assert file.shown[at.sheet].cell(at.top, at.left).value == "same"
    assert not {cell for cell in found["same"] if cell[0] == at.sheet}
    verdict = file.places["check.master"]
    assert (verdict.sheet, verdict.top, verdict.left) in found["OK"] & found["LOOK"]
